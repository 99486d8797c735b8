// SPDX-License-Identifier: Apache-2.0
//
// Operations that compute cells, or look them up.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/fuzz/notation/graph_ops.h"

namespace ocannl::fuzz {
namespace {

using Made = std::optional<GraphValue>;

constexpr const char* kReductions[] = {"++", "++", "@^^", "@--"};

// A number of that dtype; whole ones are small.
std::string NumberText(GraphState& s, DType dtype) {
  static constexpr const char* kFloats[] = {"0.5", "2", "1.5", "0.25"};
  static constexpr const char* kWhole[] = {"1", "2", "3", "7"};
  return IsReal(dtype) ? s.random.Pick(kFloats) : s.random.Pick(kWhole);
}

Made Slice(GraphState& s) {
  const GraphValue& v = s.Pick();
  Shape shape = v.shape;
  Dims& batch = shape[RowKind::kBatch];
  if (batch.empty() || batch[0] < 2) return std::nullopt;
  batch.erase(batch.begin());
  return GraphValue{absl::StrCat("(", v.text, " @| step)"), shape, v.dtype};
}

Made Reduce(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphAxes axes = s.NamedAxes(v);
  GraphAxes result;
  for (const GraphAxis& axis : axes) {
    if (s.random.OneIn(2)) result.push_back(axis);
  }
  const char* symbol = s.random.Pick(kReductions);
  return Reduced(v, symbol, axes, s.Shuffled(std::move(result)));
}

// A mean, or what else a sum that is divided by the number of its terms is.
Made Average(GraphState& s) {
  const GraphValue& v = s.PickFloat();
  const GraphAxes axes = s.NamedAxes(v);
  const auto k = PickAxis(s, axes);
  if (!k || IsNarrow(v.dtype)) return std::nullopt;
  GraphAxes result = axes;
  result[*k].text = "0";
  result[*k].size = 1;
  s.is_open = true;
  const std::string size = absl::StrCat("n", s.values.size());
  GraphValue sum =
      Reduced(v, "++", axes, result,
              absl::StrCat(" [\"", axes[*k].text, "\" : ", size, "]"));
  sum.text = absl::StrCat("(", sum.text, " /. ", size, ")");
  return sum;
}

Made Window(GraphState& s) {
  const GraphValue& v = s.Pick();
  GraphAxes axes = s.NamedAxes(v);
  const auto k = PickAxis(s, axes);
  if (!k) return std::nullopt;
  GraphAxes result = axes;
  const int64_t n = axes[*k].size;
  const int64_t size = 1 + s.random.Below(std::min<int64_t>(n, 5));
  const int64_t step = 1 + s.random.Below(3);
  const int64_t dilation = 1 + s.random.Below(2);
  const bool is_inside = s.random.OneIn(2);
  const int64_t span = n - dilation * (size - 1) - 1;
  if (is_inside ? span < 0 || span % step != 0 : n % step != 0) {
    return std::nullopt;
  }
  result[*k].size = is_inside ? span / step + 1 : n / step;
  const std::string kernel = s.Letter();
  axes[*k].text = absl::StrCat(step, "*", axes[*k].text,
                               is_inside ? "<+" : "=+", dilation, "*", kernel);
  result = s.Shuffled(std::move(result));
  if (IsReal(v.dtype) && v.dtype == DType::kF32 && s.random.OneIn(2)) {
    Shape weights;
    weights[RowKind::kOutput] = {size};
    return GraphValue{absl::StrCat("(", v.text, " +* \"", SlotText(axes), "; ",
                                   kernel, " => ", SlotText(result), "\" ",
                                   s.Parameter(weights), ")"),
                      ShapeOf(result), v.dtype};
  }
  const char* symbol = s.random.Pick(kReductions);
  return Reduced(v, symbol, axes, result,
                 absl::StrCat(" [\"", kernel, "\" = ", size, "]"));
}

// The axes of a value of which some are axes of `all` too, and adds the others.
GraphAxes SharedAxes(GraphState& s, const GraphValue& value, GraphAxes& all) {
  GraphAxes axes = s.NamedAxes(value);
  std::vector<std::string> taken;
  for (GraphAxis& axis : axes) {
    for (const GraphAxis& other : all) {
      const bool is_free =
          std::find(taken.begin(), taken.end(), other.text) == taken.end();
      if (other.size != axis.size || !is_free || s.random.OneIn(3)) continue;
      axis.text = other.text;
      break;
    }
    taken.push_back(axis.text);
  }
  for (const GraphAxis& axis : axes) {
    bool is_new = true;
    for (const GraphAxis& other : all) is_new &= other.text != axis.text;
    if (is_new) all.push_back(axis);
  }
  return axes;
}

// Of two to four values, over some of their axes.
Made Product(GraphState& s) {
  const GraphValue& v = s.Pick();
  static constexpr const char* kPairs[] = {"+*", "+*", "+++", "@^+", "@-+"};
  const std::string symbol = s.random.Pick(kPairs);
  GraphAxes all = s.NamedAxes(v);
  std::string slots = SlotText(all);
  std::string others;
  for (int64_t n = symbol == "+*" ? 1 + s.random.Below(3) : 1; n > 0; --n) {
    const GraphValue& w =
        s.values[s.random.Below(static_cast<int64_t>(s.values.size()))];
    if (w.dtype != v.dtype || s.letters + w.shape.dims().size() > 20) {
      return std::nullopt;
    }
    absl::StrAppend(&slots, "; ", SlotText(SharedAxes(s, w, all)));
    absl::StrAppend(&others, " ", w.text);
  }
  if (CellsOf(all) > 16 * s.most_cells) return std::nullopt;
  GraphAxes result;
  for (const GraphAxis& axis : all) {
    if (!s.random.OneIn(3)) result.push_back(axis);
  }
  result = s.Shuffled(std::move(result));
  return GraphValue{absl::StrCat("(", v.text, " ", symbol, " \"", slots, " => ",
                                 SlotText(result), "\"", others, ")"),
                    ShapeOf(result), v.dtype};
}

// A layer, whose parameter is as large as its use wants.
Made Layer(GraphState& s) {
  const GraphValue& v = s.PickFloat();
  if (v.shape[RowKind::kOutput].empty()) return std::nullopt;
  Shape shape = v.shape;
  shape[RowKind::kOutput] = {s.Size()};
  const int number = s.parameters++;
  return GraphValue{
      absl::StrCat("({w", number, "; o=[", shape[RowKind::kOutput][0], "]} * ",
                   v.text, ")"),
      shape, v.dtype};
}

Made Gather(GraphState& s) {
  const GraphValue& table = s.Pick();
  const GraphValue& ids =
      s.values[s.random.Below(static_cast<int64_t>(s.values.size()))];
  const GraphAxes axes = s.NamedAxes(table);
  const GraphAxes places = s.NamedAxes(ids);
  const auto k = PickAxis(s, axes);
  if (!k) return std::nullopt;
  GraphAxes result = places;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != *k) result.push_back(axes[i]);
  }
  if (result.size() > 6) return std::nullopt;
  result = s.Shuffled(std::move(result));
  return GraphValue{absl::StrCat("gather(\"", SlotText(axes), "; ",
                                 SlotText(places), " => ", SlotText(result),
                                 "\", ", table.text, ", i32(", ids.text, "))"),
                    ShapeOf(result), table.dtype};
}

