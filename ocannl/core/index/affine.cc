// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/affine.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace ocannl {

std::string Name(IteratorId iterator) {
  return absl::StrCat("i", iterator.index);
}

int64_t Affine::FactorOf(Symbol symbol) const {
  for (const Term& term : sum_) {
    if (term.symbol == symbol) return term.factor;
  }
  return 0;
}

absl::InlinedVector<Affine::Term, 4> Affine::TermsByFactor() const {
  absl::InlinedVector<Term, 4> by_factor(terms().begin(), terms().end());
  absl::c_sort(by_factor, [](const Term& a, const Term& b) {
    return a.factor < b.factor;
  });
  return by_factor;
}

Affine& Affine::AddScaled(int64_t factor, const Affine& other) {
  if (factor == 0) return *this;
  for (const Term& term : other.sum_) {
    AddScaled(factor * term.factor, term.symbol);
  }
  return *this;
}

Affine& Affine::AddScaled(int64_t factor, Symbol symbol) {
  if (factor == 0) return *this;
  // From the back: terms are few, and most are added in order.
  auto at = sum_.end();
  while (at != sum_.begin() && symbol <= std::prev(at)->symbol) --at;
  if (at == sum_.end()) {
    sum_.push_back({symbol, factor});
  } else if (at->symbol != symbol) {
    sum_.insert(at, {symbol, factor});
  } else if ((at->factor += factor) == 0) {
    sum_.erase(at);
  }
  return *this;
}

Affine operator*(int64_t factor, const Affine& a) {
  return Affine().AddScaled(factor, a);
}

Affine Affine::Substitute(absl::FunctionRef<Affine(Symbol)> value) const {
  Affine sum = offset();
  for (const Term& term : terms()) {
    sum.AddScaled(term.factor, value(term.symbol));
  }
  return sum;
}

std::string Affine::Text(absl::FunctionRef<std::string(Symbol)> name) const {
  std::string text;
  auto append = [&](int64_t factor, const std::string& symbol) {
    const bool negative = factor < 0;
    if (!text.empty()) {
      text += negative ? " - " : " + ";
    } else if (negative) {
      text += "-";
    }
    // The least int64 has no positive counterpart.
    const uint64_t size = negative ? -static_cast<uint64_t>(factor) : factor;
    if (symbol.empty()) {
      absl::StrAppend(&text, size);
    } else if (size == 1) {
      text += symbol;
    } else {
      absl::StrAppend(&text, size, "*", symbol);
    }
  };
  for (const Term& term : terms()) append(term.factor, name(term.symbol));
  if (offset() != 0 || text.empty()) append(offset(), "");
  return text;
}

}  // namespace ocannl
