// SPDX-License-Identifier: Apache-2.0
//
// GraphState: the values that a random graph of the notation has so far, with
// their shapes and dtypes, so that what is made of them is valid.
#ifndef OCANNL_FUZZ_NOTATION_GRAPH_STATE_H_
#define OCANNL_FUZZ_NOTATION_GRAPH_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

// An expression, or the name of one.
struct GraphValue {
  std::string text;
  Shape shape;
  DType dtype;
};

// An axis of a spec, by the text that it has there.
struct GraphAxis {
  std::string text;
  int64_t size;
  RowKind row;
};
using GraphAxes = std::vector<GraphAxis>;

// "a, b|c->d"
std::string SlotText(const GraphAxes& axes);
Shape ShapeOf(const GraphAxes& axes);
int64_t CellsOf(const GraphAxes& axes);

// What the sizes of a program's axes are like.
enum class GraphSizes : uint8_t {
  kSmall,       // from 1 to 6
  kOdd,         // odd ones, up to 33
  kOnes,        // every second is 1
  kNearPowers,  // 7, 8, 9, 15, ..., 65, where vectors and tiles end
  kAny,         // from 1 to 100
};
inline constexpr int kNumGraphSizes = 5;

// Which operations a program has most of.
enum class GraphFocus : uint8_t {
  kAll,
  kArrange,  // permuting, reshaping, stacking, taking parts
  kReduce,   // sums, extremes, products, windows
  kIndex,    // gathering, scattering, scans
  kPointwise,
};
inline constexpr int kNumGraphFoci = 5;

struct GraphState {
  Random& random;
  GraphSizes sizes;
  bool one_row;        // axes are output axes
  int64_t most_cells;  // of a value
  std::vector<GraphValue> values = {};
  std::vector<Shape> operands = {};  // of x0, x1, ...
  int parameters = 0;                // so far
  int letters = 0;                   // of the spec that is being written
  // Whether an axis is as long as its uses want: they may not say it.
  bool is_open = false;

  int64_t Size();
  RowKind Row() {
    return one_row ? RowKind::kOutput : kRowKinds[random.Below(3)];
  }
  // A shape of up to 4 axes; without batch axes, if it is for a parameter.
  Shape SomeShape(bool is_parameter);
  // Mostly the last value.
  const GraphValue& Pick();
  const GraphValue& PickFloat();
  // Another value of that shape and dtype, or the same.
  const GraphValue& PickLike(const GraphValue& value);
  // The axes of a value, each under a name of its own.
  GraphAxes NamedAxes(const GraphValue& value);
  std::string Letter();
  // In another order, and maybe in other rows; of any rank that has a name.
  GraphAxes Shuffled(GraphAxes axes);
  // A parameter of those cells: "{w2; o=[3, 4]}".
  std::string Parameter(const Shape& shape);
};

// `v symbol "operand => result" rules`, of the shape that `result` says.
GraphValue Reduced(const GraphValue& v, absl::string_view symbol,
                   const GraphAxes& operand, const GraphAxes& result,
                   absl::string_view rules = "");

// The one of `axes` that an operation is about; none: there is none.
std::optional<size_t> PickAxis(GraphState& s, const GraphAxes& axes);

// The first or the last axis of a row; `spec` is that of the axis, such as
// "...|i, ...->...".
struct EndAxis {
  std::string spec;
  RowKind row;
  size_t place;
};
std::optional<EndAxis> PickEnd(GraphState& s, const Shape& shape);

inline bool IsReal(DType dtype) { return IsFloat(ComputeDType(dtype)); }

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_GRAPH_STATE_H_
