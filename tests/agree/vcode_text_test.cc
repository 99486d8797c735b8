// SPDX-License-Identifier: Apache-2.0
//
// That the text of VCode says all that there is of a nest: over the programs of
// the workloads and those picked by hand, for both instruction sets and after
// every pass.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/workloads.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/vcode/text/parse.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/agree_programs.h"

namespace ocannl::jit {
namespace {

// The number of `entry` among those that were met.
template <class T>
int32_t NumberOf(const T& entry, std::vector<T>& met) {
  auto at = absl::c_find(met, entry);
  if (at == met.end()) at = met.insert(at, entry);
  return static_cast<int32_t>(at - met.begin());
}

// The nest without what its text leaves out: no-operations, registers and
// constants without use, statements, and the op of what has none.
Nest Normalized(const Nest& nest) {
  Nest result;
  result.pointers = nest.pointers;
  result.loops = nest.loops;
  auto keep = [&](size_t reg) {
    std::vector<Register>& kept = result.registers;
    kept.resize(std::max(kept.size(), reg + 1));
    kept[reg] = nest.registers[reg];
  };
  for (size_t reg = 0; reg < nest.registers.size(); ++reg) {
    if (nest.registers[reg].is_mutable) keep(reg);
  }
  auto normalize = [&](const std::vector<Inst>& insts) {
    std::vector<Inst> normalized;
    int32_t lookups = 0;
    for (Inst inst : insts) {
      if (inst.opcode == Opcode::kNop) continue;
      if (inst.opcode != Opcode::kApply) inst.op = Op::kAdd;
      if (inst.opcode == Opcode::kSourceLoc) {
        SourceLine line = nest.source_lines[inst.line];
        line.stmt = nullptr;
        inst.line = NumberOf(line, result.source_lines);
      }
      if (Info(inst.opcode).field == OpcodeInfo::Field::kLookup) {
        result.lookups.resize(
            std::max(result.lookups.size(), size_t(lookups) + 1));
        result.lookups[lookups] = nest.lookups[inst.lookup];
        inst.lookup = lookups++;
      }
      if (inst.dst.is_valid()) keep(inst.dst.index);
      for (Value& arg : inst.args) {
        if (arg.kind != Value::kConst) continue;
        arg.index = NumberOf(nest.constants[arg.index], result.constants);
      }
      normalized.push_back(inst);
    }
    return normalized;
  };
  result.insts = normalize(nest.insts);
  result.aligned = nest.aligned;
  result.otherwise = normalize(nest.otherwise);
  return result;
}

// Returns how many nests were seen.
int CheckText(LoopProgram program, Isa isa) {
  program = Schedule(program, TargetOf(isa));
  int nests = 0;
  Nest last;
  auto check = [&](absl::string_view pass, const Nest& nest) {
    if (nest == last) return;  // the pass has changed nothing
    last = nest;
    ++nests;
    const std::string text = Print(program, nest);
    absl::StatusOr<Nest> parsed = Parse(program, text);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\nafter " << pass << "\n"
                             << text;
    EXPECT_EQ(Print(program, *parsed), text) << "after " << pass;
    ASSERT_TRUE(Normalized(*parsed) == Normalized(nest))
        << "after " << pass << "\n"
        << text;
  };
  const std::vector<Block> blocks = SplitNests(program.body);
  absl::StatusOr<std::vector<Nest>> each =
      LowerToVcode(program, blocks, isa, check);
  absl::StatusOr<std::vector<Nest>> once =
      LowerToVcode(program, blocks, isa, nullptr, {}, /*has_text=*/false);
  EXPECT_TRUE(each.ok() && once.ok());
  // Equal nests come out as each does by itself, but for lines and the number.
  for (size_t k = 0; k < blocks.size(); ++k) {
    (*each)[k].source_lines.clear();
    const Nest& renamed = (*once)[k];
    Nest nest = (*once)[renamed.form >= 0 ? renamed.form : k];
    nest.aligned = renamed.aligned;
    nest.pointers = renamed.pointers;
    nest.loops = renamed.loops;
    nest.source_lines.clear();
    nest.form = -1;
    EXPECT_TRUE(nest == (*each)[k]) << "nest " << k;
  }
  return nests;
}

using NamedPrograms = std::vector<std::pair<std::string, LoopProgram>>;

NamedPrograms AllPrograms() {
  NamedPrograms all;
  for (const auto& group :
       {MoonsWorkloads(), MlpWorkloads(), NetWorkloads(), GemmWorkloads(),
        EinsumWorkloads(), MapWorkloads(), RowWorkloads()}) {
    for (const WorkloadMaker& maker : group) {
      absl::StatusOr<std::vector<LoopProgram>> programs = ProgramsOf(maker);
      CHECK_OK(programs) << maker.name;
      for (LoopProgram& program : *programs) {
        all.emplace_back(maker.name, std::move(program));
      }
    }
  }
  for (auto& [name, program] : AgreePrograms()) all.emplace_back(name, program);
  return all;
}

class VcodeTextTest : public testing::TestWithParam<Isa> {};

TEST_P(VcodeTextTest, IsReadBackAsItWas) {
  static const auto* programs = new NamedPrograms(AllPrograms());
  int nests = 0;
  for (const auto& [name, program] : *programs) {
    SCOPED_TRACE(name);
    nests += CheckText(program, GetParam());
    if (HasFailure()) return;
  }
  EXPECT_GT(nests, 1000);
}

INSTANTIATE_TEST_SUITE_P(Isas, VcodeTextTest, testing::ValuesIn(kIsas),
                         [](const auto& test) {
                           return std::string(Name(test.param));
                         });

}  // namespace
}  // namespace ocannl::jit
