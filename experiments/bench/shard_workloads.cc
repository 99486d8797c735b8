// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/training.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"

namespace ocannl {
namespace {

using train::DataParallel;

constexpr int kShards = 2;

// Steps of one run: enough that waking a thread before the first of them does
// not count; a run of the interpreter takes half a second then. To measure:
// `bazel run //experiments:bench -- --filter=shards/ --peers=false`.
int64_t StepsOf(const Mlp& mlp) {
  return std::clamp<int64_t>(std::llround(2.5e8 / MlpFlops(mlp)), 1, 50);
}

NdArray Ramp(const Dims& dims) {
  NdArray array(DType::kF32, dims);
  absl::Span<float> values = array.values<float>();
  for (size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<float>(k % 13) / 16 - 0.375f;
  }
  return array;
}

// `steps` steps on the batch of `mlp` in two shards, by `threads` streams at
// once.
absl::StatusOr<Contender> ContenderOf(const Mlp& mlp, const Tier& tier,
                                      int threads, int64_t steps) {
  Mlp shard = mlp;
  shard.batch /= kShards;
  OCANNL_ASSIGN_OR_RETURN(
      DataParallel made,
      DataParallel::Make(
          tier.backend, {.n_shards = kShards, .threads = threads},
          {{"x", Ramp({mlp.batch, mlp.sizes[0]})},
           {"y", Ramp({mlp.batch, mlp.sizes.back()})}},
          [=](train::Model& model, absl::Span<const Tensor> batch) {
            return MlpLoss(model.graph, shard, batch[0], batch[1]);
          },
          [=](train::Model& model, Tensor loss, const auto&) {
            return train::SgdUpdate(model, loss, Number(model.graph, mlp.rate),
                                    {});
          }));
  auto training = std::make_shared<DataParallel>(std::move(made));
  return Contender{.name = absl::StrCat(tier.name, ", ", threads, " at once"),
                   .ours = true,
                   .time = [=](int64_t runs) {
                     return SecondsOf(runs, [&] {
                       for (int64_t step = 0; step < steps; ++step) {
                         CHECK_OK(training->Step());
                       }
                       CHECK_OK(training->OwnerLossValue());
                     });
                   }};
}

}  // namespace

std::vector<WorkloadMaker> ShardWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (const NamedMlp& named : TrainingMlps()) {
    if (!absl::StartsWith(named.name, "mlp/")) continue;
    const std::string name = absl::StrCat("shards/", named.name.substr(4));
    makers.push_back(
        {.name = name,
         .brief = name == "shards/small",
         .make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
           const int64_t steps = StepsOf(named.mlp);
           Workload workload{
               .name = name,
               .probe = ProbeKind::kFma,
               .work = static_cast<double>(steps) * MlpFlops(named.mlp)};
           for (const Tier& tier : setting.tiers) {
             for (int threads : {1, kShards}) {
               OCANNL_ASSIGN_OR_RETURN(
                   workload.contenders.emplace_back(),
                   ContenderOf(named.mlp, tier, threads, steps));
             }
           }
           return workload;
         }});
  }
  return makers;
}

}  // namespace ocannl
