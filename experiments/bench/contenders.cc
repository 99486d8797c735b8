// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/contenders.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/codegen/c_text.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// Of the assignments in `block`, which runs `times` times.
double RunsInside(const Block& block, double times) {
  double runs = 0;
  for (const Stmt& stmt : block.stmts) {
    if (const auto* loop = std::get_if<For>(&stmt)) {
      runs += RunsInside(loop->body, times * static_cast<double>(loop->extent));
    } else if (ValueOf(stmt) != nullptr) {
      runs += times;
    }
  }
  return runs;
}

// `run` runs the program once. Each timing begins with the first values, so
// that training does not wander off to where numbers are slow.
template <class F>
Contender Running(const ProgramWork& work, std::shared_ptr<BoundProgram> bound,
                  F run) {
  auto all_steps = [run, bound, steps = work.steps] {
    if (steps == 1) return run();
    for (int64_t step = 0; step < steps; ++step) {
      bound->SetStep(step);
      run();
    }
  };
  return {.name = "",
          .time =
              [all_steps, bound](int64_t runs) {
                bound->Reset();
                return SecondsOf(runs, all_steps);
              },
          .result =
              [all_steps, bound, first = work.first] {
                bound->Reset();
                all_steps();
                return bound->Results(first);
              }};
}

absl::StatusOr<Contender> OfTier(const Setting& setting, const Tier& tier,
                                 const ProgramWork& work) {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          tier.backend->Compile(work.program));
  if (!setting.runs) {
    return Contender{.name = tier.name, .time = [](int64_t) { return 0.; }};
  }
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<BoundProgram> bound,
                          BoundProgram::Make(work.program, work.given));
  Contender contender = Running(work, bound, [executable, bound] {
    executable->Run(bound->buffers(), bound->statics());
  });
  contender.name = tier.name;
  contender.ours = true;
  return contender;
}

absl::StatusOr<Contender> OfGcc(const std::string& level,
                                const ProgramWork& work) {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<const SharedLibrary> code,
                          CompileC(CText(work.program), GccFlags(level)));
  auto* function = code->Find<void(std::byte* const*, const int64_t*)>("run");
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<BoundProgram> bound,
                          BoundProgram::Make(work.program, work.given));
  Contender contender = Running(work, bound, [function, code, bound] {
    function(bound->buffers().data(), bound->statics().data());
  });
  contender.name = absl::StrCat(work.gcc_name, " ", level);
  if (level == "-Ofast") contender.tolerance = 1e-4;
  return contender;
}

}  // namespace

double AssignmentRuns(const LoopProgram& program) {
  return RunsInside(program.body, 1);
}

std::vector<std::string> GccFlags(const std::string& level) {
  return {level, "-march=native", "-ffp-contract=off", "-fno-math-errno",
          "-fno-trapping-math"};
}

absl::Status AddProgram(const Setting& setting, const ProgramWork& work,
                        Workload& workload) {
  bool too_long = AssignmentRuns(work.program) > kMostAssignmentRuns;
  for (const Tier& tier : setting.tiers) {
    if (too_long && tier.name == "interp") {
      workload.missing.push_back(absl::StrFormat(
          "interp: %.2g statements to run", AssignmentRuns(work.program)));
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(Contender contender, OfTier(setting, tier, work));
    workload.contenders.push_back(std::move(contender));
  }
  if (!setting.peers || too_long) return absl::OkStatus();
  for (const std::string& level : work.gcc) {
    absl::StatusOr<Contender> contender = OfGcc(level, work);
    if (contender.ok()) {
      workload.contenders.push_back(*std::move(contender));
    } else {
      workload.missing.push_back(absl::StrCat(work.gcc_name, " ", level, ": ",
                                              contender.status().message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace ocannl
