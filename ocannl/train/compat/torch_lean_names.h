// SPDX-License-Identifier: Apache-2.0
//
// Names of TorchLean's trainer that this engine does not use itself.
//
// Some are of operations that have other names in Ops (ocannl/train/eager/
// ops.h), or several names for one of them: GatherRow(ops, x, 2) is
// ops.Cell(x, 2). The others are short ways to use a ScalarTrainer:
//
//   OCANNL_RETURN_IF_ERROR(AdamStep(trainer, 1e-3, {}, {x, y}));
//   OCANNL_RETURN_IF_ERROR(TrainCycle(
//       trainer, 100, 0.1, data, [](int64_t step, double loss) {
//         std::cout << step << " " << loss << "\n";
//       }));
#ifndef OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_
#define OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/train/eager/ops.h"
#include "ocannl/train/eager/param_list.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl::train {

inline Ref GatherScalar(Ops& ops, Ref vector, int64_t index,
                        SourceLocation at = SourceLocation::Current()) {
  return ops.Cell(vector, index, at);
}
inline Ref GatherRow(Ops& ops, Ref matrix, int64_t index,
                     SourceLocation at = SourceLocation::Current()) {
  return ops.Cell(matrix, index, at);
}
inline Ref GatherScalarNat(Ops& ops, Ref x, Ref index,
                           SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, index, at);
}
inline Ref GatherVecNat(Ops& ops, Ref x, Ref indices,
                        SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, indices, at);
}
inline Ref GatherRowsNat(Ops& ops, Ref x, Ref indices,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.Gather(x, indices, at);
}
inline Ref ScatterAddVec(Ops& ops, Ref x, Ref index, Ref value,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ScatterAdd(x, index, value, at);
}
inline Ref ScatterAddRow(Ops& ops, Ref x, Ref index, Ref row,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ScatterAdd(x, index, row, at);
}
inline Ref TokenIdsFromFloatVec(Ops& ops, Ref x,
                                SourceLocation at = SourceLocation::Current()) {
  return ops.TokenIds(x, at);
}
inline Ref ConcatVectors(Ops& ops, Ref a, Ref b,
                         SourceLocation at = SourceLocation::Current()) {
  return ops.ConcatLeadingAxis({a, b}, at);
}
inline Ref Transpose3dFirstToLast(
    Ops& ops, Ref x, SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {1, 2, 0}, at);
}
inline Ref Transpose3dLastToFirst(
    Ops& ops, Ref x, SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {2, 0, 1}, at);
}
inline Ref Transpose3dLastTwo(Ops& ops, Ref x,
                              SourceLocation at = SourceLocation::Current()) {
  return ops.Permute(x, {0, 2, 1}, at);
}

// One step of Adam or AdamW (ocannl/train/optim/rules.h), which is the rule of
// the trainer from then on. Errors: those of set_rule and Step.
absl::Status AdamStep(ScalarTrainer& trainer, double rate,
                      const AdamOptions& options, Inputs inputs);
absl::Status AdamWStep(ScalarTrainer& trainer, double rate,
                       const AdamWOptions& options, Inputs inputs);

// A step for each of `data` in turn, `steps` in all, with a rate or that of the
// trainer's schedule. Calls `log` after each with the loss that the step began
// with. Errors: no data; those of Step.
absl::Status TrainCycle(ScalarTrainer& trainer, int64_t steps,
                        std::optional<double> rate,
                        absl::Span<const std::vector<TrainerInput>> data,
                        absl::FunctionRef<void(int64_t step, double loss)> log);

// The mean of the loss over `data`. Errors: no data; those of Forward.
absl::StatusOr<double> MeanLoss(
    ScalarTrainer& trainer, absl::Span<const std::vector<TrainerInput>> data);

// p - rate * g, rounded once, of each cell of the parameters that require a
// gradient: on the host, with the bits of ScalarTrainer::Step and Sgd(), whose
// rate is an f32. Errors, with nothing changed: gradients of other shapes or
// dtypes than the parameters, or not as many; a rate that is negative or not
// finite.
absl::Status SgdStep(const ParamList& params, double rate,
                     absl::Span<const NdArray> gradients);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_COMPAT_TORCH_LEAN_NAMES_H_
