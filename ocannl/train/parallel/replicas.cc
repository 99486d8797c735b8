// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/replicas.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
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

absl::StatusOr<Replicas::Merges> Replicas::LinkMerges(
    Model& model, absl::Span<const Tensor> tensors, absl::string_view suffix,
    absl::string_view text, const Context& context) {
  Merges merges;
  for (Tensor p : tensors) {
    std::string array = absl::StrCat(p.node().name, suffix);
    Names names;
    names.tensors.emplace("p", p);
    OCANNL_ASSIGN_OR_RETURN(UpdateCode code, ParseCode(model, text, names));
    code.update.name = absl::StrCat("merge_", array);
    OCANNL_RETURN_IF_ERROR(Keep(code.update, array));
    OCANNL_ASSIGN_OR_RETURN(Routine routine,
                            ToRoutine(context, code.update, {}));
    merges.emplace_back(std::move(array), std::move(routine));
  }
  return merges;
}

absl::StatusOr<Replicas> Replicas::Make(Model& model,
                                        absl::Span<const Tensor> parameters,
                                        absl::Span<const Tensor> trained,
                                        std::vector<Context> contexts) {
  Replicas made;
  for (Context& context : contexts) {
    made.replicas_.push_back({std::move(context), {}, {}});
    Replica& replica = made.replicas_.back();
    if (made.replicas_.size() == 1) continue;
    OCANNL_ASSIGN_OR_RETURN(
        replica.parameters,
        LinkMerges(model, parameters, "", "p =: p.merge", replica.context));
  }
  for (MergePair pair : ParallelMerge(static_cast<int>(contexts.size()))) {
    Replica& replica = made.replicas_[pair.to];
    if (!replica.gradients.empty()) continue;
    OCANNL_ASSIGN_OR_RETURN(
        replica.gradients,
        LinkMerges(model, trained, ".grad", "p.grad =+ p.grad.merge",
                   replica.context));
  }
  return made;
}

absl::Status Replicas::Merge(const Context& from, const Context& to,
                             Merges& merges) {
  for (auto& [array, routine] : merges) {
    OCANNL_RETURN_IF_ERROR(to.CopyToMerge(array, from));
    OCANNL_RETURN_IF_ERROR(routine.Run());
  }
  return absl::OkStatus();
}

absl::Status Replicas::MergeGradients(int n) {
  CHECK(n <= static_cast<int>(replicas_.size())) << n;
  for (const auto& [from, to] : ParallelMerge(n)) {
    Replica& replica = replicas_[to];
    OCANNL_RETURN_IF_ERROR(
        Merge(replicas_[from].context, replica.context, replica.gradients));
  }
  return absl::OkStatus();
}

absl::Status Replicas::ShareParameters() {
  for (Replica& replica : replicas_) {
    OCANNL_RETURN_IF_ERROR(
        Merge(replicas_[0].context, replica.context, replica.parameters));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
