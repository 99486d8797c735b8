// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/code_memory.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/jit/assemble.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

// What may be done with the memory at `at`: "r-xp"; "" where there is none.
std::string PermissionsAt(const void* at) {
  const auto place = reinterpret_cast<uint64_t>(at);
  const std::string maps = *ReadFile("/proc/self/maps");
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    std::pair<absl::string_view, absl::string_view> range =
        absl::StrSplit(words[0], absl::MaxSplits('-', 1));
    uint64_t begin = 0;
    uint64_t end = 0;
    if (!absl::SimpleHexAtoi(range.first, &begin) ||
        !absl::SimpleHexAtoi(range.second, &end)) {
      continue;
    }
    if (begin <= place && place < end) return std::string(words[1]);
  }
  return "";
}

TEST(CodeMemoryTest, HoldsCodeThatRunsAndIsNotWritable) {
  const std::string code = "\xb8\x2a" + std::string(3, '\0') + "\xc3";
  const std::byte* at = nullptr;
  {
    absl::StatusOr<CodeMemory> memory = CodeMemory::Install(code);
    ASSERT_TRUE(memory.ok()) << memory.status();
    at = memory->data();
    EXPECT_EQ(PermissionsAt(at), "r-xp");
    auto function =
        reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(at));
    EXPECT_EQ(function(), 42);  // mov eax, 42; ret
    CodeMemory moved = *std::move(memory);
    EXPECT_EQ(moved.data(), at);
    EXPECT_EQ(PermissionsAt(at), "r-xp");
  }
  EXPECT_EQ(PermissionsAt(at), "");
}

TEST(CodeMemoryTest, NothingIsWritableAndExecutable) {
  std::vector<MachineCode> codes;
  for (int k = 1; k <= 50; ++k) {
    const LoopProgram program = MustParse(
        absl::StrCat("p ():\n  inout x : f32[", k, "];\n  vec i0 = 0 to ",
                     k - 1, " {\n    x[i0] := exp(x[i0]);\n  }\n"));
    for (Isa isa : kIsas) {
      absl::StatusOr<MachineCode> code = Load(*Assemble(program, isa), "p");
      ASSERT_TRUE(code.ok()) << code.status();
      codes.push_back(*std::move(code));
    }
  }
  for (const MachineCode& code : codes) {
    EXPECT_EQ(PermissionsAt(code.memory.data()), "r-xp");
  }
  const std::string maps = *ReadFile("/proc/self/maps");
  for (absl::string_view line : absl::StrSplit(maps, '\n')) {
    EXPECT_FALSE(absl::StrContains(line, " rwx")) << line;
  }
}

}  // namespace
}  // namespace ocannl::jit
