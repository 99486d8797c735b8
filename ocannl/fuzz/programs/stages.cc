// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/stages.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace ocannl::fuzz {
namespace {

constexpr int64_t kMaxIterations = 50'000;  // of a nest

Indices Of(const Axes& axes) { return Indices(axes.begin(), axes.end()); }

Axes Joined(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Extents ExtentsOf(const Axes& axes) {
  Extents extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

// Every cell of y becomes `value`.
void Start(ProgramText& text, const Array& y, absl::string_view value) {
  if (value == "0" && text.random().OneIn(2)) {
    text.Add(absl::StrCat("zero_out ", y.name, ";\n"));
    return;
  }
  Axes axes = text.NewAxes(y.extents);
  text.AddNest(text.Ordered(axes),
               text.Assign(y, Of(axes), text.Literal(value)));
}

// A tensor over some axes of another, which starts with its cells.
struct Origin {
  Array array;
  std::vector<bool> has_axis;

  Indices At(const Axes& axes) const {
    Indices indices;
    for (size_t k = 0; k < axes.size(); ++k) {
      if (has_axis[k]) indices.push_back(axes[k]);
    }
    return indices;
  }
};

std::vector<Origin> DeclareOrigins(ProgramText& text, const Extents& extents) {
  std::vector<Origin> origins;
  for (int64_t left = 1 + text.random().Below(2); left > 0; --left) {
    std::vector<bool> has_axis;
    Extents kept;
    for (int64_t extent : extents) {
      has_axis.push_back(!text.random().OneIn(3));
      if (has_axis.back()) kept.push_back(extent);
    }
    origins.push_back(
        {text.Declare(Role::kInOut, std::move(kept)), std::move(has_axis)});
  }
  return origins;
}

// Starts y with cells of `origins`, which change before and after that.
void StartWith(ProgramText& text, const Array& y,
               const std::vector<Origin>& origins) {
  auto change_some = [&](absl::string_view value) {
    for (const Origin& origin : origins) {
      if (text.random().OneIn(2)) Start(text, origin.array, value);
    }
  };
  change_some("3");
  const Axes axes = text.NewAxes(y.extents);
  const std::string value = text.Value(1, [&] {
    const Origin& origin = text.random().Pick(origins);
    return text.Read(origin.array, origin.At(axes));
  });
  text.AddNest(text.Ordered(axes), text.Assign(y, Of(axes), value));
  change_some("2");
}

// Adds products of the cells of y to those of an origin.
void AddTo(ProgramText& text, const Origin& origin, const Array& y) {
  const Axes axes = text.NewAxes(y.extents);
  const Axis step = text.NewAxis(1 + text.random().Below(3));
  const Array w = text.Declare(Role::kIn, {step.extent});
  const Indices at = origin.At(axes);
  text.AddNest(text.Ordered(Joined(axes, {step})),
               text.Assign(origin.array, at,
                           absl::StrCat(text.Cell(origin.array, at), " + ",
                                        text.Read(y, Of(axes)), " * ",
                                        text.Read(w, {step}))));
}

struct Accumulation {
  absl::string_view start;
  absl::string_view value;  // $0: what there is, $1 and $2: operands
};
constexpr Accumulation kAccumulations[] = {
    {"0", "$0 + $1 * $2"},     {"0", "$0 + $1"},
    {"1", "$0 * min($1, $2)"}, {"0", "max($0, $1 + $2)"},
    {"9", "min($0, $1 - $2)"},
};
constexpr Accumulation kFused = {"0", "fma($1, $2, $0)"};

// A tensor over the axes `kept` accumulates a and b over `reduced`, now and
// then on top of what it holds.
Array Accumulate(ProgramText& text, Role role, const Axes& kept,
                 const Axes& reduced, const std::string& a,
                 const std::string& b) {
  Random& random = text.random();
  const bool starts = !text.Has(Policy::kInPlace) || !random.OneIn(3);
  const Array y = text.Declare(starts ? role : Role::kInOut, ExtentsOf(kept));
  const Accumulation drawn = IsFloat(text.dtype()) && random.OneIn(2)
                                 ? kFused
                                 : random.Pick(kAccumulations);
  std::string cell = text.Read(y, Of(kept));
  std::string step =
      text.Assign(y, Of(kept), absl::Substitute(drawn.value, cell, a, b));
  if (starts && random.OneIn(3)) {
    // Start, accumulate and finish each cell in its own iteration.
    const std::string finish = text.Value(1, [&] { return cell; });
    const std::string steps = text.Nest(text.Ordered(reduced), step);
    text.AddNest(
        text.Ordered(kept),
        absl::StrCat(text.Assign(y, Of(kept), text.Literal(drawn.start)), steps,
                     text.Assign(y, Of(kept), finish)));
    return y;
  }
  std::vector<Origin> origins;
  if (starts && text.Has(Policy::kInPlace) && random.OneIn(2)) {
    origins = DeclareOrigins(text, y.extents);
    StartWith(text, y, origins);
  } else if (starts) {
    Start(text, y, drawn.start);
  }
  text.AddNest(text.Ordered(Joined(kept, reduced)), step);
  for (const Origin& origin : origins) {
    if (random.OneIn(2)) AddTo(text, origin, y);
  }
  return y;
}

}  // namespace

Array Map(ProgramText& text, const Array& x, Role role) {
  Random& random = text.random();
  Axes axes = text.NewAxes(x.extents);
  Axes some;
  for (const Axis& axis : axes) {
    if (random.OneIn(2)) some.push_back(axis);
  }
  Array bias = text.Declare(Role::kIn, ExtentsOf(some));
  Array y = text.Declare(role, x.extents);
  std::vector<std::string> leaves = {text.Read(x, Of(axes)),
                                     text.Read(bias, Of(some))};
  auto leaf = [&] { return random.Pick(leaves); };
  std::string body;
  int64_t locals = text.Has(Policy::kDeepNests) ? random.Below(4) : 0;
  for (; locals > 0; --locals) {
    std::string declaration;
    leaves.push_back(text.NewLocal(text.Value(2, leaf), declaration));
    body += declaration;
  }
  body += text.Assign(y, Of(axes), text.Value(3, leaf));
  text.AddNest(text.Ordered(axes), body);
  return y;
}

Array Product(ProgramText& text, const Array& x, Role role) {
  Random& random = text.random();
  Axes kept;     // batch and M
  Axes reduced;  // K
  Axes shared;   // batch and K
  Indices x_indices;
  int64_t iterations = NumElements(x.extents);
  for (int64_t extent : x.extents) {
    if (extent > 4 && random.OneIn(6)) {
      Axis window = text.NewAxis(2 + random.Below(3));
      Axis place = text.NewAxis(extent - window.extent + 1);
      kept.push_back(place);
      reduced.push_back(window);
      shared.push_back(window);
      x_indices.push_back(
          Index({{1, place.iterator}, {1, window.iterator}}, 0));
      iterations *= window.extent;
      continue;
    }
    Axis axis = text.NewAxis(extent);
    x_indices.push_back(axis);
    bool is_reduced = random.OneIn(2);
    (is_reduced ? reduced : kept).push_back(axis);
    if (is_reduced || random.OneIn(4)) shared.push_back(axis);
  }
  Axes added;  // N
  for (int64_t left = random.Below(3); left > 0; --left) {
    int64_t extent = text.DrawExtent();
    if (iterations * extent > kMaxIterations) break;
    iterations *= extent;
    added.push_back(text.NewAxis(extent));
  }
  kept = Joined(kept, added);
  shared = Joined(shared, added);
  Array w = text.Declare(Role::kIn, ExtentsOf(shared));
  const bool mapped = random.OneIn(2);
  const Array y = Accumulate(text, mapped ? Role::kTemp : role, kept, reduced,
                             text.Read(x, x_indices), text.Read(w, Of(shared)));
  return mapped ? Map(text, y, role) : y;
}

Array Reduction(ProgramText& text, const Array& x, Role role) {
  Random& random = text.random();
  Axes axes = text.NewAxes(x.extents);
  Axes kept;
  Axes reduced;
  for (const Axis& axis : axes) {
    (random.OneIn(2) ? kept : reduced).push_back(axis);
  }
  std::string cell = text.Read(x, Of(axes));
  std::string value = text.Value(random.Below(3), [&] { return cell; });
  return Accumulate(text, role, kept, reduced, absl::StrCat("(", value, ")"),
                    cell);
}

void Update(ProgramText& text, const Array& g) {
  Array w = text.Declare(Role::kInOut, g.extents);
  Axes axes = text.NewAxes(g.extents);
  std::string rate = text.Literal(IsFloat(text.dtype()) ? "0.01" : "3");
  text.AddNest(
      text.Ordered(axes),
      text.Assign(w, Of(axes),
                  absl::Substitute("$0 - $1 * $2", text.Cell(w, Of(axes)), rate,
                                   text.Read(g, Of(axes)))));
}

namespace {

// The axes of x but the last, and the last.
std::pair<Axes, Axis> RowsOf(ProgramText& text, const Array& x) {
  Axes rows = text.NewAxes(x.extents);
  Axis column = rows.back();
  rows.pop_back();
  return {rows, column};
}

}  // namespace

// In one nest, with locals for the maximum and the sum of a row.
Array Softmax(ProgramText& text, const Array& x, Role role) {
  auto [rows, column] = RowsOf(text, x);
  Array y = text.Declare(role, x.extents);
  std::string declare_max;
  std::string declare_sum;
  std::string max = text.NewLocal(text.Literal("-inf"), declare_max);
  std::string sum = text.NewLocal(text.Literal("0"), declare_sum);
  auto over_row = [&, outer = rows](const Array& array, const Axis& axis) {
    return text.Read(array, Of(Joined(outer, {axis})));
  };
  auto assign = [&, outer = rows](const Axis& axis, absl::string_view value) {
    return text.Assign(y, Of(Joined(outer, {axis})), value);
  };
  const Axis second = text.NewAxis(column.extent);
  const Axis third = text.NewAxis(column.extent);
  std::string body = declare_max;
  body += text.Nest({column}, absl::Substitute("$0 := max($0, $1);\n", max,
                                               over_row(x, column)));
  body += declare_sum;
  body += text.Nest(
      {second},
      absl::StrCat(
          assign(second,
                 absl::Substitute("exp($0 - $1)", over_row(x, second), max)),
          absl::Substitute("$0 := $0 + $1;\n", sum, over_row(y, second))));
  body += text.Nest(
      {third}, assign(third, absl::StrCat(over_row(y, third), " / ", sum)));
  text.AddNest(text.Ordered(rows), body);
  return y;
}

// In three nests, with temporaries for the mean and the variance.
Array Normalized(ProgramText& text, const Array& x, Role role) {
  auto [rows, column] = RowsOf(text, x);
  const Axes all = Joined(rows, {column});
  Array mean = text.Declare(Role::kTemp, ExtentsOf(rows));
  Array variance = text.Declare(Role::kTemp, ExtentsOf(rows));
  Array y = text.Declare(role, x.extents);
  std::string share =
      text.Literal(absl::StrCat(1.0 / static_cast<double>(column.extent)));
  auto cell = [&](const Array& array, const Axes& axes) {
    return text.Read(array, Of(axes));
  };
  auto add_nest = [&](const Array& array, const Axes& written,
                      absl::string_view value) {
    // Every nest has loops of its own.
    Axes axes = text.NewAxes(x.extents);
    Axes target(axes.begin(), axes.begin() + written.size());
    Axes row(axes.begin(), axes.end() - 1);
    text.AddNest(
        text.Ordered(axes),
        text.Assign(array, Of(target),
                    absl::Substitute(value, cell(array, target), cell(x, axes),
                                     cell(mean, row), cell(variance, row),
                                     share, text.Literal("1e-5"))));
  };
  Start(text, mean, "0");
  add_nest(mean, rows, "fma($1, $4, $0)");
  Start(text, variance, "0");
  add_nest(variance, rows, "fma(square($1 - $2), $4, $0)");
  add_nest(y, all, "($1 - $2) / sqrt($3 + $5)");
  return y;
}

}  // namespace ocannl::fuzz
