// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/compat/merge_batch.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/graph/code.h"

namespace ocannl::train {
namespace {

// Whether a merge is to be made. Error: what is required is missing.
absl::StatusOr<bool> Occupied(Tensor t, const std::string& array,
                              const Context& context, size_t from,
                              const MergeBatchOptions& options) {
  const Occupancy occupancy =
      options.occupancy ? options.occupancy(t, from) : Occupancy::kRequired;
  if (occupancy == Occupancy::kSkip) return false;
  if (absl::c_linear_search(context.ArrayNames(), array)) return true;
  if (occupancy == Occupancy::kRequired) {
    return UserError("MergeBatch: context ", from, " does not have `", array,
                     "`; link the code that computes it there, or give ",
                     "Occupancy::kOptional or kSkip");
  }
  if (options.if_missing) options.if_missing(t, from);
  return false;
}

}  // namespace

absl::Status BatchMerge::Run() {
  if (!adds_) return to_.Copy(array_, from_);
  OCANNL_RETURN_IF_ERROR(to_.CopyToMerge(array_, from_));
  return adds_->Run();
}

absl::StatusOr<std::vector<std::vector<BatchMerge>>> MergeBatch(
    Model& model, absl::Span<const Tensor> tensors,
    absl::Span<const Context> from, const Context& to,
    const MergeBatchOptions& options) {
  const std::string suffix(options.gradients ? kGradientSuffix : "");
  std::vector<std::vector<BatchMerge>> merges(from.size());
  for (Tensor t : tensors) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
    const std::string array = absl::StrCat(t.node().name, suffix);
    std::optional<Assignments> code;
    if (options.adds) {
      OCANNL_ASSIGN_OR_RETURN(
          UpdateCode parsed,
          ParseCode(model,
                    absl::StrCat("x", suffix, " =+ x", suffix, kMergeSuffix),
                    {.tensors = {{"x", t}}}));
      code = std::move(parsed.update);
      OCANNL_RETURN_IF_ERROR(Keep(*code, array));
      code->name = absl::StrCat("merge_", array);
    }
    for (size_t k = 0; k < from.size(); ++k) {
      OCANNL_ASSIGN_OR_RETURN(const bool occupied,
                              Occupied(t, array, from[k], k, options));
      if (!occupied) continue;
      std::optional<Routine> adds;
      if (code) {
        OCANNL_ASSIGN_OR_RETURN(adds, ToRoutine(to, *code, {}));
      }
      merges[k].push_back(BatchMerge(array, from[k], to, std::move(adds)));
    }
  }
  return merges;
}

}  // namespace ocannl::train
