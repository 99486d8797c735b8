// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/training.h"
#include "experiments/bench/workloads.h"
#include "experiments/moons_data.h"
#include "experiments/moons_plain.h"
#include "experiments/moons_trainer.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {
namespace {

// An epoch of `step(batch, number)`, and then `sync`.
template <class Step, class Sync>
Contender EpochOf(std::string name, Step step, Sync sync) {
  auto next = std::make_shared<int64_t>(0);
  return {.name = std::move(name), .ours = true, .time = [=](int64_t runs) {
            return SecondsOf(runs, [&] {
              for (int64_t k = 0; k < kMoonsBatches; ++k) {
                CHECK_OK(step(k, (*next)++ % kMoonsSteps));
              }
              sync();
            });
          }};
}

// A routine that the user runs with two static indices.
struct Declared {
  Declared(const Backend* backend) : device("host", backend) {}

  absl::Status Link(train::FitCode& model) {
    OCANNL_ASSIGN_OR_RETURN(const Context started,
                            model.Start(Context(&stream)));
    OCANNL_ASSIGN_OR_RETURN(routine, ToRoutine(started, model.step, {}));
    OCANNL_ASSIGN_OR_RETURN(batch, routine->Static("batch_n"));
    OCANNL_ASSIGN_OR_RETURN(number, routine->Static("step"));
    return absl::OkStatus();
  }

  absl::Status Step(int64_t batch_number, int64_t step) {
    OCANNL_RETURN_IF_ERROR(batch->Set(batch_number));
    OCANNL_RETURN_IF_ERROR(number->Set(step));
    return routine->Run();
  }

  Device device;
  Stream stream{&device};
  std::optional<Routine> routine;
  std::optional<StaticRef> batch, number;
};

absl::StatusOr<Contender> DeclaredContender(
    const Tier& tier, std::shared_ptr<const Moons> moons) {
  auto declared = std::make_shared<Declared>(tier.backend);
  OCANNL_RETURN_IF_ERROR(declared->Link(*moons->model));
  return EpochOf(
      absl::StrCat(tier.name, ", declared"),
      [=](int64_t batch, int64_t step) { return declared->Step(batch, step); },
      [=] { declared->stream.Sync(); });
}

absl::StatusOr<Contender> TrainerContender(const Tier& tier, const Moons& moons,
                                           train::TrainerMode mode) {
  std::vector<NdArray> first;
  for (const char* name : {"w1", "b1", "w2", "b2", "w3"}) {
    first.push_back(moons.training.first_values.at(name));
  }
  auto numbers = [&](const char* name) {
    const auto values = moons.training.first_values.at(name).values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  OCANNL_ASSIGN_OR_RETURN(
      std::shared_ptr<MoonsTrainer> trainer,
      MoonsTrainer::Make(tier.backend, std::move(first),
                         {.coordinates = numbers("moons_flat"),
                          .labels = numbers("moons_classes")},
                         {.batch_size = kMoonsBatch}, mode));
  const bool is_eager = mode == train::TrainerMode::kEager;
  return EpochOf(
      absl::StrCat(tier.name, is_eager ? ", eager" : ", compiled"),
      [=](int64_t batch, int64_t) { return trainer->Step(batch); },
      [=] { CHECK_OK(trainer->trainer().session().Sync()); });
}

absl::StatusOr<Workload> MakeMoonsTrainer(const Setting& setting) {
  OCANNL_ASSIGN_OR_RETURN(Moons prepared, PrepareMoons());
  auto moons = std::make_shared<const Moons>(std::move(prepared));
  Mlp mlp{.sizes = {2, kMoonsHidden, kMoonsHidden, 1}, .batch = kMoonsBatch};
  Workload workload{.name = "moons/trainer",
                    .probe = ProbeKind::kFma,
                    .work = static_cast<double>(kMoonsBatches) * MlpFlops(mlp)};
  for (const Tier& tier : setting.tiers) {
    OCANNL_ASSIGN_OR_RETURN(workload.contenders.emplace_back(),
                            DeclaredContender(tier, moons));
    for (train::TrainerMode mode :
         {train::TrainerMode::kEager, train::TrainerMode::kCompiled}) {
      OCANNL_ASSIGN_OR_RETURN(workload.contenders.emplace_back(),
                              TrainerContender(tier, *moons, mode));
    }
  }
  return workload;
}

}  // namespace

std::vector<WorkloadMaker> TrainerWorkloads() {
  return {{.name = "moons/trainer", .brief = true, .make = MakeMoonsTrainer}};
}

}  // namespace ocannl
