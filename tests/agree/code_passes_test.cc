// SPDX-License-Identifier: Apache-2.0
//
// That machine code leaves the interpreter's bits after any number of the
// passes of its schedule and over its VCode: what bisection by --limit relies
// on.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/agree_programs.h"

namespace ocannl::fuzz {
namespace {

using jit::Isa;

TEST(CodePassesTest, KeepTheBitsAfterEachOne) {
  const auto passes =
      static_cast<int>(SchedulePasses().size() + jit::VcodePasses().size());
  const std::map<std::string, LoopProgram> programs = AgreePrograms();
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!jit::IsSupported(isa)) continue;
    for (int most = 0; most < passes; ++most) {
      const jit::X86Backend backend(isa, {.passes = most});
      for (const auto& [name, program] : programs) {
        EXPECT_EQ(Trial(program, FillKind::kZoo, /*seed=*/1).Try(backend), "")
            << name << " on " << Name(isa) << " after " << most << " passes";
      }
    }
  }
}

}  // namespace
}  // namespace ocannl::fuzz
