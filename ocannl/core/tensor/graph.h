// SPDX-License-Identifier: Apache-2.0
//
// Graph: what the user wrote, as nodes: parameters, data, numbers, and tensors
// computed from others. A graph is only a graph: shapes are inferred by
// core/shape, code is made by core/assign.
//
// A construction that fails makes an error node, and only what is built on it
// fails, with its message. Not thread-safe.
#ifndef OCANNL_CORE_TENSOR_GRAPH_H_
#define OCANNL_CORE_TENSOR_GRAPH_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/containers/stable_vector.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/source.h"

namespace ocannl {

// What is wrong with nodes that one call of a function makes is told of it.
struct CallNote {
  std::string text;  // "CrossEntropy(logits, targets)"
  std::vector<TensorId> args;
  SourceLocation where;
};

// Why a node whose dtype was open has the one that it has.
struct DTypeNote {
  TensorId of;           // met it, and has that dtype; none: by default
  SourceLocation where;  // they met
  std::shared_ptr<const NdArray> data = nullptr;  // as it was before
};

// In the place of the number of an open dtype.
inline constexpr int32_t kDecided = -1;
inline constexpr int32_t kFree = -2;  // of a number that has met nothing

struct TensorNode {
  TensorSource source;
  std::string name;  // unique in the graph: "w1", "n35", "n39_relu"
  std::string text;  // how an error message writes it: "w1 * x"
  DType dtype;
  bool named = false;       // the name is the user's
  bool has_gradient;        // a parameter, or computed from one
  int32_t open = kDecided;  // `dtype` may change with all that have this number
  Boxed<ShapeSpec> spec = {};
  SourceLocation where;
  AskedMemory memory = {};                         // none: undecided
  std::shared_ptr<const CallNote> call = nullptr;  // that it is a part of
  std::shared_ptr<const DTypeNote> dtype_note = nullptr;  // if it was open
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
  Graph();
  Graph(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(const Graph&);
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  // Adds a node. An empty name becomes n<id>[_<op>]; a taken one gets a number.
  // A leaf asks for its memory mode itself. CHECKs that operands are nodes.
  TensorId Add(TensorNode node);
  // That nodes are parts of `call` from now on, null is none; returns the one
  // so far. Its place is theirs: SetPlace, which Add does first.
  std::shared_ptr<const CallNote> SetCall(std::shared_ptr<const CallNote> call);
  void SetPlace(TensorNode& node) const;
  int32_t AddStatic(std::string name, std::optional<int64_t> range);
  // The static index that is the number of the training's step: the first with
  // the name "step" or "step_n". Noise depends on it (initializer.h).
  std::optional<int32_t> Step() const;
  const TensorNode& operator[](TensorId id) const { return nodes_[id.index]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const std::vector<StaticSymbol>& statics() const { return statics_; }
  std::optional<TensorId> Find(absl::string_view name) const;
  void Rename(TensorId id, std::string name);
  // `base`, or if that is taken, it with a number behind it: a name that
  // nothing else gets from here on, for an array that code declares.
  std::string Reserve(const std::string& base);
  void SetText(TensorId id, std::string text);  // for error messages
  // Error: the request contradicts an earlier one.
  absl::Status SetMemoryMode(TensorId id, const MemoryRequest& request);
  // The einsum, a sum of selected cells, gathers by `ids`, or scatters; the one
  // that copies its operand sums along `axis`. An error stays one;
  // CHECK-fails for any other node.
  void SetGather(TensorId id, TensorId ids, bool scatters);
  void SetScan(TensorId id, std::string axis);
  // In the order in which Param (leaf.h) made them, each under its text.
  const std::vector<TensorId>& parameters() const { return parameters_; }
  void AddParameter(TensorId id) { parameters_.push_back(id); }
  // Until EndReuse, Param gives those from number `begin` to `end`, one after
  // the other, in the place of new ones.
  void ReuseParameters(size_t begin, size_t end);
  void EndReuse() { reuse_.reset(); }
  bool reuses_parameters() const { return reuse_.has_value(); }
  std::optional<TensorId> NextReused();  // nullopt: all were given
  // What computes the first value of a parameter; it may mention its sizes,
  // which is why it comes after it.
  void SetInit(TensorId parameter, TensorId init);
  // First values that later parameters share, and that of `parameter` if it is
  // made later: then its nodes have the names and the random numbers that they
  // would have had at once.
  const std::vector<SharedInit>& shared_inits() const { return shared_inits_; }
  void AddSharedInit(SharedInit shared) {
    shared_inits_.push_back(std::move(shared));
  }
  void SetLaterInit(TensorId parameter, int32_t shared);
  void MakeInit(TensorId parameter);  // its nodes, if they are still to be made

  void AddSizeRule(SizeRule rule);  // CHECKs that the nodes are einsums
  const std::vector<SizeRule>& size_rules() const { return size_rules_; }
  // Which of them name the node, in order.
  absl::Span<const size_t> SizeRulesOf(TensorId id) const;

  // The dtypes that are open (open_dtype.h). What nothing decides is of the
  // default, f32 at first; CHECK-fails if that is no float.
  DType default_dtype() const { return default_dtype_; }
  void set_default_dtype(DType dtype);
  bool IsOpen(TensorId id) const { return nodes_[id.index].open >= 0; }
  // The dtype of the node, a float, is open from now on, and the default.
  void Open(TensorId id);
  // Now `id`, open or free, is of one dtype with `with`, which is open.
  void Unite(TensorId id, TensorId with);
  // Decides an open dtype or a free one, and what a literal with it holds.
  void Decide(TensorId id, DType dtype, DTypeNote note);
  bool has_open() const { return !open_.empty(); }

  struct OpenDType {
    DType dtype;  // so far
    std::vector<TensorId> nodes;
  };

  // How much the graph holds, and back to that: what was added since is gone,
  // and dtypes that were decided since are open again. Nothing that was there
  // may have been renamed or given a first value since.
  struct Mark {
    int32_t nodes, numbers;
    size_t statics, size_rules;
    uint32_t randoms;
    absl::flat_hash_map<int32_t, OpenDType> open = {};
    size_t reused = 0;  // of the parameters that are given again
  };
  Mark mark() const;
  void RollBack(const Mark& mark);

  // The seed of everything random, 42 at first, and how many random
  // operations there are: the k-th of them, from 1, has its own key.
  uint32_t seed() const { return seed_; }
  void set_seed(uint32_t seed) { seed_ = seed; }
  uint32_t NextRandom() { return ++randoms_; }
  uint32_t randoms() const { return randoms_; }
  void set_randoms(uint32_t randoms) { randoms_ = randoms; }

 private:
  absl::string_view NameOf(int32_t id) const { return nodes_[id].name; }
  void TakeName(TensorId id);  // that the node has
  std::string NewName(const std::string& base);
  void Release(const std::string& name);

  StableVector<TensorNode> nodes_;
  int32_t numbers_ = 0;  // of nodes, those that are made later too
  NameTable ids_;
  absl::flat_hash_set<std::string> reserved_;
  // Of a name: the numbers from 2 to this one are taken behind it.
  absl::flat_hash_map<std::string, int> numbered_;
  std::vector<StaticSymbol> statics_;
  std::vector<SizeRule> size_rules_;
  absl::flat_hash_map<TensorId, std::vector<size_t>> size_rules_of_;
  uint32_t seed_ = 42;
  uint32_t randoms_ = 0;
  std::vector<TensorId> parameters_;
  std::vector<SharedInit> shared_inits_;
  std::vector<TensorId> made_inits_;  // by MakeInit, in order
  struct Reuse {
    size_t next, end;
  };
  std::optional<Reuse> reuse_;
  std::shared_ptr<const CallNote> call_;
  DType default_dtype_ = DType::kF32;
  absl::flat_hash_map<int32_t, OpenDType> open_;  // by TensorNode::open
  int32_t opened_ = 0;
};

// "`w1 * x` (mlp.cc:42)", "`exp(x)` in `Softmax("i => 0", x)` (mlp.cc:7)"
std::string Describe(const TensorNode& node);

// Whether the node is a number, whatever its value comes from: its dtype
// follows the tensors beside it, and it is as large as its uses want.
bool IsNumberLike(const TensorSource& source);

// Every node that `roots` depend on and the roots, operands first. With
// `through_init`, also what initialises the parameters among them.
std::vector<TensorId> TopologicalOrder(const Graph& graph,
                                       absl::Span<const TensorId> roots,
                                       bool through_init);

// The same, but for what only nodes that it `stops_at` depend on.
std::vector<TensorId> TopologicalOrder(
    const Graph& graph, absl::Span<const TensorId> roots, bool through_init,
    absl::FunctionRef<bool(TensorId)> stops_at);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_GRAPH_H_
