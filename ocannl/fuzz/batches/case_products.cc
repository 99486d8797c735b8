// SPDX-License-Identifier: Apache-2.0
//
// Sums of products in random cases, on each row by itself.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/fuzz/batches/case_state.h"

namespace ocannl::fuzz {
namespace {

using Made = std::optional<CaseValue>;

// `{w} * v`, or the same as a spec: a product with a matrix, over one axis or
// more.
Made Layer(CaseState& s) {
  const CaseValue& v = s.Pick();
  CaseAxes all = s.Named(v.axes);
  CaseAxes matrix, result;
  for (const CaseAxis& axis : all) {
    const bool sums = !axis.is_rows() && (matrix.empty() || s.random.OneIn(3));
    (sums ? matrix : result).push_back(axis);
  }
  if (matrix.empty()) return std::nullopt;
  const bool is_last = s.random.OneIn(2);
  for (CaseAxis& axis : matrix) {
    axis.row = s.random.OneIn(2) ? RowKind::kInput : RowKind::kOutput;
  }
  CaseAxis out{.size = s.Size(kMostPoints / s.CellsOf(all))};
  if (!s.Fits(s.CellsOf(all) * s.CellsOf(out.size))) return std::nullopt;
  out.text = s.Letter();
  matrix.insert(is_last ? matrix.end() : matrix.begin(), out);
  result.push_back(out);
  result = s.Shuffled(std::move(result));
  const std::string w = s.Parameter(matrix);
  return CaseValue{
      absl::StrCat("(", v.text, " +* \"", SlotOf(all), "; ", SlotOf(matrix),
                   " => ", SlotOf(result), "\" ", w, ")"),
      result, v.is_zero};
}

Made Product(CaseState& s) {
  const CaseValue& v = s.Pick();
  for (const CaseAxis& axis : v.axes) {
    if (axis.row == RowKind::kInput) return std::nullopt;
    if (axis.is_rows() && axis.row != RowKind::kBatch) return std::nullopt;
  }
  CaseAxes matrix, result;
  for (CaseAxis axis : v.axes) {
    if (axis.is_rows()) {
      result.push_back(axis);
    } else {
      axis.row = RowKind::kInput;
      matrix.push_back(axis);
    }
  }
  if (matrix.empty()) return std::nullopt;
  const int64_t most = std::min(s.most_cells, kMostPoints / s.CellsOf(v.axes));
  const CaseAxis out{.size = s.Size(most)};
  if (!s.Fits(s.CellsOf(v.axes) * s.CellsOf(out.size))) return std::nullopt;
  matrix.push_back(out);
  result.push_back(out);
  const std::string w = s.Parameter(matrix);
  return CaseValue{absl::StrCat("(", w, " * ", v.text, ")"), result, v.is_zero};
}

constexpr int64_t kMostParameters = 4;  // of one product

// Axes of an operand of an einsum: some of `all`, and maybe a new one, which is
// added there.
CaseAxes SharedAxes(CaseState& s, CaseAxes& all) {
  CaseAxes axes;
  for (const CaseAxis& axis : all) {
    if (axis.is_rows() || !s.random.OneIn(2)) continue;
    axes.push_back(axis);
    axes.back().row = RowKind::kOutput;
  }
  const int64_t room = std::min<int64_t>(kMostPoints / s.CellsOf(all), 128);
  if (axes.empty() || (room > 1 && s.random.OneIn(2))) {
    axes.push_back({.size = s.Size(room), .text = s.Letter()});
    all.push_back(axes.back());
  }
  if (s.random.OneIn(3)) s.random.Shuffle(axes);
  return axes;
}

// Another value, whose axes are those of `all` where they are as large.
CaseAxes LikeAxes(CaseState& s, const CaseValue& value, CaseAxes& all) {
  CaseAxes axes = value.axes;
  for (CaseAxis& axis : axes) {
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const CaseAxis& one) {
          return one.size == axis.size && !one.text.empty();
        });
    const bool shares =
        other != all.end() &&
        std::none_of(axes.begin(), axes.end(), [&](const CaseAxis& one) {
          return one.text == other->text;
        });
    axis.text = axis.is_rows() ? "#" : shares ? other->text : s.Letter();
    const bool is_new = std::none_of(
        all.begin(), all.end(),
        [&](const CaseAxis& one) { return one.text == axis.text; });
    if (is_new) all.push_back(axis);
  }
  return axes;
}

