// SPDX-License-Identifier: Apache-2.0
//
// Tape: the operations of a step in the order in which they came, a Wengert
// list, and the graph that they make.
#ifndef OCANNL_TRAIN_EAGER_TAPE_H_
#define OCANNL_TRAIN_EAGER_TAPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/eager/op_call.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// What is not computed. Only its dtype and shape, or range, are of the code.
struct LeafValue {
  std::shared_ptr<const NdArray> array;  // null: a parameter, or an index
  int64_t index = 0;
  std::string name;  // of a parameter
};

// What of a leaf is a part of the code.
struct LeafType {
  // Of a parameter its place in the list, else how many parameters and inputs
  // the step has; 0 of constants.
  int64_t number = 0;
  bool requires_grad = false;  // of a parameter
  int64_t range = 0;           // of an index
  DType dtype = DType::kF32;
  Dims dims = {};

  friend bool operator==(const LeafType&, const LeafType&) = default;
};
extern const Operation kParam, kInput, kIndex, kConst;

inline bool IsLeaf(const OpCall& call) { return call.op->build == nullptr; }
// What a step is given: no constant.
inline bool IsArg(const OpCall& call) {
  return IsLeaf(call) && call.op != &kConst;
}
inline const LeafType& TypeOf(const OpCall& leaf) {
  return *static_cast<const LeafType*>(leaf.args.get());
}

class Tape {
 public:
  // `number` is for names of arrays: no other tape of the session has it.
  Tape(uint32_t seed, int number);

  // Adds a call, whose operands are there. Errors, with nothing changed: what
  // does not fit, by the name and place of the call.
  absl::Status Append(const OpCall& call, LeafValue leaf);

  const std::vector<OpCall>& calls() const { return calls_; }
  const std::vector<Signature>& signatures() const { return signatures_; }
  LeafValue& leaf(uint32_t slot) { return leaves_[slot]; }
  const LeafValue& leaf(uint32_t slot) const { return leaves_[slot]; }
  Tensor tensor(uint32_t slot) { return {&model_.graph, ids_[slot]}; }
  const Dims& dims(uint32_t slot) const { return dims_[slot]; }
  DType dtype(uint32_t slot) const { return model_.graph[ids_[slot]].dtype; }
  // Whether the tensor is that of no earlier call, and no leaf.
  bool IsComputed(uint32_t slot) const { return computed_[slot]; }
  // The parameters that the call made.
  absl::Span<const TensorId> made(uint32_t slot) const;
  // How many parameters the calls begin with, and how many args: these, and the
  // inputs and indices after them.
  size_t num_params() const { return num_params_; }
  size_t num_args() const { return num_args_; }

  Model& model() { return model_; }
  int number() const { return number_; }
  // The static index of the step, and what its blocks keep.
  int32_t step() const { return training_.step; }
  const std::vector<StateUpdate>& updates() const { return training_.updates; }

  // For Recorder: the last step that used it, and whether steps may differ.
  uint64_t last_step() const { return last_step_; }
  void set_last_step(uint64_t step) { last_step_ = step; }
  bool is_fixed() const { return is_fixed_; }
  void set_fixed() { is_fixed_ = true; }

  // The array of a leaf that is no parameter.
  std::string DataName(uint32_t slot) const;
  // The static indices of a leaf, and of the step.
  static std::string IndexName(uint32_t slot);
  static constexpr char kStep[] = "step";

  // The same calls in a graph of their own, up to `slot`.
  absl::StatusOr<std::unique_ptr<Tape>> CopyUpTo(uint32_t slot) const;

  // "%3 = Relu(%2) : f32 {4,2}    # mlp.cc:7", a line for each call.
  std::string Text() const;

 private:
  absl::StatusOr<Tensor> Make(const OpCall& call, const LeafValue& leaf);
  absl::StatusOr<Tensor> MakeLeaf(const OpCall& call, const LeafValue& leaf);
  // Infers the shapes of what a call made. Errors: they do not fit; a parameter
  // from number `begin` on has a name that another one has.
  absl::Status Infer(Tensor made, size_t begin);

  Model model_;
  int number_;
  Training training_;
  std::vector<OpCall> calls_;
  std::vector<Signature> signatures_;  // SignatureOf each
  std::vector<LeafValue> leaves_;      // of all calls
  std::vector<TensorId> ids_;
  std::vector<Dims> dims_;
  std::vector<bool> computed_;
  std::vector<size_t> num_made_;  // parameters of the graph after each call
  absl::flat_hash_set<TensorId> seen_;
  size_t num_params_ = 0;
  size_t num_args_ = 0;
  uint64_t last_step_ = 0;
  bool is_fixed_ = false;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_TAPE_H_
