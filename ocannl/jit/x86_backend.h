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
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/codegen/code_cache.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/jit/compiled_program.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The program as the machine code of `isa` runs it, with a comment in front
// that says so. The passes of the names in `skip` are left out.
LoopProgram ScheduleFor(LoopProgram program, Isa isa,
                        absl::Span<const std::string> skip = {});

// The names of SchedulePasses and VcodePasses, in the order in which they run.
std::vector<std::string> CodePasses();

struct X86Options {
  int threads = 1;        // that run one program
  bool schedules = true;  // false: the machine code of programs as they are
  std::shared_ptr<CodeCache> cache = nullptr;  // of code; null: none
  std::vector<std::string> skip = {};  // those of CodePasses to leave out
};

// Thread-safe. Executables share its threads; one that finds them at work runs
// on the caller's alone. No number of threads changes a bit.
class X86Backend : public Backend {
 public:
  // This machine must have `isa`: see IsSupported.
  X86Backend(Isa isa, X86Options options);

  absl::string_view name() const override { return "x86"; }

  // `program` must be one that Verify accepts. Error: no memory.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  // What its cache did.
  std::string Report() const override;

 private:
  absl::StatusOr<CompiledProgram> CompileNew(const LoopProgram& program) const;
  absl::StatusOr<CompiledProgram> FindOrCompile(
      const LoopProgram& program) const;

  Isa isa_;
  X86Options options_;
  std::shared_ptr<Team> team_;  // null: one thread
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_X86_BACKEND_H_