// A product of two to five operands, matrices one after the other.
Made MatrixChain(CaseState& s) {
  const CaseValue& v = s.Pick();
  const auto first = s.PickOther(v.axes);
  if (!first) return std::nullopt;
  const CaseAxes all = s.Named(v.axes);
  CaseAxes result = all;
  std::vector<std::string> slots = {SlotOf(all)};
  std::string others;
  int64_t points = s.CellsOf(all);
  for (int64_t n = 1 + s.random.Below(kMostParameters); n > 0; --n) {
    CaseAxes matrix = {result[*first]};
    matrix[0].row = RowKind::kInput;
    matrix.push_back({.size = s.Size(64), .text = s.Letter()});
    points *= s.CellsOf(matrix[1].size);
    result[*first] = matrix[1];
    slots.push_back(SlotOf(matrix));
    absl::StrAppend(&others, " ", s.Parameter(matrix));
  }
  if (!s.Fits(points)) return std::nullopt;
  s.has_dots |= slots.size() > 2;  // their axes choose the first two
  result = s.Shuffled(std::move(result));
  return CaseValue{
      absl::StrCat("(", v.text, " +* \"", absl::StrJoin(slots, "; "), " => ",
                   SlotOf(result), "\"", others, ")"),
      result, v.is_zero};
}

// Two to five operands, of which one or two have rows.
Made Einsum(CaseState& s) {
  const CaseValue v = s.Pick();
  CaseAxes all = s.Named(v.axes);
  std::vector<std::string> slots = {SlotOf(all)};
  std::string others;
  bool is_zero = v.is_zero;
  if (s.kind == CaseKind::kRows && s.random.OneIn(3)) {
    const CaseValue w = s.Pick();
    CaseAxes axes = w.axes;
    for (CaseAxis& axis : axes) axis.text.clear();
    slots.push_back(SlotOf(LikeAxes(s, {w.text, axes}, all)));
    absl::StrAppend(&others, " ", w.text);
    is_zero |= w.is_zero;
  }
  const int64_t least = slots.size() == 1 ? 1 : 0;
  for (int64_t n = least + s.random.Below(kMostParameters); n > 0; --n) {
    const CaseAxes axes = SharedAxes(s, all);
    slots.push_back(SlotOf(axes));
    absl::StrAppend(&others, " ", s.Parameter(axes));
  }
  if (slots.size() < 2 || !s.Fits(s.CellsOf(all))) return std::nullopt;
  CaseAxes result;
  for (const CaseAxis& axis : all) {
    if (axis.is_rows() || s.random.OneIn(2)) result.push_back(axis);
  }
  s.has_dots = true;
  result = s.Shuffled(std::move(result));
  return CaseValue{
      absl::StrCat("(", v.text, " +* \"", absl::StrJoin(slots, "; "), " => ",
                   SlotOf(result), "\"", others, ")"),
      result, is_zero};
}

