// SPDX-License-Identifier: Apache-2.0
//
// The x86 tier: LoopProgram -> Executable of machine code, with the
// interpreter's bits.
//
//   jit::X86Backend backend(*HostIsa(), /*threads=*/2);
//   auto executable = backend.Compile(program);
#ifndef OCANNL_JIT_X86_BACKEND_H_
#define OCANNL_JIT_X86_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/team.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// What `isa` depends on of a processor.
const Target& TargetOf(Isa isa);

// Thread-safe. Executables share its threads; one that finds them at work runs
// on the caller's alone. No number of threads changes a bit.
class X86Backend : public Backend {
 public:
  // This machine must have `isa`: see IsSupported. Programs are scheduled
  // first.
  X86Backend(Isa isa, int threads) : X86Backend(isa, threads, true) {}
  // `schedules` false: the machine code of programs as they are.
  X86Backend(Isa isa, int threads, bool schedules);

  absl::string_view name() const override { return "x86"; }

  // `program` must be one that Verify accepts. Error: no memory.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

 private:
  Isa isa_;
  bool schedules_;
  std::shared_ptr<Team> team_;  // null: one thread
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_X86_BACKEND_H_
