// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/replicas.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/code.h"

namespace ocannl::train {

std::vector<MergePair> ParallelMerge(int n) {
  std::vector<MergePair> pairs;
  while (n > 1) {
    const int half = n / 2;
    const int first = n % 2;  // the odd one out is in the next round
    for (int to = first; to < first + half; ++to) {
      pairs.push_back({.from = to + half, .to = to});
    }
    n = first + half;
  }
  return pairs;
}

absl::StatusOr<Replicas> Replicas::Make(Model& model,
                                        absl::Span<const Tensor> parameters,
                                        absl::Span<const Tensor> trained,
                                        std::vector<Context> contexts,
                                        std::optional<Tensor> loss) {
  Replicas made;
  for (Tensor p : parameters) made.parameters_.push_back(p.node().name);
  // Compiled once for all that others are merged into.
  std::vector<int> targets;
  std::vector<Context> merging;
  for (MergePair pair : ParallelMerge(static_cast<int>(contexts.size()))) {
    if (absl::c_linear_search(targets, pair.to)) continue;
    targets.push_back(pair.to);
    merging.push_back(contexts[pair.to]);
  }
  for (Context& context : contexts) {
    made.replicas_.push_back({std::move(context), {}});
  }
  auto link = [&](Tensor of, absl::string_view suffix) -> absl::Status {
    const std::string array = absl::StrCat(of.node().name, suffix);
    OCANNL_ASSIGN_OR_RETURN(
        UpdateCode code,
        ParseCode(model,
                  absl::StrCat("x", suffix, " =+ x", suffix, kMergeSuffix),
                  {.tensors = {{"x", of}}}));
    code.update.name = absl::StrCat("merge_", array);
    OCANNL_RETURN_IF_ERROR(Keep(code.update, array));
    OCANNL_ASSIGN_OR_RETURN(std::vector<Routine> routines,
                            ToRoutines(merging, code.update, {}));
    for (size_t k = 0; k < targets.size(); ++k) {
      made.replicas_[targets[k]].merges.emplace_back(array,
                                                     std::move(routines[k]));
    }
    return absl::OkStatus();
  };
  for (Tensor p : trained) OCANNL_RETURN_IF_ERROR(link(p, ".grad"));
  if (loss) OCANNL_RETURN_IF_ERROR(link(*loss, ""));
  return made;
}

absl::Status Replicas::MergeGradients(int n) {
  CHECK(n <= static_cast<int>(replicas_.size())) << n;
  for (const auto& [from, to] : ParallelMerge(n)) {
    const Context& source = replicas_[from].context;
    Replica& replica = replicas_[to];
    const bool copies = copies_ || !replica.context.SharesMemoryWith(source);
    for (auto& [array, routine] : replica.merges) {
      OCANNL_RETURN_IF_ERROR(copies
                                 ? replica.context.CopyToMerge(array, source)
                                 : replica.context.PointMerge(array, source));
      OCANNL_RETURN_IF_ERROR(routine.Run());
    }
    replica.context.ReleaseMerge();
  }
  return absl::OkStatus();
}

absl::Status Replicas::ShareParameters() {
  for (size_t k = 1; k < replicas_.size(); ++k) {
    for (const std::string& name : parameters_) {
      OCANNL_RETURN_IF_ERROR(
          replicas_[k].context.Copy(name, replicas_[0].context));
    }
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
