// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/workloads.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/codegen/c_text.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl {
namespace {

using MakeCode = std::function<absl::StatusOr<Assignments>()>;

struct Subject {
  std::string name;
  MakeCode code;
  bool gcc;  // too
};

absl::StatusOr<std::unique_ptr<train::FitCode>> MakeModel() {
  OCANNL_ASSIGN_OR_RETURN(LabelledPoints points, HalfMoons(400, /*seed=*/1));
  return MakeMoons(points, {});
}

absl::StatusOr<Assignments> MoonsCode() {
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<train::FitCode> moons, MakeModel());
  return moons->step;
}

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects = {
      {"moons", MoonsCode, true},
      {"mlp_small",
       [] {
         return MlpStep({.sizes = {2, 64, 64, 2}, .batch = 64});
       },
       true},
      {"mlp_wide",
       [] {
         return MlpStep({.sizes = {256, 1024, 1024, 10}, .batch = 256});
       },
       true},
  };
  for (int layers : {1, 2, 4, 8, 16, 32, 64}) {
    subjects.push_back(
        {absl::StrCat("layers_", layers),
         [layers] {
           return MlpStep(
               {.sizes = std::vector<int64_t>(layers + 1, 24), .batch = 20});
         },
         layers <= 4});
  }
  return subjects;
}

Contender Running(const Tier& tier, std::function<absl::Status()> run) {
  return {.name = tier.name, .ours = true, .time = [=](int64_t runs) {
            return SecondsOf(runs, [&] { CHECK_OK(run()); });
          }};
}

// The program with one more row in an input, which it does not read: one that
// no cache has seen, and no more work.
LoopProgram Fresh(LoopProgram program, int64_t number) {
  for (Buffer& buffer : program.buffers) {
    if (buffer.role != Role::kIn) continue;
    buffer.dims[0] += number;
    break;
  }
  return program;
}

Contender Compiling(const Tier& tier, const LoopProgram& program, bool fresh) {
  auto number = std::make_shared<int64_t>(0);
  return {.name = tier.name, .ours = true, .time = [=](int64_t runs) {
            std::vector<LoopProgram> programs;
            for (int64_t k = 0; k < runs; ++k) {
              programs.push_back(fresh ? Fresh(program, ++*number) : program);
            }
            auto next = programs.begin();
            return SecondsOf(runs,
                             [&] { CHECK_OK(tier.backend->Compile(*next++)); });
          }};
}

void AddGcc(const LoopProgram& program, Workload& workload) {
  for (const char* level : {"-O1", "-O3"}) {
    std::string name = absl::StrCat("gcc ", level);
    auto compile = [program, level] {
      return CompileC(CText(program), GccFlags(level)).status();
    };
    if (absl::Status status = compile(); !status.ok()) {
      workload.missing.push_back(absl::StrCat(name, ": ", status.message()));
      continue;
    }
    workload.contenders.push_back({.name = name, .time = [=](int64_t runs) {
                                     return SecondsOf(
                                         runs, [&] { CHECK_OK(compile()); });
                                   }});
  }
}

// The time from an optimised program to what runs.
WorkloadMaker CompileMaker(const Subject& subject, bool fresh) {
  std::string name =
      absl::StrCat(fresh ? "compile/" : "compile_again/", subject.name);
  return {.name = name,
          .brief = subject.name == "layers_1",
          .make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
            Workload workload{.name = name};
            OCANNL_ASSIGN_OR_RETURN(Assignments code, subject.code());
            OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                                    CompileProgram(code, {}));
            for (const Tier& tier : setting.tiers) {
              workload.contenders.push_back(Compiling(tier, program, fresh));
            }
            if (setting.peers && fresh && subject.gcc) {
              AddGcc(program, workload);
            }
            return workload;
          }};
}

// The half-moons network with its first parameters on a tier.
struct Started {
  Device device;
  Stream stream;
  std::optional<Context> context;

  explicit Started(const Backend* backend)
      : device("host", backend), stream(&device) {}
};

absl::StatusOr<std::unique_ptr<Started>> Start(train::FitCode& moons,
                                               const Backend* backend) {
  auto started = std::make_unique<Started>(backend);
  OCANNL_ASSIGN_OR_RETURN(started->context,
                          moons.Start(Context(&started->stream)));
  return started;
}

absl::Status FirstLoss(const train::FitCode& moons, const Started& started) {
  OCANNL_ASSIGN_OR_RETURN(Routine step,
                          ToRoutine(*started.context, moons.step, {}));
  OCANNL_RETURN_IF_ERROR(step.Set("batch_n", 0));
  OCANNL_RETURN_IF_ERROR(step.Set("step", 0));
  OCANNL_RETURN_IF_ERROR(step.Run());
  return step.context().Read("scalar_loss").status();
}

// From the points, with the graph, its shapes and its gradients; from the
// assignments that initialise and step; from those of the step.
enum class From { kPoints, kAssignments, kStep };

absl::Status FirstResult(From from, train::FitCode& moons,
                         const Backend* backend, const Started& ready) {
  if (from == From::kStep) return FirstLoss(moons, ready);
  std::unique_ptr<train::FitCode> own;
  if (from == From::kPoints) {
    OCANNL_ASSIGN_OR_RETURN(own, MakeModel());
  }
  train::FitCode& model = own != nullptr ? *own : moons;
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Started> started,
                          Start(model, backend));
  return FirstLoss(model, *started);
}

// The time to the first loss of the half-moons network.
WorkloadMaker FirstResultMaker(From from, absl::string_view suffix) {
  std::string name = absl::StrCat("first_result/moons_from_", suffix);
  return {.name = name,
          .brief = true,
          .make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
            Workload workload{.name = name};
            OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<train::FitCode> moons,
                                    MakeModel());
            for (const Tier& tier : setting.tiers) {
              OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<const Started> ready,
                                      Start(*moons, tier.backend));
              workload.contenders.push_back(Running(tier, [=] {
                return FirstResult(from, *moons, tier.backend, *ready);
              }));
            }
            return workload;
          }};
}

absl::Status StartOf(int params, const Backend* backend) {
  train::Model model;
  const Tensor loss = ManyParameters(model.graph, params);
  Device device("host", backend);
  Stream stream(&device);
  return train::StartTraining(model, loss, Number(model.graph, 0.01),
                              train::Sgd(), Context(&stream))
      .status();
}

// The time from nothing to a step that can run, of many parameters.
WorkloadMaker StartMaker(int params) {
  std::string name = absl::StrCat("start/params_", params);
  return {.name = name,
          .brief = params <= 1000,
          .make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
            Workload workload{.name = name};
            for (const Tier& tier : setting.tiers) {
              workload.contenders.push_back(Running(
                  tier, [=] { return StartOf(params, tier.backend); }));
            }
            return workload;
          }};
}

}  // namespace

std::vector<WorkloadMaker> LatencyWorkloads() {
  std::vector<WorkloadMaker> makers = {
      FirstResultMaker(From::kPoints, "points"),
      FirstResultMaker(From::kAssignments, "assignments"),
      FirstResultMaker(From::kStep, "step"), StartMaker(1000),
      StartMaker(10'000)};
  for (const Subject& subject : Subjects()) {
    makers.push_back(CompileMaker(subject, /*fresh=*/true));
    makers.push_back(CompileMaker(subject, /*fresh=*/false));
  }
  return makers;
}

}  // namespace ocannl
