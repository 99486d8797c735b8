// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/affine.h"

#include <algorithm>

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

Affine& Affine::operator+=(const Affine& other) {
  offset_ += other.offset_;
  for (const Term& term : other.terms_) {
    auto at = std::lower_bound(
        terms_.begin(), terms_.end(), term.symbol,
        [](const Term& t, Symbol symbol) { return t.symbol < symbol; });
    if (at == terms_.end() || at->symbol != term.symbol) {
      terms_.insert(at, term);
    } else if ((at->factor += term.factor) == 0) {
      terms_.erase(at);
    }
  }
  return *this;
}

Affine operator*(int64_t factor, const Affine& a) {
  Affine product;
  if (factor == 0) return product;
  product = a;
  product.offset_ *= factor;
  for (Affine::Term& term : product.terms_) term.factor *= factor;
  return product;
}

Affine Affine::Substitute(absl::FunctionRef<Affine(Symbol)> value) const {
  Affine sum = offset_;
  for (const Term& term : terms_) sum += term.factor * value(term.symbol);
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
