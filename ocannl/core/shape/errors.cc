// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/errors.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/core/shape/ellipsis.h"
#include "ocannl/core/shape/hints.h"
#include "ocannl/core/tensor/einsum/einsum.h"

namespace ocannl {
namespace {

std::string Axes(size_t count) {
  return absl::StrCat(count, count == 1 ? " axis" : " axes");
}

// "`...`" or "`..v..`"
std::string VariableText(absl::string_view variable) {
  if (absl::StartsWith(variable, "...")) return "`...`";
  return absl::StrCat("`..", variable, "..`");
}

// What the spec calls an axis: ExpandRow numbers those of a row variable.
std::string AxisText(const SlotRule& rule, int axis, absl::string_view name) {
  if (!absl::StartsWith(name, "..")) return absl::StrCat("axis `", name, "`");
  return absl::StrCat("axis ", axis - rule.axes->begin.size(), " of ",
                      VariableText(*rule.axes->variable));
}

}  // namespace

// With what the covered row does not fit: the covering row, or, where that is
// the result's, the operand that made it what it is.
RowRef ShapeErrors::ConflictingRow(const CoverRule& rule) const {
  std::optional<Dims> covered = row_(rule.covered);
  if (rule.covering.tensor != rule.node) return rule.covering;
  if (!covered) return rule.covering;
  const auto made = Difference(row_(rule.covering).value_or(Dims()), *covered);
  for (const CoverRule& other : rules_.covers) {
    if (other.node != rule.node || !(other.covering == rule.covering)) continue;
    std::optional<Dims> dims = row_(other.covered);
    const auto differs = Difference(dims.value_or(Dims()), *covered);
    if (differs && (!made || made->first == differs->first)) {
      return other.covered;
    }
  }
  return rule.covering;
}

// Whether `a` stands left of `b` among the operands of `node`.
bool ShapeErrors::IsBefore(RowRef a, RowRef b, TensorId node) const {
  for (TensorId operand : OperandsOf(graph_[node].source)) {
    if (operand == a.tensor) return true;
    if (operand == b.tensor) return false;
  }
  return true;
}

std::string ShapeErrors::CoversHint(const CoverRule& rule,
                                    RowRef conflicting) const {
  std::optional<Dims> covering = row_(rule.covering);
  std::optional<Dims> covered = row_(rule.covered);
  if (!covering || !covered) return "";
  const TensorNode& larger = graph_[rule.covering.tensor];
  const TensorNode& smaller = graph_[rule.covered.tensor];
  bool composes = rule.covering.tensor != rule.node;
  if (composes && covering->empty()) {
    return "`*` multiplies tensors; `*.` is pointwise, PointMul in C++";
  }
  if (composes && NumElements(*covering) == NumElements(*covered) &&
      NumElements(*covered) != 0) {
    return absl::StrCat("flatten ", Label(smaller), ", or declare ",
                        Label(larger), " : ", DimsText(*covered), "->",
                        RowText({rule.covering.tensor, RowKind::kOutput}));
  }
  auto sizes = Difference(*covered, row_(conflicting).value_or(Dims()));
  if (!sizes || (sizes->first != 1 && sizes->second != 1)) return "";
  const bool is_covered = sizes->first == 1;
  const RowRef one = is_covered ? rule.covered : conflicting;
  const RowRef other = is_covered ? conflicting : rule.covered;
  const std::string label = Label(graph_[one.tensor]);
  auto row = [&](RowKind kind) { return row_({one.tensor, kind}); };
  return absl::StrCat("the size 1 of ", label,
                      " is given, so it does not broadcast; leave that axis "
                      "out, or let it broadcast: ",
                      label, " ++ \"",
                      BroadcastSpec(row, one.kind, *row_(other)), "\"");
}

absl::Status ShapeErrors::OccursCheck(TensorId node, RowRef row,
                                      const std::string& hint) const {
  return Error(node,
               absl::StrCat("rank cycle: the ", Name(row.kind), " row of ",
                            Label(graph_[row.tensor]),
                            " would need more axes than it has, without end"),
               {}, {row}, hint);
}

absl::Status ShapeErrors::OccursCheck(const SlotRule& rule) const {
  return OccursCheck(
      rule.node, rule.row,
      absl::StrCat("it contains itself as ", VariableText(*rule.axes->variable),
                   "; give that another name in one place"));
}

absl::Status ShapeErrors::Covers(const CoverRule& rule) const {
  if (!row_(rule.covering)) return OccursCheck(rule.node, rule.covering, "");
  if (!row_(rule.covered)) {
    return Error(rule.node,
                 absl::StrCat(Label(graph_[rule.covered.tensor]), " has over ",
                              kMaxAxes, " axes; make one axis of several"),
                 {}, {rule.covered}, "");
  }
  RowRef conflicting = ConflictingRow(rule);
  if (conflicting.tensor == rule.node) {
    return Error(
        rule.node,
        absl::StrCat(RowWithName(rule.covered), ", but the result is used as ",
                     RowText(conflicting)),
        {rule.covered.tensor}, {conflicting, rule.covered},
        CoversHint(rule, conflicting));
  }
  bool is_first = IsBefore(conflicting, rule.covered, rule.node);
  RowRef first = is_first ? conflicting : rule.covered;
  RowRef second = is_first ? rule.covered : conflicting;
  return Error(rule.node,
               absl::StrCat(RowWithName(first), ", ", RowWithName(second)),
               {first.tensor, second.tensor}, {first, second},
               CoversHint(rule, conflicting));
}

absl::Status ShapeErrors::FirstValue(TensorId param, TensorId init) const {
  return Error(param, "a parameter and its first value have one shape",
               {param, init}, {}, "");
}

absl::Status ShapeErrors::Rank(const SlotRule& rule) const {
  std::string row = absl::StrCat("the ", Name(rule.row.kind), " row of ",
                                 Label(graph_[rule.row.tensor]));
  const TensorSource& source = graph_[rule.node].source;
  std::string message;
  if (std::holds_alternative<SliceSource>(source)) {
    message = absl::StrCat(row, " has no axis to slice");
  } else if (const auto* param = std::get_if<ParamSource>(&source)) {
    return FirstValue(rule.node, *param->init);
  } else {
    size_t has = row_(rule.row).value_or(Dims()).size();
    size_t given = rule.axes->size();
    message =
        !rule.axes->variable ? absl::StrCat("the spec gives ", row, " ",
                                            Axes(given), ", but it has ", has)
        : has < given ? absl::StrCat("the spec gives ", row, " at least ",
                                     Axes(given), ", but it has ", has)
                      : absl::StrCat(VariableText(*rule.axes->variable),
                                     " stands for ", Axes(has - given), " in ",
                                     row, " and for another number elsewhere");
  }
  return Error(rule.node, message, {rule.row.tensor}, {rule.row},
               rule.axes->variable ? EllipsisHint(rule.node) : "");
}

std::string ShapeErrors::EllipsisHint(TensorId node) const {
  const EinsumSpec* spec = SpecOf(graph_[node].source);
  std::vector<Shape> shapes;
  for (TensorId operand : OperandsOf(graph_[node].source)) {
    shapes.emplace_back();
    for (RowKind kind : kRowKinds) {
      std::optional<Dims> row = row_({operand, kind});
      if (!row) return "";
      shapes.back()[kind] = *std::move(row);
    }
  }
  return spec == nullptr ? "" : ocannl::EllipsisHint(*spec, shapes);
}

absl::Status ShapeErrors::Size(const SlotRule& rule, int axis,
                               const std::string& name) const {
  const auto* param = std::get_if<ParamSource>(&graph_[rule.node].source);
  if (param != nullptr) return FirstValue(rule.node, *param->init);
  // The first axis of that name with a known size, other than this one.
  auto size_of = [&](const SlotRule& slot, int i) {
    std::optional<Dims> dims = row_(slot.row);
    return dims && i < static_cast<int>(dims->size()) ? (*dims)[i] : 0;
  };
  std::string message =
      absl::StrCat(AxisText(rule, axis, name), " is ", size_of(rule, axis),
                   " in ", Label(graph_[rule.row.tensor]));
  std::vector<TensorId> tensors = {rule.row.tensor};
  std::vector<RowRef> rows = {rule.row};
  std::string hint;
  for (const SlotRule& other : rules_.slots) {
    if (other.node != rule.node || tensors.size() > 1) continue;
    std::optional<Dims> dims = row_(other.row);
    if (!dims || static_cast<int>(dims->size()) < other.axes->size()) continue;
    int rank = static_cast<int>(dims->size());
    if (!other.axes->variable && rank != other.axes->size()) continue;
    std::vector<EinsumAxis> axes = ExpandRow(*other.axes, rank, other.place);
    for (int i = 0; i < rank; ++i) {
      int64_t size = size_of(other, i);
      if (axes[i].name != name || size == 0 || size == size_of(rule, axis)) {
        continue;
      }
      absl::StrAppend(&message, " and ", size, " in ",
                      Label(graph_[other.row.tensor]));
      tensors.push_back(other.row.tensor);
      rows.push_back(other.row);
      const bool is_one = size == 1;
      if (is_one || size_of(rule, axis) == 1) {
        hint = OneCellHint(is_one ? other : rule, is_one ? i : axis);
      }
      break;
    }
  }
  if (absl::StartsWith(name, "..")) {
    std::string ellipsis = EllipsisHint(rule.node);
    if (!ellipsis.empty()) hint = std::move(ellipsis);
  }
  return Error(rule.node, message, tensors, rows, hint);
}

// For an axis of size 1 whose name has another size elsewhere in the spec.
std::string ShapeErrors::OneCellHint(const SlotRule& rule, int axis) const {
  const EinsumSpec* spec = SpecOf(graph_[rule.node].source);
  const std::string read = OneCellSpec(*spec, *rule.axes, axis);
  if (read.empty()) return "";
  return absl::StrCat(
      "names of a spec do not broadcast; read the only cell of ",
      Label(graph_[rule.row.tensor]), ": \"", read, "\"");
}

absl::Status ShapeErrors::Position(const SlotRule& rule, int axis,
                                   int64_t size) const {
  const auto* slice = std::get_if<SliceSource>(&graph_[rule.node].source);
  std::string reads =
      slice == nullptr
          ? absl::StrCat("the spec names position ", size - 1)
          : absl::StrCat("`", graph_.statics()[slice->static_index].name,
                         "` has ", size, " values");
  std::optional<Dims> dims = row_(rule.row);
  return Error(
      rule.node,
      absl::StrCat(reads, ", but axis ", axis, " of the ", Name(rule.row.kind),
                   " row of ", Label(graph_[rule.row.tensor]), " has size ",
                   dims ? (*dims)[axis] : 0),
      {rule.row.tensor}, {rule.row}, "");
}

absl::Status ShapeErrors::Relation(const SlotRule& rule, int axis,
                                   const EinsumAxis& form,
                                   absl::Span<const int64_t> sizes) const {
  SizeEquation equation = EquationOf(form);
  std::optional<Dims> dims = row_(rule.row);
  const int64_t size = dims ? (*dims)[axis] : 0;
  std::string message =
      absl::StrCat("axis `", ocannl::ToString(form), "` of ",
                   Label(graph_[rule.row.tensor]), " is ", DimsText({size}));
  int64_t rest = size - equation.constant;
  const int64_t stride = equation.terms[0].second;
  const bool rounds = form.has_paddings() || form.fit == WindowFit::kSame;
  std::vector<std::string> unknown;
  for (size_t k = 0; k < equation.terms.size(); ++k) {
    const auto& [name, factor] = equation.terms[k];
    if (sizes[k] == 0) {
      unknown.push_back(absl::StrCat("`", name, "`"));
    } else {
      absl::StrAppend(&message, ", `", name, "` is ", sizes[k]);
      rest -= factor * sizes[k];
    }
  }
  if (!unknown.empty()) {
    const bool one = unknown.size() == 1;
    absl::StrAppend(&message,
                    one ? ", which no size of " : ", and nothing determines ",
                    absl::StrJoin(unknown, " and "), one ? " fits" : "");
    const int64_t first = form.fit == WindowFit::kCentred ? 0 : stride;
    if (one && sizes[0] == 0 && rest > first && !rounds) {
      message += NoDivisor(stride, rest - first);
    }
  }
  const bool concatenates = !form.parts.empty();
  absl::string_view what =
      concatenates ? "wrong concatenation"
      : unknown.size() > 1 || (sizes[0] != 0 && !unknown.empty())
          ? "cannot infer kernel dimension"
      : rounds ? "wrong number of windows"
               : "incompatible stride";
  message = absl::StrCat(what, ": ", message);
  std::string hint;
  if (unknown.size() > 1) {
    hint =
        "let other operands have all of them but one as axes, or set their "
        "sizes";
  } else if (concatenates) {
    hint = absl::StrCat("make the axis ", size - rest + (rest == 0),
                        unknown.empty() ? "" : " or longer");
  } else if (rounds && !unknown.empty() && sizes[0] == 0) {
    const int64_t least = equation.rounding == Rounding::kUp ? 1 : stride;
    hint = absl::StrCat("make the axis ", size - rest + least, " or longer");
  } else if (!unknown.empty() && sizes[0] == 0) {
    // The sizes next to it that a whole number of windows fits.
    const int64_t count = std::max<int64_t>(rest / stride, 1);
    const int64_t fits = size - rest + count * stride;
    hint = absl::StrCat("make the axis ", fits);
    if (fits < size) absl::StrAppend(&hint, " or ", fits + stride);
  }
  return Error(rule.node, message, {rule.row.tensor}, {rule.row}, hint);
}

absl::Status ShapeErrors::Rule(
    const SizeRule& rule,
    absl::FunctionRef<Dims(const SpecName&)> sizes_of) const {
  std::string message =
      absl::StrCat("`", rule.name.name, "` is ", DimsText(sizes_of(rule.name)));
  const auto operands = OperandsOf(graph_[rule.name.node].source);
  if (const auto* other = std::get_if<SpecName>(&rule.is)) {
    absl::StrAppend(&message, ", but it is set ",
                    rule.factor == 1
                        ? std::string("equal to `")
                        : absl::StrCat("to ", rule.factor, " times `"),
                    other->name, "` of ", Describe(graph_[other->node]),
                    ", which is ", DimsText(sizes_of(*other)));
    message +=
        NoDivisor(rule.factor, KnownCells(sizes_of(rule.name)).value_or(0));
  } else {
    const auto* sizes = std::get_if<Dims>(&rule.is);
    absl::StrAppend(
        &message, ", but it is set to ", rule.at_least ? "at least " : "",
        DimsText(sizes != nullptr ? *sizes : Dims{std::get<int64_t>(rule.is)}));
  }
  return Error(rule.name.node, message, operands, {},
               "leave one of the two out, or make them fit");
}

absl::Status ShapeErrors::Reshape(TensorId node) const {
  const TensorId of = std::get<ReshapeSource>(graph_[node].source).of;
  Dims dims, shape;
  for (RowKind kind : kRowKinds) {
    absl::c_copy(row_({of, kind}).value_or(Dims{0}), std::back_inserter(dims));
    absl::c_copy(*graph_[node].spec[kind], std::back_inserter(shape));
  }
  return Error(node,
               absl::StrCat("the cells of ", Label(graph_[of]),
                            " do not fill it", DoNotFill(dims, shape)),
               {of}, {}, "change a size, or leave one open");
}

absl::Status ShapeErrors::OwnName(const SpecName& own) const {
  const TensorSource& source = graph_[own.node].source;
  std::vector<std::string> known;
  for (const EinsumSlot& operand : SpecOf(source)->operands) {
    absl::c_move(NamesOf(operand), std::back_inserter(known));
  }
  return Error(
      own.node,
      absl::StrCat("the result has `", own.name, "`, which no operand has",
                   NearNamesHint(own.name, known)),
      OperandsOf(source), {},
      absl::StrCat("give its size, as in [\"", own.name, "\" = ",
                   own.is_row() ? "[2, 3]] or SetDims, or leave it out"
                                : "3] or SetDim, or write 0 for an "
                                  "axis of one cell"));
}

absl::Status ShapeErrors::Enlarged(RowRef row, const Dims& used_as) const {
  for (const CoverRule& rule : rules_.covers) {
    bool is_product = rule.covering == row && rule.node != row.tensor;
    if (is_product) return Covers(rule);
  }
  return Error(
      row.tensor,
      absl::StrCat("the operands make its ", Name(row.kind), " row ",
                   RowText(row), ", but it is used as ", DimsText(used_as)),
      {}, {row}, "");
}

absl::Status ShapeErrors::Undetermined(RowRef row) const {
  const TensorNode& node = graph_[row.tensor];
  absl::string_view letter = row.kind == RowKind::kInput ? "i" : "o";
  Dims dims = row_(row).value_or(Dims());
  // What is known of it, if that is a part, and what would do.
  const bool partly = absl::c_linear_search(dims, 0) &&
                      absl::c_any_of(dims, [](int64_t d) { return d != 0; });
  std::string known = partly ? absl::StrCat(" row ", DimsText(dims)) : " row";
  if (!partly) dims = {0};
  absl::c_replace(dims, 0, 16);
  return absl::InvalidArgumentError(
      absl::StrCat("You forgot to specify the hidden dimension(s) of ",
                   Describe(node), ": nothing determines its ", Name(row.kind),
                   known, "; give it, such as {", node.name, "; ", letter, "=[",
                   absl::StrJoin(dims, ", "), "]}"));
}

}  // namespace ocannl
