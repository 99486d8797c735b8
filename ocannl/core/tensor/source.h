// SPDX-License-Identifier: Apache-2.0
//
// Where the value of a node of a graph (graph.h) comes from.
#ifndef OCANNL_CORE_TENSOR_SOURCE_H_
#define OCANNL_CORE_TENSOR_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/containers/pool.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct TensorTag;
using TensorId = Id<TensorTag>;

// A number; broadcasts to any shape, and has the axes that a spec gives it.
struct NumberSource {
  double value;
};

// An array from the host. At most one row of the node's spec is open: it takes
// the elements that the given rows leave.
struct DataSource {
  std::shared_ptr<const NdArray> data;
  std::shared_ptr<const NdArray> digits = nullptr;  // of a literal, as f64
};

// A first value like an earlier one, but for random numbers (initializer.h).
struct LaterInit {
  int32_t shared;      // in Graph::shared_inits
  int32_t first_node;  // the number of its first node, for names
  uint32_t randoms;    // the number of random operations before it
  uint32_t seed;
};

struct Tensor;

// First values that are one computation, but for random numbers.
struct SharedInit {
  // A word of random numbers: a number, or one of two of the key of a draw.
  struct Word {
    uint32_t value;
    int32_t draw = -1;  // from 0; none: `value`
    int half = 0;
  };
  std::string name;  // of the initialiser
  DType dtype;       // of the parameters when they were made
  std::function<Tensor(Tensor)> make;
  int32_t like = -1;  // the first parameter
  int32_t nodes = 0;  // of each
  uint32_t randoms = 0;
  std::vector<int64_t> form = {};  // FormOf
  std::vector<Word> words = {};
};

// A leaf that training changes; `init`, if any, computes its first value. Or an
// input, which only the host writes.
struct ParamSource {
  std::optional<TensorId> init = std::nullopt;
  bool is_input = false;
  // Its nodes are made when they are needed (Graph::MakeInit), and are `init`.
  std::optional<LaterInit> later = std::nullopt;

  bool has_init() const { return init || later; }
};

// Cell i, in memory order, holds i. What the node's spec leaves open of the
// shape, and axes of size 0 in it, come from the use.
struct OffsetsSource {};

// In the place of a static index: Graph::Step() when code is made, so that it
// may be added later; 0 without it, and in the first values of parameters.
inline constexpr int32_t kStep = -1;

// The value of a static index, or its lower or higher 32 bits.
struct SymbolSource {
  enum class Part : uint8_t { kAll, kLow, kHigh };
  int32_t static_index;
  Part part = Part::kAll;
};

// The product of the sizes of the given rows of another tensor, or of what a
// name in the spec that made it stands for.
struct DimSource {
  TensorId of;
  std::vector<RowKind> rows;
  std::string name = "";  // empty: rows
};

// One element of the leftmost batch axis, chosen by a static index.
struct SliceSource {
  TensorId of;
  int32_t static_index;
};

// The cells of another tensor, in memory order, in the shape of the node's
// spec. At most one axis of it is of size 0: it takes what the others leave.
struct ReshapeSource {
  TensorId of;
};

// Prefix sums (the inclusive scan): along `axis` of operand and result, which
// `spec` names, cell i is the sum of the cells 0 to i.
struct ScanSource {
  TensorId of;
  Boxed<EinsumSpec> spec;  // result and operand are alike
  std::string axis;
};

struct OpDefinition;  // defined_op.h

// accum over the reduced axes of op(operands...).
struct ComputeSource {
  // ".": axes pair up from both ends of each row, broadcasting.
  struct Pointwise {
    bool stretches;  // the result is as large as its uses want
  };
  // "@": input axes of the first pair with output axes of the second.
  struct Compose {};
  // An einsum that sums the cells of operand 1 where operand 0 is true, and so
  // selects them by `ids`. Operand 0 has the axes of `ids` and one output axis
  // more; it is true where the index of that axis is the id. Operand 1 has that
  // axis, so that the sum is one of its cells; if the sum `scatters`, the
  // result has the axis.
  struct Gather {
    Boxed<EinsumSpec> spec;
    TensorId ids;
    bool scatters;
  };
  using Logic = std::variant<Pointwise, Compose, Boxed<EinsumSpec>, Gather>;

  // None: the operand itself, one at a time. kMul: the product of 2 or more.
  std::optional<Op> op = {};
  std::optional<Op> accum = {};  // over reduced axes: kAdd, kMax or kMin
  Logic logic = {};
  std::vector<TensorId> operands;
  std::shared_ptr<const OpDefinition> defined = nullptr;  // in the place of op

  bool has_op() const { return op || defined != nullptr; }
  const EinsumSpec* spec() const;  // null: pointwise or composed
};

// A construction that failed.
struct ErrorSource {
  absl::Status status;
};

using TensorSource =
    std::variant<NumberSource, DataSource, ParamSource, OffsetsSource,
                 SymbolSource, DimSource, SliceSource, ReshapeSource,
                 ScanSource, ComputeSource, ErrorSource>;

// The spec of a scan or of an einsum; null: it has none.
const EinsumSpec* EinsumOf(const TensorSource& source);

// The tensors that `source` reads, in order; a parameter reads none. They are
// in `source`, which must stay as it is meanwhile.
absl::Span<const TensorId> OperandsOf(const TensorSource& source);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_SOURCE_H_
