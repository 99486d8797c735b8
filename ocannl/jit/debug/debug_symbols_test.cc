// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/debug/debug_symbols.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/wanted_debug_symbols.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/debug/debug_info.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

const std::byte* At(uintptr_t place) {
  return reinterpret_cast<const std::byte*>(place);
}

const std::vector<DebugSymbol>& Symbols() {
  static const auto* symbols = new std::vector<DebugSymbol>{
      {"p:nest-0", At(0x5000), 0x80}, {"p:nest-1", At(0x5080), 0x1c}};
  return *symbols;
}

TEST(DebugSymbolsTest, PerfMap) {
  EXPECT_EQ(PerfMapText(Symbols()),
            "5000 80 p:nest-0\n"
            "5080 1c p:nest-1\n");
}

template <class T>
T Read(const std::string& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.substr(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

TEST(DebugSymbolsTest, ElfObject) {
  const std::vector<DebugSection> sections = {{".debug_line", "rows"}};
  const std::string object = ElfObject(Symbols(), sections);
  const auto header = Read<Elf64_Ehdr>(object, 0);
  ASSERT_EQ(object.substr(0, SELFMAG), ELFMAG);
  ASSERT_EQ(header.e_shnum, 5);
  auto section = [&](int k) {
    return Read<Elf64_Shdr>(object, header.e_shoff + k * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  EXPECT_EQ(names.sh_offset + names.sh_size, object.size());
  auto name = [&](uint32_t place) {
    return std::string(object.c_str() + names.sh_offset + place);
  };
  EXPECT_EQ(name(section(1).sh_name), ".text");
  EXPECT_EQ(section(1).sh_addr, 0x5000);
  EXPECT_EQ(section(1).sh_size, 0x9c);
  const Elf64_Shdr table = section(2);
  ASSERT_EQ(table.sh_size, 3 * sizeof(Elf64_Sym));
  const auto last =
      Read<Elf64_Sym>(object, table.sh_offset + 2 * sizeof(Elf64_Sym));
  EXPECT_EQ(name(last.st_name), "p:nest-1");
  EXPECT_EQ(last.st_value, 0x80);
  EXPECT_EQ(last.st_size, 0x1c);
  EXPECT_EQ(name(section(4).sh_name), ".debug_line");
  EXPECT_EQ(object.substr(section(4).sh_offset, section(4).sh_size), "rows");
}

// What GDB makes of them is tests/gdb_test.py's.
TEST(DebugSymbolsTest, LinesOfStatementsAndLoops) {
  const LoopProgram program = MustParse(R"(
    sum ():
      in x : f32[100];
      inout y : f32[];
      /* a comment
         of two lines */
      for i0 = 0 to 99 {
        y[] := y[] + x[i0];
      }
  )");
  const CodeImage image =
      *Assemble(program, Isa::kAvx2, /*with_debug_info=*/true);
  const DebugInfo& info = *image.debug;
  std::vector<int64_t> lines;
  for (const DebugRows::Line& row : info.rows.lines) lines.push_back(row.line);
  EXPECT_THAT(lines, ElementsAre(6, 7, 6));
  EXPECT_EQ(info.rows.frames.front().begin, 0);
  EXPECT_EQ(info.ends.size(), image.sections.size());
  const std::vector<DebugSymbol> symbols = {{"sum:nest-0", At(0x5000), 0x80}};
  absl::StatusOr<DebugTables> tables = MakeDebugTables(info, symbols);
  ASSERT_TRUE(tables.ok()) << tables.status();
  const std::string path = tables->source->Path("sum-schedule.ll");
  EXPECT_EQ(*ReadFile(path), Print(program));
  std::vector<std::string> names;
  for (const DebugSection& section : tables->sections) {
    names.push_back(section.name);
    EXPECT_FALSE(section.bytes.empty()) << section.name;
  }
  EXPECT_THAT(names, IsSupersetOf({".debug_info", ".debug_abbrev",
                                   ".debug_line", ".debug_frame"}));
  tables->source = nullptr;
  EXPECT_FALSE(ReadFile(path).ok());
}

// Whoever guesses the name of the map does not choose the file.
TEST(DebugSymbolsTest, NoOtherFileIsThePerfMap) {
  const std::string path = absl::StrCat("/tmp/perf-", getpid(), ".map");
  const std::string other = path + ".other";
  ASSERT_TRUE(WriteFile(other, "kept").ok());
  unlink(path.c_str());
  ASSERT_EQ(symlink(other.c_str(), path.c_str()), 0);
  DebugSymbols(Symbols(), "perf");
  EXPECT_EQ(*ReadFile(other), "kept");
  unlink(path.c_str());
  ASSERT_EQ(link(other.c_str(), path.c_str()), 0);
  DebugSymbols(Symbols(), "perf");
  EXPECT_EQ(*ReadFile(other), "kept");
  unlink(path.c_str());
  unlink(other.c_str());
  DebugSymbols(Symbols(), "perf");
  DebugSymbols(Symbols(), "perf");
  EXPECT_EQ(*ReadFile(path), PerfMapText(Symbols()) + PerfMapText(Symbols()));
  struct stat stat = {};
  ASSERT_EQ(lstat(path.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode, mode_t{S_IFREG | 0600});
  unlink(path.c_str());
}

TEST(DebugSymbolsTest, TheEnvironmentTurnsThemOn) {
  const LoopProgram program = MustParse(R"(
    halve ():
      inout x : f32[8];
      x[0] := x[0] * 0.5;
  )");
  const std::string path = absl::StrCat("/tmp/perf-", getpid(), ".map");
  unlink(path.c_str());
  const CodeImage image = *Assemble(program, Isa::kAvx2);
  ASSERT_TRUE(Load(image, program.name).ok());
  EXPECT_FALSE(ReadFile(path).ok());
  setenv("OCANNL_JIT_SYMBOLS", "bogus", 1);
  EXPECT_EQ(Load(image, program.name).status().message(),
            "OCANNL_JIT_SYMBOLS=bogus: `bogus` is no kind of symbols; write "
            "perf, gdb or perf,gdb");
  setenv("OCANNL_JIT_SYMBOLS", "perf,gdb", 1);
  EXPECT_TRUE(WantsGdb());
  absl::StatusOr<MachineCode> code = Load(image, program.name);
  unsetenv("OCANNL_JIT_SYMBOLS");
  ASSERT_TRUE(code.ok()) << code.status();
  absl::StatusOr<std::string> map = ReadFile(path);
  ASSERT_TRUE(map.ok()) << map.status();
  unlink(path.c_str());
  EXPECT_EQ(
      *map,
      absl::StrCat(absl::Hex(reinterpret_cast<uintptr_t>(code->memory.data())),
                   " ", absl::Hex(code->memory.size()), " halve:nest-0\n"));
}

}  // namespace
}  // namespace ocannl::jit
