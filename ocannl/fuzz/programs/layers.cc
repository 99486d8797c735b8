// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/layers.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "ocannl/fuzz/programs/program_text.h"
#include "ocannl/fuzz/programs/stages.h"

namespace ocannl::fuzz {
namespace {

constexpr int64_t kMaxSmall = 20'000;  // iterations of a small product

Indices Of(const Axes& axes) { return Indices(axes.begin(), axes.end()); }

Extents ExtentsOf(const Axes& axes) {
  Extents extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return extents;
}

// y[outer, m, n] += x[outer, m, k] * w[n, k]
struct Sizes {
  int64_t outer, m, n, k;
};

Sizes SmallSizes(ProgramText& text) {
  Sizes sizes{.outer = text.random().OneIn(4) ? 2 + text.random().Below(3) : 1,
              .m = text.DrawExtent(),
              .n = text.DrawExtent(),
              .k = text.DrawExtent()};
  sizes.k = std::min(sizes.k, kMaxSmall / (sizes.outer * sizes.m * sizes.n));
  sizes.k = std::max<int64_t>(sizes.k, 1);
  return sizes;
}

// Large sizes are just past the limits of plan.cc.
Sizes DrawSizes(ProgramText& text) {
  Random& random = text.random();
  const auto size = static_cast<int64_t>(SizeOf(text.dtype()));
  switch (random.Below(8)) {
    case 0: {  // many tiles of rows pass over a wide operand: packed columns
      const int64_t n = 40 + random.Below(60);
      const int64_t k = 16 * 1024 / (n * size) + 1 + random.Below(30);
      return {.outer = 1, .m = 37 + random.Below(30), .n = n, .k = k};
    }
    case 1:  // long rows that lie far apart, many columns: packed rows, parts
      return {.outer = 1,
              .m = 2 + random.Below(3),
              .n = 192 + random.Below(30),
              .k = 1024 / size};
    case 2:
    case 7:  // many short rows: groups of columns in small caches
      return {.outer = 1,
              .m = 1024 / size,
              .n = 192 + random.Below(20),
              .k = 3 + random.Below(3)};
    case 3:  // work that is worth sharing
      return {.outer = 40 + random.Below(20),
              .m = 1 + random.Below(2),
              .n = 8 + random.Below(16),
              .k = 90 + random.Below(60)};
    default:
      return SmallSizes(text);
  }
}

// A cell of a new input over the axes, now and then in another order.
std::string Operand(ProgramText& text, Axes axes) {
  if (text.random().OneIn(4)) text.random().Shuffle(axes);
  return text.Read(text.Declare(Role::kIn, ExtentsOf(axes)), Of(axes));
}

void Start(ProgramText& text, const Array& y) {
  if (text.random().OneIn(2)) {
    return text.Add(absl::StrCat("zero_out ", y.name, ";\n"));
  }
  Axes axes = text.NewAxes(y.extents);
  text.AddNest(axes, text.Assign(y, Of(axes), text.Literal("0")));
}

// The product of x, or of a new input where there is none.
Array Product(ProgramText& text, const Array* x, const Sizes& sizes,
              Role role) {
  Random& random = text.random();
  Axes outer;
  if (sizes.outer > 1) outer.push_back(text.NewAxis(sizes.outer));
  const Axis m = text.NewAxis(sizes.m);
  const Axis n = text.NewAxis(sizes.n);
  const Axis k = text.NewAxis(sizes.k);
  auto with_outer = [&](Axes axes) {
    axes.insert(axes.begin(), outer.begin(), outer.end());
    return axes;
  };
  const Axes cell = with_outer({m, n});
  const Axes short_first = sizes.m < sizes.k ? Axes{m, k} : Axes{k, m};
  const std::string a = x == nullptr ? Operand(text, with_outer(short_first))
                                     : text.Read(*x, Of(with_outer({m, k})));
  const std::string b =
      Operand(text, random.OneIn(2) ? with_outer({k, n}) : Axes{k, n});
  Array y = text.Declare(role, ExtentsOf(cell));
  Start(text, y);
  const bool fuses = IsFloat(text.dtype()) && !random.OneIn(4);
  std::string step =
      text.Assign(y, Of(cell),
                  absl::Substitute(fuses ? "fma($1, $2, $0)" : "$0 + $1 * $2",
                                   text.Read(y, Of(cell)), a, b));
  Axes loops = cell;
  loops.push_back(k);
  // The gradients of weights sum over the outermost loop.
  if (random.OneIn(4)) std::rotate(loops.begin(), loops.end() - 1, loops.end());
  text.AddNest(text.Ordered(loops), step);
  return y;
}

// A pointwise nest that makes `target` of y and of what `more` reads.
void Use(ProgramText& text, const Array& y, const Array& target,
         const Array* more) {
  Random& random = text.random();
  const Axes axes = text.NewAxes(y.extents);
  std::vector<std::string> leaves = {text.Read(y, Of(axes))};
  if (more != nullptr) {
    leaves.push_back(text.Read(*more, Of(axes)));
  } else {
    leaves.push_back(Operand(text, {axes.back()}));
  }
  auto leaf = [&] { return random.Pick(leaves); };
  text.AddNest(axes, text.Assign(target, Of(axes),
                                 absl::StrCat(leaves[0], " + (",
                                              text.Value(2, leaf), ")")));
}

// What uses y pointwise, in the ways that a training step does.
Array AddUsers(ProgramText& text, Array y, Role role) {
  Random& random = text.random();
  if (random.OneIn(4)) Use(text, y, y, nullptr);
  if (random.OneIn(4)) {
    // The user depends on another nest.
    const Array other = text.Declare(Role::kIn, y.extents);
    const Array made = text.Declare(Role::kTemp, y.extents);
    Use(text, other, made, nullptr);
    const Array sum = text.Declare(Role::kTemp, y.extents);
    Use(text, y, sum, &made);
    y = sum;
  }
  const Array result = text.Declare(role, y.extents);
  Use(text, y, result, nullptr);
  if (random.OneIn(4)) {
    const Array weights = text.Declare(Role::kInOut, y.extents);
    Use(text, weights, weights, &result);
  }
  return result;
}

// A map of enough cells to share, now and then one that transposes.
void AddWideMap(ProgramText& text) {
  Random& random = text.random();
  const int64_t n = 100 + random.Below(100);
  const int64_t m = (16'000 + random.Below(8'000)) / n;
  const Array y = text.Declare(Role::kOut, {m, n});
  if (!random.OneIn(3)) {
    return Use(text, text.Declare(Role::kIn, {m, n}), y, nullptr);
  }
  const Array x = text.Declare(Role::kIn, {n, m});
  const Axes cell = text.NewAxes(y.extents);
  text.AddNest(cell,
               text.Assign(y, Of(cell), text.Read(x, {cell[1], cell[0]})));
}

// Rows are summed, few or some blocks of them, and their cells changed by what
// that gives.
void AddRows(ProgramText& text) {
  Random& random = text.random();
  const int64_t rows =
      random.OneIn(6) ? 2 + random.Below(5) : 16 + random.Below(40);
  const Array x = text.Declare(Role::kIn, {rows, 32 + random.Below(100)});
  Array sums = SumInLanes(text, x, Role::kTemp);
  if (random.OneIn(2)) {
    const Array made = text.Declare(Role::kTemp, sums.extents);
    Use(text, sums, made, nullptr);
    sums = made;
  }
  const Array y = text.Declare(Role::kOut, x.extents);
  const Axes cell = text.NewAxes(x.extents);
  text.AddNest(cell, text.Assign(y, Of(cell),
                                 absl::StrCat(text.Read(x, Of(cell)), " * ",
                                              text.Read(sums, {cell[0]}))));
  if (!random.OneIn(4)) return;
  // Another loop over rows depends on all of the first one's.
  const Array z = text.Declare(Role::kOut, x.extents);
  const Axes other = text.NewAxes(x.extents);
  const Index last({}, x.extents[0] - 1);
  text.AddNest(other, text.Assign(z, Of(other), text.Read(sums, {last})));
}

}  // namespace