// Of a value to itself: places along one axis, vectors along another.
Made Attention(CaseState& s) {
  if (s.KeepsZeros()) return std::nullopt;
  const CaseValue v = s.Pick();
  const std::vector<size_t> others = OtherAxes(v.axes);
  if (others.size() < 2) return std::nullopt;
  const size_t place = others[others.size() - 2];
  const size_t cell = others.back();
  if (!s.Fits(s.CellsOf(v.axes) * s.CellsOf(v.axes[place].size))) {
    return std::nullopt;
  }
  const CaseAxes query = s.Named(v.axes);
  CaseAxes key = query;
  key[place].text = s.Letter();
  CaseAxes scores = query;
  scores[cell] = key[place];
  scores[cell].row = query[cell].row;
  const CaseValue score = s.Let(
      {absl::StrCat("(", v.text, " +* \"", SlotOf(query), "; ", SlotOf(key),
                    " => ", SlotOf(scores), "\" ", v.text, ")"),
       scores});
  const std::string most = s.Let(ReducedAlong(s, score, "@^^", cell)).text;
  const CaseValue e =
      s.Let({absl::StrCat("exp(", score.text, " - ", most, ")"), scores});
  const std::string sum = s.Let(ReducedAlong(s, e, "++", cell)).text;
  const std::string spec =
      absl::StrCat(" +* \"", SlotOf(scores), "; ", SlotOf(key), " => ",
                   SlotOf(query), "\" ", v.text, ")");
  if (s.random.OneIn(2)) {
    return CaseValue{absl::StrCat("((", e.text, " /. ", sum, ")", spec),
                     v.axes};
  }
  const std::string found = s.Let({"(" + e.text + spec, v.axes}).text;
  s.letters = 0;
  return CaseValue{absl::StrCat("(", found, " /. ", sum, ")"), v.axes};
}

// Windows along one axis or two: of a convolution, or of a pool.
Made Window(CaseState& s) {
  const CaseValue& v = s.Pick();
  CaseAxes all = s.Named(v.axes);
  CaseAxes result = all;
  CaseAxes kernel;
  std::vector<std::string> rules;
  std::vector<size_t> others = OtherAxes(all);
  s.random.Shuffle(others);
  const size_t windows = std::min<size_t>(others.size(), 1 + s.random.Below(2));
  if (windows == 0) return std::nullopt;
  for (size_t i = 0; i < windows; ++i) {
    const size_t k = others[i];
    const int64_t cells = s.CellsOf(all[k].size);
    const int64_t size = std::min<int64_t>(cells, 1 + s.random.Below(4));
    const CaseAxis window{.size = s.NewSize(size), .text = s.Letter()};
    const bool is_inside = s.random.OneIn(2);
    if (is_inside) result[k].size = s.NewSize(cells - size + 1);
    absl::StrAppend(&all[k].text, is_inside ? "<+" : "+", window.text);
    rules.push_back(absl::StrCat("\"", window.text, "\" = ", window.size));
    kernel.push_back(window);
  }
  if (!s.Fits(s.CellsOf(result) * s.CellsOf(kernel))) return std::nullopt;
  if (s.random.OneIn(3)) {
    static constexpr const char* kPools[] = {"++", "@^^", "@--"};
    const char* symbol = s.random.Pick(kPools);
    return CaseValue{
        absl::StrCat("(", v.text, " ", symbol, " \"", SlotOf(all), " => ",
                     SlotOf(result), "\" [", absl::StrJoin(rules, "; "), "])"),
        result, v.is_zero};
  }
  if (others.size() > windows && !s.random.OneIn(3)) {  // channels
    const size_t channel = others[windows];
    kernel.push_back(all[channel]);
    kernel.back().row = RowKind::kOutput;
    result[channel] = {
        .size = s.Size(kMostPoints / s.CellsOf(result) / s.CellsOf(kernel)),
        .text = s.Letter()};
    kernel.push_back(result[channel]);
  }
  if (!s.Fits(s.CellsOf(result) * s.CellsOf(kernel))) return std::nullopt;
  const std::string w = s.Parameter(kernel);
  return CaseValue{
      absl::StrCat("(", v.text, " +* \"", SlotOf(all), "; ", SlotOf(kernel),
                   " => ", SlotOf(result), "\" ", w, ")"),
      result, v.is_zero};
}

constexpr CaseOp kProductOps[] = {{Layer, 3},  {Product, 1},   {MatrixChain, 1},
                                  {Einsum, 2}, {Attention, 2}, {Window, 2}};

}  // namespace

absl::Span<const CaseOp> ProductOps() { return kProductOps; }

}  // namespace ocannl::fuzz
