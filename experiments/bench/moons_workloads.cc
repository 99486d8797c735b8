// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/peers/moons_fused.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/python_contenders.h"
#include "experiments/bench/training.h"
#include "experiments/bench/workloads.h"
#include "experiments/moons_model.h"
#include "experiments/moons_plain.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/train/graph/model.h"

namespace ocannl {
namespace {

MoonsArrays ArraysOf(const Moons& moons) {
  MoonsArrays arrays{};
  auto fill = [&](const char* name, auto& numbers) {
    const NdArray& values = moons.training.first_values.at(name);
    CHECK_EQ(values.bytes(), sizeof(numbers));
    std::memcpy(numbers, values.data(), sizeof(numbers));
  };
  fill("moons_flat", arrays.x);
  fill("moons_classes", arrays.y);
  fill("w1", arrays.w1);
  fill("b1", arrays.b1);
  fill("w2", arrays.w2);
  fill("b2", arrays.b2);
  fill("w3", arrays.w3);
  return arrays;
}

// Steps as a user takes them: runs of a routine of a context, whose losses are
// kept on the device until the last one.
class RoutineTraining {
 public:
  static absl::StatusOr<std::shared_ptr<RoutineTraining>> Make(
      std::shared_ptr<const Moons> moons, const Backend* backend) {
    auto training = std::shared_ptr<RoutineTraining>(
        new RoutineTraining(std::move(moons), backend));
    OCANNL_RETURN_IF_ERROR(training->Link());
    return training;
  }

  void Reset() { CHECK_OK(init_->Run()); }

  void Steps(int64_t count) {
    for (int64_t step = 0; step < count; ++step) {
      CHECK_OK(batch_->Set(step % kMoonsBatches));
      CHECK_OK(step_number_->Set(step % kMoonsSteps));
      CHECK_OK(step_->Run());
      if (count > 1) CHECK_OK(losses_->Append());
    }
    if (count > 1) CHECK_OK(losses_->Take());
    stream_.Sync();
  }

  // As BoundProgram::Results of the step.
  std::vector<float> Results() {
    std::vector<float> results;
    auto add = [&](const std::string& name) {
      absl::StatusOr<NdArray> values = step_->context().Read(name);
      CHECK_OK(values);
      absl::Span<const float> numbers = values->values<float>();
      results.insert(results.end(), numbers.begin(), numbers.end());
    };
    add("scalar_loss");
    for (const Buffer& buffer : step_->program().buffers) {
      if (buffer.name == "scalar_loss") continue;
      if (!IsResult(buffer.role)) continue;
      add(buffer.name);
    }
    return results;
  }

 private:
  RoutineTraining(std::shared_ptr<const Moons> moons, const Backend* backend)
      : moons_(std::move(moons)), device_("host", backend), stream_(&device_) {}

  absl::Status Link() {
    Context context(&stream_);
    train::FitCode& code = *moons_->model;
    OCANNL_ASSIGN_OR_RETURN(Assignments first,
                            train::InitParams(code.model, code.loss));
    OCANNL_ASSIGN_OR_RETURN(
        Routine init,
        ToRoutine(context, train::Sequence("init", {first, code.init}), {}));
    OCANNL_ASSIGN_OR_RETURN(Routine step,
                            ToRoutine(init.context(), code.step, {}));
    OCANNL_ASSIGN_OR_RETURN(batch_, step.Static("batch_n"));
    OCANNL_ASSIGN_OR_RETURN(step_number_, step.Static("step"));
    OCANNL_ASSIGN_OR_RETURN(
        losses_, Recording::Make(step.context(), "scalar_loss", kMoonsBatches));
    init_ = std::move(init);
    step_ = std::move(step);
    return absl::OkStatus();
  }

