// SPDX-License-Identifier: Apache-2.0
//
// Names of OCANNL's training library that this engine does not use itself:
// docs/source_map.md lists them, and those in the files beside this one.
//
//   OCANNL_ASSIGN_OR_RETURN(
//       Updaten updaten,
//       MakeUpdaten(model, loss, {.setup_for_parallel = true}));
#ifndef OCANNL_TRAIN_COMPAT_OCANNL_NAMES_H_
#define OCANNL_TRAIN_COMPAT_OCANNL_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// A loss with what it takes to train it.
struct Updaten {
  Tensor loss;
  std::string label;           // of the loss
  std::vector<Tensor> params;  // Parameters(model, loss)
  Assignments fwd_bprop;       // of GradUpdate
};
struct UpdatenOptions {
  bool disable_rootness_check = false;  // WithoutRootnessCheck
  bool setup_for_parallel = false;      // GradOptions::keep_gradients
};
// Errors: those of GradUpdate.
absl::StatusOr<Updaten> MakeUpdaten(Model& model, Tensor loss,
                                    const UpdatenOptions& options = {});

// The code that `make` returns, such as that of Forward, as if no code had been
// made from the model before: it computes again what other code computes. The
// model is as before then, so that the tensors are still roots.
//
//   auto again = WithoutRootnessCheck(model,
//                                     [&] { return Forward(model, t); });
template <class Make>
auto WithoutRootnessCheck(Model& model, Make make) {
  ComputedBy before = std::exchange(model.computed_by, {});
  auto code = make();
  model.computed_by = std::move(before);
  return code;
}

// Whether training does not change the tensor for sure: it is not a parameter,
// has no gradient, is frozen (SetFrozen), or its memory mode keeps no value.
bool KnownNotParam(const Model& model, Tensor t);

// Whether the tensor is a parameter that training changes.
inline bool IsParam(const Model& model, Tensor t) {
  return !KnownNotParam(model, t);
}

// Calls `dry_sync` as RoundRobin (parallel/round_robin.h) of `n_workers` with
// these static indices would call `sync`, and with the same values of the
// indices, without any other work. Errors: that of `dry_sync`, at which it
// stops; `n_workers` is below 1.
absl::Status RoundRobinDryRun(absl::Span<const StaticRef> statics,
                              int n_workers,
                              absl::FunctionRef<absl::Status(int n)> dry_sync);

// Asks that every tensor which `t` depends on, but for numbers and data, be
// materialized, unless something was asked for already. Errors: those of
// CheckIsIn.
absl::Status EveryNonLiteralMaterialized(Model& model, Tensor t);

// Writes the data of every tensor of Data() that `t` depends on, as it was
// given, to the arrays of `context`. Errors: those of CheckIsIn; shapes that do
// not fit; those of Context::Write.
absl::Status AllHostToDevice(Model& model, Tensor t, const Context& context);

// The values of all tensors that `t` depends on, and of their gradients, which
// `context` has, by name. Errors: those of CheckIsIn and of Context::Read.
absl::StatusOr<absl::btree_map<std::string, NdArray>> AllDeviceToHost(
    const Model& model, Tensor t, const Context& context);

// The arrays that a context must have been given before `code` may run: what it
// reads first and does not bring along. Sorted.
std::vector<std::string> NeedsPriorContext(const Assignments& code);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_OCANNL_NAMES_H_
