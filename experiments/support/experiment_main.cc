// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/experiment_main.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <streambuf>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"

namespace ocannl {
namespace {

// As shells name the signal that ended a training, else ExitCodeOfError.
int ExitCodeOf(const absl::Status& status) {
  if (absl::IsCancelled(status)) return 128 + StopSignals::received();
  return ExitCodeOfError(status);
}

using RunExperiment = absl::FunctionRef<absl::Status(const CommandLine& line)>;

int Main(const std::string& name, const std::string& what,
         std::vector<Flag> flags, RunExperiment run,
         const std::vector<std::string>& args) {
  absl::StatusOr<CommandLine> line = ParseWithSettings(args, flags);
  if (line.ok() &&
      ShowsHelp(*line, WrapWords(what, 0, 0) + "\n", flags, std::cout)) {
    return 0;
  }
  absl::Status usage = line.status();
  if (usage.ok() && !line->positional().empty()) {
    usage = absl::InvalidArgumentError(absl::StrCat(
        "`", line->positional()[0], "` is not a flag; see --help"));
  }
  if (!usage.ok()) {
    std::cerr << name << ": " << usage.message() << "\n";
    return kUsageExitCode;
  }
  const absl::Status status = run(*line);
  if (status.ok()) return 0;
  std::cerr << name << ": " << status.message() << line->DescribeSettings()
            << "\n";
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

// Without a communicator, each process that mpirun starts is a whole program.
void WarnOfLoneRanks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  int count = 0;
  if (size == nullptr || !absl::SimpleAtoi(size, &count) || count < 2) return;
  if (rank != nullptr && absl::string_view(rank) != "0") return;
  std::cerr << "warning: each of the " << count << " processes of mpirun does "
            << "all alone; give --distributed=mpi to share the work\n";
}

}  // namespace

int ProgramMain(const std::string& name, const std::string& what,
                const std::vector<Flag>& flags, RunExperiment run, int argc,
                char** argv) {
  return RunMain([&] {
    return Main(name, what, flags, run, {argv + 1, argv + argc});
  });
}

int ExperimentMain(const std::string& name, const std::string& what,
                   const std::vector<Flag>& flags, RunExperiment run, int argc,
                   char** argv) {
  std::vector<Flag> all = FlagsOf(kTierFlags);
  all.insert(all.end(), flags.begin(), flags.end());
  return ProgramMain(name, what, all, run, argc, argv);
}

absl::Status RunRanks(
    const CommandLine& line,
    absl::FunctionRef<absl::Status(train::Communicator* ranks)> run) {
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<train::Communicator> ranks,
                          CommunicatorOf(line));
  if (ranks == nullptr) {
    WarnOfLoneRanks();
    return run(nullptr);
  }
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
