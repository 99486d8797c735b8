// SPDX-License-Identifier: Apache-2.0
//
// The x86 tier: LoopProgram -> Executable of machine code, with the
// interpreter's bits.
//
//   jit::X86Backend backend(*jit::HostIsa(), {.threads = 2});
//   auto executable = backend.Compile(program);
#ifndef OCANNL_JIT_X86_BACKEND_H_
#define OCANNL_JIT_X86_BACKEND_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/codegen/code_cache.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/jit/compiled_program.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The program as scheduled for `isa`, which its first comment names. If
// `options` collect refusals, each refused nest has a comment too. The steps
// are trusted to be legal, not verified.
LoopProgram ScheduleFor(const LoopProgram& program, Isa isa,
                        ScheduleOptions options);

// The names of SchedulePasses and VcodePasses, in the order in which they run.
std::vector<std::string> CodePasses();

struct X86Options {
  int threads = 1;        // that run one program
  bool schedules = true;  // false: the machine code of programs as they are
  std::shared_ptr<CodeCache> cache = nullptr;  // of code; null: none
  std::vector<std::string> skip = {};  // those of CodePasses to leave out
  // Runs nests that cannot be compiled, which would be a bug of ours; null:
  // that is an error. Outlives the backend.
  const Backend* interpreter = nullptr;
  // Of schedules, and of the pass "assemble" (core/schedule/schedule.h).
  decltype(ScheduleOptions::fault) fault = nullptr;
};

// Thread-safe. Executables share its threads; one that finds them at work runs
// on the caller's alone. No number of threads changes a bit.
class X86Backend : public Backend {
 public:
  // This machine must have `isa`: see IsSupported.
  X86Backend(Isa isa, X86Options options);

  absl::string_view name() const override { return "x86"; }

  // `program` must be one that Verify accepts. Error: no memory, or a bug of
  // ours. Report tells of nests whose schedule is refused, which run as they
  // are, and of those that are interpreted.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  // What its cache did, and which nests were refused (schedule/refusal.h).
  std::string Report() const override;

 private:
  // `refused` gets the nests that were.
  absl::StatusOr<CompiledProgram> CompileNew(
      const LoopProgram& program, std::vector<Refusal>& refused) const;
  absl::StatusOr<CompiledProgram> FindOrCompile(
      const LoopProgram& program) const;

  absl::StatusOr<std::unique_ptr<Executable>> CompileWhole(
      const LoopProgram& program) const;
  // Keeps a line about a nest for Report.
  void Note(const LoopProgram& program, const std::string& line) const;

  Isa isa_;
  X86Options options_;
  std::shared_ptr<Team> team_;  // null: one thread
  mutable std::mutex mutex_;    // guards the rest
  mutable std::vector<std::string> refused_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_X86_BACKEND_H_