Made Scatter(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphAxes axes = s.NamedAxes(v);
  GraphAxes places, result;
  for (const GraphAxis& axis : axes) {
    (s.random.OneIn(2) ? places : result).push_back(axis);
  }
  const int64_t size = s.Size();
  result.push_back({s.Letter(), size, s.Row()});
  const GraphValue ids = Reduced(v, "@^^", axes, places);
  result = s.Shuffled(std::move(result));
  return GraphValue{
      absl::StrCat("scatter_add(\"", SlotText(axes), "; ", SlotText(places),
                   " => ", SlotText(result), "\", ", v.text, ", i32(", ids.text,
                   "), ", size, ")"),
      ShapeOf(result), v.dtype};
}

Made OneHot(GraphState& s) {
  const GraphValue& v = s.Pick();
  if (v.shape.dims().size() > 5) return std::nullopt;
  Shape shape = v.shape;
  const int64_t size = s.Size();
  shape[RowKind::kOutput].push_back(size);
  return GraphValue{
      absl::StrCat("f32(one_hot(i32(", v.text, ") - 1, ", size, "))"), shape,
      DType::kF32};
}

Made Scan(GraphState& s) {
  const GraphValue& v = s.Pick();
  const auto end = PickEnd(s, v.shape);
  if (!end) return std::nullopt;
  return GraphValue{
      absl::StrCat("cumulative_sum(\"", end->spec, "\", ", v.text, ")"),
      v.shape, v.dtype};
}

