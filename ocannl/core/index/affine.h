// SPDX-License-Identifier: Apache-2.0
//
// Affine: an affine function of loop iterators and static indices, with integer
// coefficients ("factors"): 2*i3 + i5 - 1.
#ifndef OCANNL_CORE_INDEX_AFFINE_H_
#define OCANNL_CORE_INDEX_AFFINE_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/base/containers/id.h"

namespace ocannl {

// A loop, by the number of its iterator.
struct IteratorTag;
using IteratorId = Id<IteratorTag>;

// "i4".
std::string Name(IteratorId iterator);

// A variable of an index. Which static index or loop a number stands for is
// decided by the graph, the projections or the program that holds the index.
struct Symbol {
  enum Kind : uint8_t {
    kStatic,    // fixed for a run of a routine: static index `number`
    kIterator,  // runs in a loop: iterator `number`
  };
  Kind kind = kIterator;
  int32_t number = 0;

  IteratorId iterator() const { return {number}; }  // of kIterator

  friend auto operator<=>(Symbol, Symbol) = default;
  template <class H>
  friend H AbslHashValue(H h, Symbol s) {
    return H::combine(std::move(h), s.kind, s.number);
  }
};

inline Symbol Static(int32_t number) { return {Symbol::kStatic, number}; }
inline Symbol Iterator(IteratorId id) { return {Symbol::kIterator, id.index}; }

// offset + sum of factor * symbol. Symbols ascend; no factor is 0.
class Affine {
 public:
  struct Term {
    Symbol symbol;
    int64_t factor;
    friend bool operator==(const Term&, const Term&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Term& term) {
      return H::combine(std::move(h), term.symbol, term.factor);
    }
  };

  // Most have one term or none, and no memory of their own.
  using Terms = absl::InlinedVector<Term, 1>;

  Affine() = default;
  Affine(int64_t offset) : offset_(offset) {}                // NOLINT
  Affine(Symbol symbol) : terms_({{symbol, int64_t{1}}}) {}  // NOLINT

  int64_t offset() const { return offset_; }
  const Terms& terms() const { return terms_; }
  Terms TermsByFactor() const;  // the least factor first
  bool is_constant() const { return terms_.empty(); }
  // The factor of `symbol`: 0 where it does not occur.
  int64_t FactorOf(Symbol symbol) const;

  Affine& operator+=(const Affine& other) { return AddScaled(1, other); }
  // *this += factor * other, without a product in between.
  Affine& AddScaled(int64_t factor, const Affine& other);
  Affine& AddScaled(int64_t factor, Symbol symbol);
  Affine& AddOffset(int64_t offset) {
    offset_ += offset;
    return *this;
  }
  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator*(int64_t factor, const Affine& a);
  friend bool operator==(const Affine&, const Affine&) = default;

  // Each symbol replaced by `value(symbol)`.
  Affine Substitute(absl::FunctionRef<Affine(Symbol)> value) const;

  // "2*i3 + batch - 1", where `name` names symbols.
  std::string Text(absl::FunctionRef<std::string(Symbol)> name) const;

  template <class H>
  friend H AbslHashValue(H h, const Affine& a) {
    return H::combine(std::move(h), a.offset_, a.terms_);
  }

 private:
  int64_t offset_ = 0;
  Terms terms_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_AFFINE_H_
