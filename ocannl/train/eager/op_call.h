// SPDX-License-Identifier: Apache-2.0
//
// An operation of a step as it is recorded: which function was called, with
// which tensors and which other arguments.
#ifndef OCANNL_TRAIN_EAGER_OP_CALL_H_
#define OCANNL_TRAIN_EAGER_OP_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

// A step has at most 2^18 operations.
inline constexpr int kSlotBits = 18;

// A tensor of one step of one session. Another step's is an error: no two steps
// of a process have the same epoch, which 2^46 steps, half a year, use up.
class Ref {
 public:
  Ref() = default;  // of no step
  Ref(uint64_t slot, uint64_t epoch) : bits_(epoch << kSlotBits | slot) {}

  uint32_t slot() const {  // which operation
    return static_cast<uint32_t>(bits_ & ((1 << kSlotBits) - 1));
  }
  uint64_t epoch() const { return bits_ >> kSlotBits; }

  // The slot if this is of the step `epoch`, else more than any slot.
  uint64_t SlotIn(uint64_t epoch) const { return bits_ ^ (epoch << kSlotBits); }

  friend bool operator==(Ref, Ref) = default;

 private:
  uint64_t bits_ = 0;
};

// A tensor with the axes that it has.
struct Shaped {
  Tensor tensor;
  Shape shape;
};

// A tensor whose axes are all output axes.
struct Operand {
  Tensor tensor;
  Dims dims;
};
Operand Flat(const Shaped& x);

// The static index that is the number of the step, which noise depends on.
struct StepIndex {
  int32_t index;
};

// Where a function of the graph is called.
struct Site {
  Graph& graph;
  StepIndex step;
  Training* training;  // null: inference
  SourceLocation where;
  absl::Span<const Shaped> operands;
};

// A function of the graph. Its address is its identity.
struct Operation {
  absl::string_view name;  // "Matmul"
  // Null: a leaf of the tape.
  absl::StatusOr<Tensor> (*build)(const Site& site, const void* args);
  bool (*same)(const void* args, const void* others);
  void (*print)(const void* args, std::string* out);
};

// One operation as it was recorded. Equal ones make equal code.
struct OpCall {
  const Operation* op;
  absl::InlinedVector<uint32_t, 3> operands;  // slots
  std::shared_ptr<const void> args;           // as the operation has them
  bool trains = false;                        // as the blocks in it do
  SourceLocation where = {};                  // for errors only
};

// A call without its arguments, in two words; no operation for more than 3
// operands.
struct Signature {
  const Operation* op = nullptr;
  uint64_t slots = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
};
Signature SignatureOf(const OpCall& call);

bool SameCall(const OpCall& a, const OpCall& b);

// "Relu(%2)", "Scale(%1; 0.5)".
std::string ToString(const OpCall& call);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_OP_CALL_H_