Made ArgExtreme(GraphState& s) {
  const GraphValue& v = s.Pick();
  const auto end = PickEnd(s, v.shape);
  if (!end) return std::nullopt;
  Shape shape = v.shape;
  Dims& row = shape[end->row];
  row.erase(row.begin() + static_cast<int64_t>(end->place));
  const char* function = s.random.OneIn(2) ? "argmax" : "argmin";
  return GraphValue{
      absl::StrCat(function, "(\"", end->spec, "\", ", v.text, ")"), shape,
      DType::kI32};
}

Made Unary(GraphState& s) {
  static constexpr const char* kFloats[] = {
      "neg",  "abs",  "sqrt",     "floor", "round", "recip",        "square",
      "exp",  "log",  "exp2",     "sin",   "tanh",  "erf",          "sigmoid",
      "relu", "gelu", "softplus", "silu",  "sat01", "stop_gradient"};
  static constexpr const char* kWhole[] = {"neg", "abs"};
  const GraphValue& v = s.Pick();
  const char* name =
      IsReal(v.dtype) ? s.random.Pick(kFloats) : s.random.Pick(kWhole);
  return GraphValue{absl::StrCat(name, "(", v.text, ")"), v.shape, v.dtype};
}

std::string BinaryText(GraphState& s, absl::string_view a, absl::string_view b,
                       DType dtype) {
  static constexpr const char* kInfixes[] = {"+", "-", "*.", "/.", "%"};
  static constexpr const char* kBits[] = {"&", "|", "^", "<<", ">>"};
  static constexpr const char* kCalls[] = {"max", "min"};
  if (s.random.OneIn(4)) {
    const char* call = s.random.Pick(kCalls);
    return absl::StrCat(call, "(", a, ", ", b, ")");
  }
  const bool has_bits = !IsReal(dtype) && s.random.OneIn(2);
  const char* infix = has_bits ? s.random.Pick(kBits) : s.random.Pick(kInfixes);
  return absl::StrCat("(", a, " ", infix, " ", b, ")");
}

Made Binary(GraphState& s) {
  const GraphValue& v = s.Pick();
  const std::string other =
      s.random.OneIn(3) ? NumberText(s, v.dtype) : s.PickLike(v).text;
  return GraphValue{BinaryText(s, v.text, other, v.dtype), v.shape, v.dtype};
}

// With a reduction of itself, which broadcasts.
Made Broadcast(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphAxes axes = s.NamedAxes(v);
  GraphAxes result = axes;
  for (GraphAxis& axis : result) {
    if (s.random.OneIn(2)) axis.text = "0";
  }
  const GraphValue few = Reduced(v, s.random.Pick(kReductions), axes, result);
  return GraphValue{BinaryText(s, v.text, few.text, v.dtype), v.shape, v.dtype};
}

