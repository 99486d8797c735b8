// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/experiment_main.h"

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/support/saving.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/setting_flags.h"
#include "ocannl/tier_flags.h"

namespace ocannl {
namespace {

using RunExperiment = absl::FunctionRef<absl::Status(const CommandLine& line)>;

int Main(const std::string& name, const std::string& what,
         const std::vector<Flag>& own, RunExperiment run,
         const std::vector<std::string>& args) {
  std::vector<Flag> flags = TierFlags();
  flags.insert(flags.end(), own.begin(), own.end());
  flags.insert(flags.end(), ProgramFlags().begin(), ProgramFlags().end());
  absl::StatusOr<CommandLine> line = ParseWithSettings(args, flags);
  if (line.ok() &&
      ShowsHelp(*line, WrapWords(what, 0, 0) + "\n", flags, std::cout)) {
    return 0;
  }
  absl::Status status = line.status();
  if (status.ok() && !line->positional().empty()) {
    status = absl::InvalidArgumentError(absl::StrCat(
        "`", line->positional()[0], "` is not a flag; see --help"));
  }
  if (status.ok()) status = run(*line);
  if (status.ok()) return 0;
  std::cerr << name << ": " << status.message()
            << (line.ok() ? line->DescribeSettings() : "") << "\n";
  return ExitCodeOf(status);
}

}  // namespace

int ExperimentMain(const std::string& name, const std::string& what,
                   const std::vector<Flag>& flags, RunExperiment run, int argc,
                   char** argv) {
  return RunMain([&] {
    return Main(name, what, flags, run, {argv + 1, argv + argc});
  });
}

}  // namespace ocannl
