// SPDX-License-Identifier: Apache-2.0
//
// Graph: what the user wrote, as nodes: parameters, data, numbers, and tensors
// computed from others. A graph is only a graph: shapes are inferred by
// core/shape, code is made by core/assign.
//
// A construction that fails makes an error node and nothing else: only what is
// built on it fails, with its message; the graph stays usable. Not thread-safe.
#ifndef OCANNL_CORE_TENSOR_GRAPH_H_
#define OCANNL_CORE_TENSOR_GRAPH_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/id.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/einsum.h"
#include "ocannl/core/tensor/memory_mode.h"
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
};

// A leaf that training changes; `init`, if any, computes its first value.
struct ParamSource {
  std::optional<TensorId> init;
};

// Cell i, in memory order, holds i. What the node's spec leaves open of the
// shape, and axes of size 0 in it, come from the use.
struct OffsetsSource {};

// The value of a static index.
struct SymbolSource {
  int32_t static_index;
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

struct OpDefinition;  // defined_op.h

// That a sum of the cells of operand 1 where operand 0 is true selects them by
// `ids`: operand 0 has the axes of `ids` and one output axis more, and is true
// where that is the id. Operand 1 has that axis, so that one cell of it is the
// sum, or, if the sum `scatters`, the result has it.
struct GatherNote {
  TensorId ids;
  bool scatters;
};

// accum over the reduced axes of op(operands...).
struct ComputeSource {
  enum Logic : uint8_t {
    kPointwise,  // "."  axes pair up from both ends of each row, broadcasting
    kCompose,  // "@"  input axes of the first pair with output axes of the 2nd
    kEinsum,   // as `spec` says
  };
  // None: the operand itself, one at a time. kMul: the product of 2 or more.
  std::optional<Op> op;
  std::optional<Op> accum;  // over reduced axes: kAdd, kMax or kMin
  Logic logic;
  std::optional<EinsumSpec> spec;  // of kEinsum
  std::vector<TensorId> operands;
  bool stretches = false;  // the result is as large as its uses want
  std::shared_ptr<const OpDefinition> defined = nullptr;  // in the place of op
  std::optional<GatherNote> gathers = std::nullopt;
  // An axis of operand and result: cell i is the sum of the cells 0 to i.
  std::optional<std::string> runs_along = std::nullopt;

  bool has_op() const { return op || defined != nullptr; }
};

// A construction that failed.
struct ErrorSource {
  absl::Status status;
};

using TensorSource =
    std::variant<NumberSource, DataSource, ParamSource, OffsetsSource,
                 SymbolSource, DimSource, SliceSource, ReshapeSource,
                 ComputeSource, ErrorSource>;

// What is wrong with nodes that one call of a function makes is told of it.
struct CallNote {
  std::string text;  // "CrossEntropy(logits, targets)"
  std::vector<TensorId> args;
  SourceLocation where;
};

struct TensorNode {
  TensorSource source;
  std::string name;  // unique in the graph: "w1", "n35", "n39_relu"
  std::string text;  // how an error message writes it: "w1 * x"
  DType dtype;
  ShapeSpec spec;
  bool has_gradient;  // a parameter, or computed from one
  SourceLocation where;
  bool named = false;                                  // the name is the user's
  std::optional<MemoryRequest> memory = std::nullopt;  // none: undecided
  std::shared_ptr<const CallNote> call = nullptr;      // that it is a part of
};

// A name in the spec of the einsum `node`: an axis "i", or a row variable
// "..v..".
struct SpecName {
  TensorId node;
  std::string name;

  bool is_row() const { return name[0] == '.'; }
  friend auto operator<=>(const SpecName&, const SpecName&) = default;
};

// What `name` stands for has as many cells as it is said, or as another has; of
// two rows, axis by axis. Of a row and an axis, the row is `name`.
struct SizeRule {
  SpecName name;
  std::variant<int64_t, Dims, SpecName> is;  // Dims: the axes of a row
  int64_t factor = 1;                        // of two axes: times the other
  bool at_least = false;                     // or more, of a number
};

// An integer argument of routines, with values in [0, range).
struct StaticSymbol {
  std::string name;
  std::optional<int64_t> range;
};

class Graph {
 public:
  // Adds a node. An empty name becomes n<id>[_<op>]; a taken one gets a number.
  // A leaf asks for its memory mode itself. CHECKs that operands are nodes.
  TensorId Add(TensorNode node);
  // That nodes are parts of `call` from now on, null is none; returns the one
  // so far. Its place is theirs: SetPlace, which Add does first.
  std::shared_ptr<const CallNote> SetCall(std::shared_ptr<const CallNote> call);
  void SetPlace(TensorNode& node) const;
  int32_t AddStatic(std::string name, std::optional<int64_t> range);

  const TensorNode& operator[](TensorId id) const { return nodes_[id.index]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const std::vector<StaticSymbol>& statics() const { return statics_; }
  std::optional<TensorId> Find(absl::string_view name) const;

  void Rename(TensorId id, std::string name);
  void SetText(TensorId id, std::string text);  // for error messages
  // Error: the request contradicts an earlier one.
  absl::Status SetMemoryMode(TensorId id, const MemoryRequest& request);
  // CHECK-fails if the node is no such sum.
  void SetGathers(TensorId id, GatherNote note);
  void SetRunsAlong(TensorId id, std::string axis);
  // What computes the first value of a parameter; it may mention its sizes,
  // which is why it comes after it.
  void SetInit(TensorId parameter, TensorId init);

  // CHECK-fails if the nodes are no einsums.
  void AddSizeRule(SizeRule rule);
  const std::vector<SizeRule>& size_rules() const { return size_rules_; }

  // How much the graph holds, and back to that: what was added since is gone.
  // Nothing that was there may have been renamed or given a first value since.
  struct Mark {
    int32_t nodes;
    size_t statics, size_rules;
    uint32_t randoms;
  };
  Mark mark() const;
  void RollBack(const Mark& mark);

  // The seed of everything random, 42 at first, and how many random
  // operations there are: the k-th of them, from 1, has its own key.
  uint32_t seed() const { return seed_; }
  void set_seed(uint32_t seed) { seed_ = seed; }
  uint32_t NextRandom() { return ++randoms_; }

 private:
  std::string NewName(const std::string& base);
  void Release(const std::string& name);

  std::deque<TensorNode> nodes_;
  absl::flat_hash_map<std::string, TensorId> ids_;
  // Of a name: the numbers from 2 to this one are taken behind it.
  absl::flat_hash_map<std::string, int> numbered_;
  std::vector<StaticSymbol> statics_;
  std::vector<SizeRule> size_rules_;
  uint32_t seed_ = 42;
  uint32_t randoms_ = 0;
  std::shared_ptr<const CallNote> call_;
};

// "`w1 * x` (mlp.cc:42)", "`exp(x)` in `Softmax("i => 0", x)` (mlp.cc:7)"
std::string Describe(const TensorNode& node);

// The tensors that `source` reads, in order; a parameter reads none.
std::vector<TensorId> OperandsOf(const TensorSource& source);

// Every node that `roots` depend on and the roots, operands first. With
// `through_init`, also what initialises the parameters among them.
std::vector<TensorId> TopologicalOrder(const Graph& graph,
                                       absl::Span<const TensorId> roots,
                                       bool through_init);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_GRAPH_H_