LoopProgram Layers(Random& random, const Policies& policies) {
  Policies plain;
  for (Policy policy :
       {Policy::kOddExtents, Policy::kUnitAxes, Policy::kPermuted,
        Policy::kBigStrides, Policy::kMixedPrecision, Policy::kDerivedFunctions,
        Policy::kStaticIndices}) {
    if (policies.Has(policy)) plain.Add(policy);
  }
  ProgramText text(&random, &plain);
  switch (random.Below(6)) {
    case 0:
      AddWideMap(text);
      return text.Parsed();
    case 1:
      AddRows(text);
      return text.Parsed();
    default:
      break;
  }
  Sizes sizes = DrawSizes(text);
  const bool ends = random.OneIn(3);
  Array y = Product(text, nullptr, sizes, ends ? Role::kOut : Role::kTemp);
  if (ends) return text.Parsed();
  const bool once_more = sizes.outer * sizes.m * sizes.n < kMaxSmall / 10;
  y = AddUsers(text, y, once_more ? Role::kTemp : Role::kOut);
  if (once_more) {
    sizes.k = std::exchange(sizes.n, 1 + random.Below(20));
    y = Product(text, &y, sizes, Role::kTemp);
    AddUsers(text, y, Role::kOut);
  }
  return text.Parsed();
}

}  // namespace ocannl::fuzz
