// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/shrink_case.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/fuzz/stopwatch.h"

namespace ocannl::fuzz {
namespace {

constexpr double kSecondsToShrink = 60;

bool IsNamed(const BatchCase& one, const std::string& name) {
  return std::any_of(one.lets.begin(), one.lets.end(), [&](const BatchLet& l) {
    // A name is followed by more of it only where it is another: x1, x10.
    for (size_t at = l.text.find(name); at != l.text.npos;
         at = l.text.find(name, at + 1)) {
      const size_t end = at + name.size();
      if (end == l.text.size() || l.text[end] < '0' || l.text[end] > '9') {
        return true;
      }
    }
    return false;
  });
}

class Shrinker {
 public:
  Shrinker(BatchCase one, absl::FunctionRef<bool(const BatchCase&)> fails)
      : one_(std::move(one)), fails_(fails) {}

  BatchCase Run() {
    KeepOnePair();
    for (bool again = true; again;) {
      again = EndEarly();
      again |= DropLets();
      again |= DropOperands();
      again |= CutSizes();
      again |= CutRows();
      BatchCase plain = one_;
      plain.fill = BatchFill::kNormal;
      if (one_.fill != plain.fill) again |= Try(std::move(plain));
    }
    return std::move(one_);
  }

 private:
  bool Try(BatchCase less) {
    if (watch_.Seconds() > kSecondsToShrink) return false;
    std::erase_if(less.sizes, [&](const auto& size) {
      return !UsesSize(less, size.first);
    });
    if (!fails_(less)) return false;
    one_ = std::move(less);
    return true;
  }

  static bool UsesSize(const BatchCase& one, const std::string& name) {
    if (IsNamed(one, name)) return true;
    return std::any_of(one.operands.begin(), one.operands.end(),
                       [&](const BatchOperand& operand) {
                         return absl::StrContains(operand.shape, name);
                       });
  }

  void KeepOnePair() {
    for (size_t k = 1; k < one_.batches.size(); ++k) {
      BatchCase less = one_;
      less.batches = {one_.batches[0], one_.batches[k]};
      if (Try(std::move(less))) return;
    }
  }

  bool EndEarly() {
    for (size_t size = 1; size < one_.lets.size(); ++size) {
      // Values of padding must not reach gradients.
      const BatchLet& last = one_.lets[size - 1];
      if (one_.property == BatchProperty::kTerms &&
          last.padding != BatchPadding::kZero &&
          (last.shape.empty() || absl::StrContains(last.shape, '#'))) {
        continue;
      }
      BatchCase less = one_;
      less.lets.resize(size);
      if (Try(std::move(less))) return true;
    }
    return false;
  }

  // Leaves a value out, or has an operand or an earlier value in its place.
  bool DropLets() {
    bool any = false;
    for (size_t k = one_.lets.size(); k-- > 0;) {
      if (one_.lets.size() > 1 && k + 1 < one_.lets.size() &&
          !IsNamed(one_, one_.lets[k].name)) {
        BatchCase less = one_;
        less.lets.erase(less.lets.begin() + static_cast<int64_t>(k));
        any |= Try(std::move(less));
        continue;
      }
      any |= ReplaceLet(k);
    }
    return any;
  }

  bool ReplaceLet(size_t k) {
    if (k + 1 == one_.lets.size() || one_.lets[k].shape.empty()) return false;
    const std::string operand = absl::StrCat("x", 100 + k);
    if (IsNamed(one_, operand)) return false;
    BatchCase less = one_;
    less.operands.push_back(
        {operand, one_.lets[k].shape, one_.lets[k].padding});
    less.lets[k].text = absl::StrCat("(", operand, " + 0)");
    if (one_.lets[k].text == less.lets[k].text) return false;
    return Try(std::move(less));
  }

  bool DropOperands() {
    bool any = false;
    for (size_t k = one_.operands.size(); k-- > 0;) {
      if (one_.operands.size() == 1 || IsNamed(one_, one_.operands[k].name)) {
        continue;
      }
      BatchCase less = one_;
      less.operands.erase(less.operands.begin() + static_cast<int64_t>(k));
      any |= Try(std::move(less));
    }
    return any;
  }

  bool CutSizes() {
    static constexpr int64_t kLess[] = {1,  2,  3,  5,  8,  17,  31,
                                        32, 33, 63, 64, 65, 129, 200};
    bool any = false;
    const auto sizes = one_.sizes;
    for (const auto& [name, cells] : sizes) {
      for (int64_t fewer : kLess) {
        if (fewer >= cells) break;
        BatchCase less = one_;
        const auto at = less.sizes.find(name);
        if (at == less.sizes.end()) break;
        at->second = fewer;
        if (!Try(std::move(less))) continue;
        any = true;
        break;
      }
    }
    return any;
  }

  // Leaves rows out: any of the second batch's, and, where rows are not summed,
  // those of the first one that the second has not.
  bool CutRows() {
    bool any = false;
    for (size_t k : {size_t{1}, size_t{0}}) {
      for (size_t size = one_.batches[k].rows.size() / 2; size > 0; size /= 2) {
        for (size_t at = 0; at + size <= one_.batches[k].rows.size();) {
          BatchCase less = one_;
          std::vector<int64_t>& rows = less.batches[k].rows;
          const auto begin = rows.begin() + static_cast<int64_t>(at);
          rows.erase(begin, begin + static_cast<int64_t>(size));
          if (one_.property == BatchProperty::kTerms) {  // they stay in order
            for (size_t row = 0; row < rows.size(); ++row) rows[row] = row;
          }
          const bool is_some = !rows.empty() && less.batches[1].rows.size() >=
                                                    MinimumOfSecond(less);
          if (is_some && Try(std::move(less))) {
            any = true;
          } else {
            at += size;
          }
        }
      }
    }
    return any;
  }

  // Padding stands behind the rows of the first batch.
  static size_t MinimumOfSecond(const BatchCase& one) {
    return one.property == BatchProperty::kTerms ? one.batches[0].rows.size()
                                                 : 1;
  }

  BatchCase one_;
  absl::FunctionRef<bool(const BatchCase&)> fails_;
  const Stopwatch watch_;
};

}  // namespace

BatchCase ShrinkCase(BatchCase one,
                     absl::FunctionRef<bool(const BatchCase&)> fails) {
  return Shrinker(std::move(one), fails).Run();
}

}  // namespace ocannl::fuzz