// A comparison, or logic on numbers and comparisons.
std::string TruthText(GraphState& s, const GraphValue& v, const GraphValue& w) {
  static constexpr const char* kComparisons[] = {
      "<", "<=", "==", "!=", ">", "&&", "||"};
  const char* comparison = s.random.Pick(kComparisons);
  const std::string truth =
      absl::StrCat("(", v.text, " ", comparison, " ", w.text, ")");
  if (s.random.OneIn(4)) return absl::StrCat("(not ", truth, ")");
  if (!s.random.OneIn(4)) return truth;
  return absl::StrCat("(", truth, " && ", w.text, ")");
}

Made Select(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphValue& w = s.PickLike(v);
  return GraphValue{absl::StrCat("select(", TruthText(s, v, w), ", ", w.text,
                                 ", ", v.text, ")"),
                    v.shape, v.dtype};
}

// A bool that meets a number, or another one, or is summed.
Made Count(GraphState& s) {
  const GraphValue& v = s.Pick();
  const GraphValue& w = s.PickLike(v);
  const std::string truth = TruthText(s, v, w);
  const GraphValue counted{truth, v.shape, DType::kF32};
  switch (s.random.Below(4)) {
    case 0:
      return GraphValue{
          absl::StrCat("(", truth, " + ", TruthText(s, w, v), ")"), v.shape,
          DType::kF32};
    case 1: {
      const GraphAxes axes = s.NamedAxes(v);
      GraphAxes result = axes;
      const auto k = PickAxis(s, axes);
      if (!k) return std::nullopt;
      result.erase(result.begin() + static_cast<int64_t>(*k));
      return Reduced(counted, s.random.Pick(kReductions), axes, result);
    }
    case 2:
      return GraphValue{absl::StrCat("(1 - ", truth, ")"), v.shape,
                        DType::kF32};
    default:
      return GraphValue{BinaryText(s, truth, v.text, v.dtype), v.shape,
                        v.dtype};
  }
}

Made Convert(GraphState& s) {
  static constexpr DType kDTypesOfGraphs[] = {
      DType::kF16, DType::kBF16, DType::kF64,    DType::kF32, DType::kF32,
      DType::kU8,  DType::kI32,  DType::kF8E4M3, DType::kI64, DType::kU16};
  const GraphValue& v = s.Pick();
  const DType dtype = s.random.Pick(kDTypesOfGraphs);
  return GraphValue{absl::StrCat(Name(dtype), "(", v.text, ")"), v.shape,
                    dtype};
}

Made Noise(GraphState& s) {
  const GraphValue& v = s.Pick();
  if (v.dtype != DType::kF32) return std::nullopt;
  const char* noise = s.random.OneIn(2) ? "uniform()" : "normal1()";
  return GraphValue{absl::StrCat("(", v.text, " + ", noise, ")"), v.shape,
                    v.dtype};
}

constexpr GraphOp kComputingOps[] = {
    {"slice", GraphFocus::kIndex, Slice},
    {"reduce", GraphFocus::kReduce, Reduce},
    {"average", GraphFocus::kReduce, Average},
    {"window", GraphFocus::kReduce, Window},
    {"product", GraphFocus::kReduce, Product},
    {"layer", GraphFocus::kReduce, Layer},
    {"gather", GraphFocus::kIndex, Gather},
    {"scatter", GraphFocus::kIndex, Scatter},
    {"one_hot", GraphFocus::kIndex, OneHot},
    {"scan", GraphFocus::kIndex, Scan},
    {"arg_extreme", GraphFocus::kIndex, ArgExtreme},
    {"unary", GraphFocus::kPointwise, Unary},
    {"binary", GraphFocus::kPointwise, Binary},
    {"broadcast", GraphFocus::kPointwise, Broadcast},
    {"select", GraphFocus::kPointwise, Select},
    {"count", GraphFocus::kPointwise, Count, 2},
    {"convert", GraphFocus::kPointwise, Convert},
    {"noise", GraphFocus::kPointwise, Noise},
};

}  // namespace

absl::Span<const GraphOp> ComputingOps() { return kComputingOps; }

}  // namespace ocannl::fuzz
