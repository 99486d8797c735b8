// SPDX-License-Identifier: Apache-2.0
//
// That machine code leaves the interpreter's bits after any number of the
// passes of its schedule and over its VCode, and without any one of them: what
// bisection by --limit and --skip relies on.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/agree_programs.h"

namespace ocannl::fuzz {
namespace {

using jit::Isa;

using Names = std::vector<std::string>;

void ExpectBitsWithout(const Names& skip) {
  static const auto* programs =
      new std::map<std::string, LoopProgram>(AgreePrograms());
  for (Isa isa : jit::kIsas) {
    if (!jit::IsSupported(isa)) continue;
    const jit::X86Backend backend(isa, {.skip = skip});
    for (const auto& [name, program] : *programs) {
      EXPECT_EQ(Trial(program, FillKind::kZoo, /*seed=*/1).Try(backend), "")
          << name << " on " << Name(isa) << " without "
          << absl::StrJoin(skip, ", ");
    }
  }
}

TEST(CodePassesTest, KeepTheBitsAfterEachOne) {
  const Names passes = jit::CodePasses();
  for (auto from = passes.begin(); from != passes.end(); ++from) {
    ExpectBitsWithout(Names(from, passes.end()));
  }
}

TEST(CodePassesTest, KeepTheBitsWithoutEachOne) {
  for (const std::string& pass : jit::CodePasses()) ExpectBitsWithout({pass});
}

}  // namespace
}  // namespace ocannl::fuzz
