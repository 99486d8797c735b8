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
  for (const Term& term : terms_) {
    if (term.symbol == symbol) return term.factor;
  }
  return 0;
}

Affine::Terms Affine::TermsByFactor() const {
  Terms by_factor = terms_;
  absl::c_sort(by_factor, [](const Term& a, const Term& b) {
    return a.factor < b.factor;
  });
  return by_factor;
}

Affine& Affine::AddScaled(int64_t factor, const Affine& other) {
  if (factor == 0) return *this;
  offset_ += factor * other.offset_;
  for (const Term& term : other.terms_) {
    AddScaled(factor * term.factor, term.symbol);
  }
  return *this;
}

Affine& Affine::AddScaled(int64_t factor, Symbol symbol) {
  if (factor == 0) return *this;
  // From the back: terms are few, and most are added in order.
  auto at = terms_.end();
  while (at != terms_.begin() && symbol <= std::prev(at)->symbol) --at;
  if (at == terms_.end()) {
    terms_.push_back({symbol, factor});
  } else if (at->symbol != symbol) {
    terms_.insert(at, {symbol, factor});
  } else if ((at->factor += factor) == 0) {
    terms_.erase(at);
  }
  return *this;
}

Affine operator*(int64_t factor, const Affine& a) {
  Affine product;
  product.AddScaled(factor, a);
  return product;
}

Affine Affine::Substitute(absl::FunctionRef<Affine(Symbol)> value) const {
  Affine sum = offset_;
  for (const Term& term : terms_) {
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
  for (const Term& term : terms_) append(term.factor, name(term.symbol));
  if (offset_ != 0 || text.empty()) append(offset_, "");
  return text;
}

}  // namespace ocannl
