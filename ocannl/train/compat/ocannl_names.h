// SPDX-License-Identifier: Apache-2.0
//
// Names of OCANNL's training library that this engine does not use itself:
// docs/source_map.md lists them.
#ifndef OCANNL_TRAIN_COMPAT_OCANNL_NAMES_H_
#define OCANNL_TRAIN_COMPAT_OCANNL_NAMES_H_

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
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
absl::StatusOr<Updaten> MakeUpdaten(Model& model, Tensor loss,
                                    const GradOptions& options = {});

// Whether the tensor is a parameter that training changes: one with a gradient.
bool IsParam(Tensor t);

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
