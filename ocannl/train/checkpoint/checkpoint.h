// SPDX-License-Identifier: Apache-2.0
//
// Parameters, and all else that training needs to go on, in files.
//
//   OCANNL_ASSIGN_OR_RETURN(auto params, train::ParamArrays(model, loss));
//   OCANNL_RETURN_IF_ERROR(train::SaveParams("m.npz", params, context));
//
//   OCANNL_ASSIGN_OR_RETURN(
//       auto state,   // of Routine step, with frozen parameters
//       train::StateArrays(model, loss, {&step.program()}));
//   OCANNL_RETURN_IF_ERROR(train::RestoreParams("m.npz", state, context));
//
// Of what others saved, all or some, under names of their own, in PyTorch's
// layout (torch_layout.h) and as another float:
//
//   OCANNL_RETURN_IF_ERROR(train::RestoreParams(
//       "torch.safetensors", model, logits, context,
//       {.names = {{"fc_w", "fc.weight"}},
//        .allow_extra = true,
//        .convert = true,
//        .layout = train::FileLayout::kPyTorch}));
//
// The name's end is the format: .npz, which NumPy reads (npz.h), or
// .safetensors (safetensors.h). What comes back are the bits that were saved,
// of any dtype; steps go on as if training had never stopped. Static indices,
// as the number of the step, are the caller's: an array can hold them too.
// Arrays have no padding: what a convolution reads outside is in no file.
//
// No file can crash the reader, or make it take memory out of proportion to its
// size and that of the arrays that are asked for.
#ifndef OCANNL_TRAIN_CHECKPOINT_CHECKPOINT_H_
#define OCANNL_TRAIN_CHECKPOINT_CHECKPOINT_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/checkpoint/array_match.h"
#include "ocannl/train/checkpoint/saved_arrays.h"
#include "ocannl/train/data/data_limit.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// The arrays of AllParameters(model, t). Errors: those of CheckIsIn; shapes
// that do not fit.
absl::StatusOr<std::vector<Array>> ParamArrays(Model& model, Tensor t);

// The arrays that one run of `programs`, in order, leaves for the next run,
// which reads them before it writes them. Examples are the parameters and
// momenta of a step of SGD. Sorted by name. Frozen parameters are not among
// them, so load such a file only beside the same frozen ones.
std::vector<Array> StateArrays(absl::Span<const LoopProgram* const> programs);

// The same and ParamArrays(model, t): frozen parameters, which the programs
// only read, are among them. Errors: those of ParamArrays.
absl::StatusOr<std::vector<Array>> StateArrays(
    Model& model, Tensor t, absl::Span<const LoopProgram* const> programs);

// Whether SaveParams has a place to write to, better known before the training.
// Errors: the name's end is no format; the folder is not there, or may not be
// written to; what is at `path` is no ordinary file.
absl::Status CheckSavable(const std::string& path);

// Replaces the file by one with the values that `arrays` have in the context.
// The file is whole at any time, the old or the new one. The old one stays as
// well, as m.previous.npz; other files of earlier, killed saves are removed.
// Errors: those of CheckSavable and of the system; no arrays; two of one name;
// a name that is not of printable ASCII; an array that was never written or
// differs.
absl::Status SaveParams(const std::string& path, absl::Span<const Array> arrays,
                        const Context& context);

struct RestoreOptions {
  // What arrays are called in the file, where that is not their own name.
  std::map<std::string, std::string> names = {};
  bool allow_missing = false;  // the file may lack some; they stay as they are
  bool allow_extra = false;    // the file may have others, which are not read
  bool convert = false;        // floats of another dtype are converted, once
  FileLayout layout = FileLayout::kUnnamed;
  // What arrays that `names` does not name are called; none: as here.
  // PyTorchNames (torch_names.h) makes such a function of rules.
  std::function<std::string(absl::string_view name)> rename = nullptr;
};

// Writes the values of the file to the context, where the arrays need not
// exist: all of them, or none on an error. The file must have the values of
// `arrays` and no others, unless the options allow it. Errors: as of
// SaveParams; a damaged file; a name for an array that is not in `arrays`. One
// error names all arrays that are missing or extra, or have another precision,
// shape or layout. Layout kPyTorch needs the model.
absl::Status RestoreParams(const std::string& path,
                           absl::Span<const Array> arrays,
                           const Context& context,
                           const RestoreOptions& options = {});

// The same for ParamArrays(model, t), whose uses say how PyTorch stores them.
// Errors: those of both.
absl::Status RestoreParams(const std::string& path, Model& model, Tensor t,
                           const Context& context,
                           const RestoreOptions& options = {});

// The same for these parameters, whose shapes must be inferred.
absl::Status RestoreParams(const std::string& path, const Model& model,
                           absl::Span<const Tensor> parameters,
                           const Context& context,
                           const RestoreOptions& options = {});

// What RestoreParams would make of each parameter, in order, and after them of
// the other arrays of the file: as ToString says, "`fc_w` is `fc.weight`:
// f16[2, 3], converted to f32". Reads no values. Errors: those of ParamArrays;
// a damaged file; a name for none of the parameters.
absl::StatusOr<std::vector<ArrayMatch>> MatchParams(
    const std::string& path, Model& model, Tensor t,
    const RestoreOptions& options = {});

// Names, dtypes and dims of what is in the file. Errors: as of RestoreParams.
absl::StatusOr<std::vector<ArrayEntry>> ListArrays(const std::string& path);

// Arrays of the file, which may have others, as the host's: data to train on.
// Errors: as of RestoreParams; one of a dtype that we do not have; arrays that
// exceed the limit.
absl::StatusOr<std::vector<NdArray>> LoadArrays(
    const std::string& path, absl::Span<const std::string> names,
    const DataLimit& limit = {});

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_CHECKPOINT_H_
