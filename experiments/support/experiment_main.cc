// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/experiment_main.h"

#include <iostream>
#include <memory>
#include <optional>
#include <streambuf>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/support/saving.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/distributed_flags.h"
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

// What is written to it is nowhere.
class NullBuffer : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
};

// Of std::cout, while it lives.
class Silence {
 public:
  Silence() : before_(std::cout.rdbuf(&nowhere_)) {}
  ~Silence() { std::cout.rdbuf(before_); }

 private:
  NullBuffer nowhere_;
  std::streambuf* before_;
};

}  // namespace

int ExperimentMain(const std::string& name, const std::string& what,
                   const std::vector<Flag>& flags, RunExperiment run, int argc,
                   char** argv) {
  return RunMain([&] {
    return Main(name, what, flags, run, {argv + 1, argv + argc});
  });
}

absl::Status RunRanks(
    const CommandLine& line,
    absl::FunctionRef<absl::Status(train::Communicator* ranks)> run) {
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<train::Communicator> ranks,
                          CommunicatorOf(line));
  if (ranks == nullptr) return run(nullptr);
  std::optional<Silence> silence;
  if (ranks->rank() > 0) silence.emplace();
  const absl::Status status = run(ranks.get());
  // They all stop where rank 0 got a signal, which says so: a failure of
  // another one would have mpirun end it meanwhile.
  if (absl::IsCancelled(status)) {
    return ranks->rank() == 0 ? status : absl::OkStatus();
  }
  // Others wait for this one, and mpirun ends them.
  if (!status.ok() && ranks->ranks() > 1) {
    ranks->Abort(absl::StrCat(status.message(), line.DescribeSettings()));
  }
  return status;
}

}  // namespace ocannl
