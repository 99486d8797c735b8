// SPDX-License-Identifier: Apache-2.0
//
// Operations of random cases, on each row by itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/fuzz/batches/case_state.h"

namespace ocannl::fuzz {
namespace {

using Made = std::optional<CaseValue>;

Made Unary(CaseState& s) {
  // The first ones give 0 for 0, and have finite derivatives.
  static constexpr const char* kFunctions[] = {
      "neg",   "abs",  "relu", "tanh",    "sin",      "erf",  "gelu",
      "silu",  "tanh", "relu", "sigmoid", "softplus", "cos",  "exp",
      "recip", "log",  "sqrt", "exp2",    "square",   "floor"};
  constexpr int64_t kOfZeros = 10;
  constexpr int64_t kOfFinite = 13;
  const CaseValue& v = s.Pick();
  const int64_t most = s.KeepsZeros()              ? kOfZeros
                       : s.kind != CaseKind::kRows ? kOfFinite
                                                   : std::size(kFunctions);
  const char* function = kFunctions[s.random.Below(most)];
  return CaseValue{absl::StrCat(function, "(", v.text, ")"), v.axes, v.is_zero};
}

Made Binary(CaseState& s) {
  const CaseValue& v = s.Pick();
  std::vector<std::string> like;
  for (const CaseValue& w : s.values) {
    if (ShapeTextOf(w.axes) == ShapeTextOf(v.axes)) like.push_back(w.text);
  }
  const std::string w = s.random.Pick(like);
  switch (s.random.Below(6)) {
    case 0:
      return CaseValue{absl::StrCat("max(", v.text, ", ", w, ")"), v.axes,
                       v.is_zero};
    case 1:
      return CaseValue{
          absl::StrCat("select(", v.text, " < ", w, ", ", w, ", ", v.text, ")"),
          v.axes, v.is_zero};
    default: {
      static constexpr const char* kInfixes[] = {" + ", " - ", " *. "};
      const char* infix = s.random.Pick(kInfixes);
      return CaseValue{absl::StrCat("(", v.text, infix, w, ")"), v.axes,
                       v.is_zero};
    }
  }
}

// Parameters of the last axes, added or multiplied.
Made Affine(CaseState& s) {
  const CaseValue& v = s.Pick();
  const CaseAxes all = s.Named(v.axes);
  CaseAxes few;
  for (const CaseAxis& axis : all) {
    if (!axis.is_rows() && !s.random.OneIn(3)) few.push_back(axis);
  }
  if (few.empty()) return std::nullopt;
  for (CaseAxis& axis : few) axis.row = RowKind::kOutput;
  const bool adds = !s.KeepsZeros() && s.random.OneIn(2);
  const std::string slots = absl::StrCat("\"", SlotOf(all), "; ", SlotOf(few),
                                         " => ", SlotOf(all), "\" ");
  return CaseValue{absl::StrCat("(", v.text, adds ? " +++ " : " +* ", slots,
                                s.Parameter(few), ")"),
                   v.axes, v.is_zero && !adds};
}

Made Reduce(CaseState& s) {
  static constexpr const char* kReductions[] = {"++", "++", "@^^", "@--"};
  const CaseValue& v = s.Pick();
  const CaseAxes all = s.Named(v.axes);
  CaseAxes result;
  for (const CaseAxis& axis : all) {
    if (axis.is_rows() || s.random.OneIn(2)) result.push_back(axis);
  }
  result = s.Shuffled(std::move(result));
  const char* symbol = s.random.Pick(kReductions);
  return CaseValue{ReducedText(v, symbol, all, result), result, v.is_zero};
}

Made Softmax(CaseState& s) {
  if (s.KeepsZeros()) return std::nullopt;
  const CaseValue v = s.Pick();
  const auto k = s.PickOther(v.axes);
  if (!k) return std::nullopt;
  const std::string most = s.Let(ReducedAlong(s, v, "@^^", *k)).text;
  const CaseValue e =
      s.Let({absl::StrCat("exp(", v.text, " - ", most, ")"), v.axes});
  const std::string sum = s.Let(ReducedAlong(s, e, "++", *k)).text;
  return CaseValue{absl::StrCat("(", e.text, " /. ", sum, ")"), v.axes};
}

// A layer norm, or where it keeps zeros, one by the root of the mean square.
Made Norm(CaseState& s) {
  CaseValue v = s.Pick();
  const auto k = s.PickOther(v.axes);
  if (!k) return std::nullopt;
  const std::string size = absl::StrCat(s.CellsOf(v.axes[*k].size));
  if (!s.KeepsZeros() && s.random.OneIn(2)) {
    const std::string sum = s.Let(ReducedAlong(s, v, "++", *k)).text;
    v = s.Let(
        {absl::StrCat("(", v.text, " - ", sum, " /. ", size, ")"), v.axes});
  }
  const CaseValue square = s.Let(
      {absl::StrCat("(", v.text, " *. ", v.text, ")"), v.axes, v.is_zero});
  const std::string sum = s.Let(ReducedAlong(s, square, "++", *k)).text;
  return CaseValue{
      absl::StrCat("(", v.text, " /. sqrt(", sum, " /. ", size, " + 0.001))"),
      v.axes, v.is_zero};
}

constexpr CaseOp kPlainOps[] = {{Unary, 2},  {Binary, 2},  {Affine, 2},
                                {Reduce, 3}, {Softmax, 2}, {Norm, 2}};

}  // namespace

absl::Span<const CaseOp> PlainOps() { return kPlainOps; }

}  // namespace ocannl::fuzz
