// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/dump.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {
namespace {

class Nothing : public Executable {
 public:
  void Run(absl::Span<std::byte* const>,
           absl::Span<const int64_t>) const override {}
};

// Keeps the programs, and runs none of them.
class KeepingBackend : public Backend {
 public:
  absl::string_view name() const override { return "none"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    programs_.push_back(program);
    return std::make_unique<Nothing>();
  }

  std::vector<LoopProgram> Take() { return std::exchange(programs_, {}); }

 private:
  mutable std::vector<LoopProgram> programs_;
};

}  // namespace

absl::StatusOr<std::vector<LoopProgram>> ProgramsOf(
    const WorkloadMaker& maker) {
  KeepingBackend backend;
  const Setting setting{
      .tiers = {{"none", &backend}}, .peers = false, .runs = false};
  OCANNL_ASSIGN_OR_RETURN(Workload workload, maker.make(setting));
  // Where compiling is the work, it is done now.
  for (const Contender& contender : workload.contenders) contender.time(1);
  return backend.Take();
}

absl::StatusOr<int> DumpPrograms(absl::Span<const WorkloadMaker> makers,
                                 const std::string& directory) {
  OCANNL_RETURN_IF_ERROR(MakeDirectory(directory));
  std::set<std::string> written;
  for (const WorkloadMaker& maker : makers) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<LoopProgram> programs,
                            ProgramsOf(maker));
    const std::string base = absl::StrReplaceAll(maker.name, {{"/", "_"}});
    int number = 0;
    for (const LoopProgram& program : programs) {
      const std::string text = Print(program);
      if (!written.insert(text).second) continue;
      const std::string suffix = ++number == 1 ? "" : absl::StrCat("-", number);
      OCANNL_RETURN_IF_ERROR(
          WriteFileIn(directory, absl::StrCat(base, suffix, ".ll"), text));
    }
  }
  return static_cast<int>(written.size());
}

}  // namespace ocannl