  std::shared_ptr<const Moons> moons_;
  Device device_;
  Stream stream_;
  std::optional<Routine> init_, step_;
  std::optional<StaticRef> batch_, step_number_;
  std::optional<Recording> losses_;
};

absl::Status AddRoutines(const Setting& setting,
                         std::shared_ptr<const Moons> moons, int64_t steps,
                         Workload& workload) {
  for (const Tier& tier : setting.tiers) {
    OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<RoutineTraining> training,
                            RoutineTraining::Make(moons, tier.backend));
    workload.contenders.push_back(
        {.name = tier.name,
         .ours = true,
         .time =
             [=](int64_t runs) {
               training->Reset();
               return SecondsOf(runs, [&] { training->Steps(steps); });
             },
         .result =
             [=] {
               training->Reset();
               training->Steps(steps);
               return training->Results();
             }});
  }
  return absl::OkStatus();
}

// `Training` begins with the arrays; step(training, number) takes a step and
// gives the loss.
template <class Training, class F>
Contender OfHand(const char* name, const MoonsArrays& arrays, int64_t steps,
                 F step) {
  auto training = std::make_shared<Training>(arrays);
  auto run = [=](int64_t runs) {
    float loss = 0;
    for (int64_t k = 0; k < runs * steps; ++k) {
      loss = step(*training, static_cast<int>(k % steps));
    }
    return loss;
  };
  return {.name = name,
          .time =
              [=](int64_t runs) {
                *training = Training(arrays);
                return SecondsOf(1, [&] { run(runs); });
              },
          .result =
              [=] {
                *training = Training(arrays);
                return std::vector<float>{run(1)};
              },
          .tolerance = 1e-3};
}

void AddHandWritten(const Moons& moons, int64_t steps, Workload& workload) {
  MoonsArrays arrays = ArraysOf(moons);
  if (FusedMoons::IsSupported()) {
    workload.contenders.push_back(OfHand<FusedMoons>(
        "hand AVX-512", arrays, steps, [](FusedMoons& fused, int step) {
          fused.Step(step % kMoonsBatches, step);
          return fused.loss();
        }));
  } else {
    workload.missing.emplace_back("hand AVX-512: not this processor");
  }
  workload.contenders.push_back(OfHand<MoonsArrays>(
      "plain C++ -O1", arrays, steps, [](MoonsArrays& plain, int step) {
        PlainMoonsStep(step % kMoonsBatches, step, plain);
        return plain.loss[0];
      }));
}

// C with a nest for each tensor operation, as it was before our optimiser.
absl::Status AddPlainNests(Setting setting, const Moons& moons, int64_t steps,
                           Workload& workload) {
  setting.tiers.clear();
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Lower(moons.model->step));
  return AddProgram(setting,
                    {.program = std::move(program),
                     .given = moons.training.first_values,
                     .first = moons.training.loss,
                     .steps = steps,
                     .gcc = {"-O3"},
                     .gcc_name = "gcc of plain nests"},
                    workload);
}

PythonTask TaskOf(const Moons& moons) {
  PythonTask task{.arrays = moons.training.first_values,
                  .loss = "hinge",
                  .rate = 0.1,
                  .steps = kMoonsSteps,
                  .weight_decay = 1e-4};
  auto rename = [&](const char* from, const char* to, int64_t columns) {
    auto node = task.arrays.extract(from);
    task.arrays.emplace(
        to, node.mapped().Reshaped({kMoonsBatches, kMoonsBatch, columns}));
  };
  rename("moons_flat", "x", 2);
  rename("moons_classes", "y", 1);
  return task;
}

// `routines`: by routines of a context; else bare code.
absl::StatusOr<Workload> Make(const std::string& name, bool routines,
                              int64_t steps, const Setting& setting) {
  OCANNL_ASSIGN_OR_RETURN(Moons prepared, PrepareMoons());
  auto moons = std::make_shared<const Moons>(std::move(prepared));
  Mlp mlp{.sizes = {2, kMoonsHidden, kMoonsHidden, 1}, .batch = kMoonsBatch};
  Workload workload{.name = name,
                    .probe = ProbeKind::kFma,
                    .work = static_cast<double>(steps) * MlpFlops(mlp)};
  Setting rest = setting;
  if (routines) {
    OCANNL_RETURN_IF_ERROR(AddRoutines(setting, moons, steps, workload));
    rest.tiers.clear();
  }
  OCANNL_RETURN_IF_ERROR(AddProgram(rest,
                                    {.program = moons->training.step,
                                     .given = moons->training.first_values,
                                     .first = moons->training.loss,
                                     .steps = steps,
                                     .gcc = {"-O1", "-O3", "-Ofast"}},
                                    workload));
  OCANNL_RETURN_IF_ERROR(AddPlainNests(rest, *moons, steps, workload));
  if (!setting.peers) return workload;
  AddHandWritten(*moons, steps, workload);
  if (routines) AddPython(setting, TaskOf(*moons), steps, workload);
  return workload;
}

}  // namespace

std::vector<WorkloadMaker> MoonsWorkloads() {
  auto maker = [](std::string name, bool routines, int64_t steps, bool brief) {
    return WorkloadMaker{name, brief, [=](const Setting& setting) {
                           return Make(name, routines, steps, setting);
                         }};
  };
  return {maker("moons/call", true, 1, false),
          maker("moons/kernel", false, 1, false),
          maker("moons/epoch", true, kMoonsBatches, true)};
}

}  // namespace ocannl
