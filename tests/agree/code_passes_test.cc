// SPDX-License-Identifier: Apache-2.0
//
// That machine code leaves the interpreter's bits after any number of the
// passes of its schedule and over its VCode: what bisection by --limit relies
// on.
#include <filesystem>
#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl::fuzz {
namespace {

using jit::Isa;

TEST(CodePassesTest, KeepTheBitsAfterEachOne) {
  const auto passes =
      static_cast<int>(SchedulePasses().size() + jit::VcodePasses().size());
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!jit::IsSupported(isa)) continue;
    for (int most = 0; most < passes; ++most) {
      const jit::X86Backend backend(isa, {.passes = most});
      for (const auto& entry :
           std::filesystem::directory_iterator("tests/agree/programs")) {
        absl::StatusOr<std::string> text = ReadFile(entry.path());
        CHECK_OK(text);
        absl::StatusOr<LoopProgram> program = Parse(*text);
        CHECK_OK(program);
        EXPECT_EQ(Trial(*program, FillKind::kZoo, /*seed=*/1).Try(backend), "")
            << entry.path() << " on " << Name(isa) << " after " << most
            << " passes";
      }
    }
  }
}

}  // namespace
}  // namespace ocannl::fuzz
