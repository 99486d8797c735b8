// SPDX-License-Identifier: Apache-2.0
//
// tune FILE.ll: searches schedules that are faster than the planner's, and
// writes the script of the fastest.
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/cli/commands.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/fuzz/stopwatch.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/tune/race.h"
#include "ocannl/tune/tune.h"

namespace ocannl {
namespace {

// The instruction set whose schedules are tuned.
absl::StatusOr<jit::Isa> IsaOf(const CommandLine& line) {
  const std::string& tier = line.GetString("tier");
  absl::string_view name = tier;
  const bool is_x86 = absl::ConsumePrefix(&name, "x86-");
  for (jit::Isa isa : jit::kIsas) {
    if (is_x86 && name == jit::Name(isa) && jit::IsSupported(isa)) return isa;
  }
  const std::optional<jit::Isa> host = jit::HostIsa();
  if (!host) {
    return UserError("this processor has neither AVX2 nor AVX-512, and tune ",
                     "measures machine code");
  }
  if (tier == "auto") return *host;
  return UserError("--tier=", tier, ": tune measures schedules of this ",
                   "processor's machine code; give x86-", jit::Name(*host),
                   " or leave it out");
}

}  // namespace

absl::Status TuneCommand(const CommandLine& line, std::ostream& out) {
  constexpr int64_t kMost = 1'000'000'000;
  OCANNL_ASSIGN_OR_RETURN(const int64_t seconds,
                          line.GetInt("seconds", 1, kMost));
  OCANNL_ASSIGN_OR_RETURN(const int64_t seed, line.GetInt("seed", 0, kMost));
  OCANNL_ASSIGN_OR_RETURN(const int64_t nests, line.GetInt("nests", 1, kMost));
  OCANNL_ASSIGN_OR_RETURN(const bool planned, line.GetBool("from_planner"));
  OCANNL_ASSIGN_OR_RETURN(int64_t threads, line.GetInt("threads", 0, 1024));
  if (threads == 0) threads = Team::MaxSize();
  OCANNL_ASSIGN_OR_RETURN(const jit::Isa isa, IsaOf(line));
  const std::string path = UserPath(line.GetString("out"));
  if (!path.empty()) OCANNL_RETURN_IF_ERROR(CheckReplaceable(path));
  const std::string& file_name = line.positional()[0];
  OCANNL_ASSIGN_OR_RETURN(ProgramFile file, ReadProgram(line, file_name));
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                          Optimize(std::move(file.program), {}));
  CountIterators(program);
  const std::string head =
      absl::StrCat("# ocannl tune ", file_name, " --seconds=", seconds,
                   " --seed=", seed, ", x86-", jit::Name(isa), ", ", threads,
                   threads == 1 ? " thread\n" : " threads\n");
  tune::OnMachine race({.isa = isa, .threads = static_cast<int>(threads)},
                       program, static_cast<uint64_t>(seed));
  tune::Tuned tuned;
  {
    const StopSignals signals;
    const fuzz::Stopwatch watch;
    OCANNL_ASSIGN_OR_RETURN(
        tuned,
        tune::Tune(program,
                   {.target = jit::TargetOf(isa),
                    .seconds = static_cast<double>(seconds),
                    .seed = static_cast<uint64_t>(seed),
                    .nests = static_cast<size_t>(nests),
                    .from_planner = planned,
                    .head = head,
                    .clock = [&] { return watch.Seconds(); },
                    .stops = [] { return StopSignals::received() != 0; }},
                   race, out));
  }
  if (path.empty()) {
    out << "\n" << tuned.script;
    return absl::OkStatus();
  }
  return ReplaceFile(path, [&](const std::string& other) {
    return WriteFile(other, absl::StrCat(head, tuned.script));
  });
}

}  // namespace ocannl
