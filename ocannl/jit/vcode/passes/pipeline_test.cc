// SPDX-License-Identifier: Apache-2.0
//
// That Verify finds what a pass may break. That it accepts what they make,
// LowerToVcode checks in every compilation.
#include "ocannl/jit/vcode/passes/pipeline.h"

#include <functional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/vcode/verify.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kProgram[] = R"(
p ():
  in x : f32[10, 16];
  in y : f32[16];
  out z : f32[10, 16];
  for i1 = 0 to 9 {
    vec i2 = 0 to 15 {
      z[i1, i2] := (x[i1, i2] + y[i2]) * 3;
    }
  }
)";

std::vector<Nest> Lowered(LoopProgram& program) {
  return *LowerToVcode(program, SplitNests(program.body), Isa::kAvx512);
}

TEST(PipelineTest, NamesItsPasses) {
  LoopProgram program = MustParse(kProgram);
  std::vector<std::string> names;
  EXPECT_TRUE(LowerToVcode(program, SplitNests(program.body), Isa::kAvx512,
                           [&](absl::string_view pass, const Nest&) {
                             names.emplace_back(pass);
                           })
                  .ok());
  EXPECT_THAT(names,
              ElementsAre("select", "interleave", "transpose", "fuse_or_and",
                          "pair_extremes", "fuse_negations", "dead_code",
                          "fold_inserts", "fold_loads", "legalize",
                          "rematerialize_loads", "insert_prefetches",
                          "hoist_constants", "stream_stores"));
}

TEST(PipelineTest, LeavesPassesOut) {
  LoopProgram program = MustParse(kProgram);
  const std::vector<std::string> skip = {"transpose", "fold_loads", "legalize",
                                         "hoist_constants"};
  std::vector<std::string> names;
  EXPECT_TRUE(LowerToVcode(
                  program, SplitNests(program.body), Isa::kAvx512,
                  [&](absl::string_view pass, const Nest&) {
                    names.emplace_back(pass);
                  },
                  skip)
                  .ok());
  EXPECT_THAT(
      names,
      ElementsAre("select", "interleave", "fuse_or_and", "pair_extremes",
                  "fuse_negations", "dead_code", "fold_inserts", "legalize",
                  "rematerialize_loads", "insert_prefetches", "stream_stores"));
}

// The second one is the first with other names; the rest read other buffers, in
// another order, or are of another size.
constexpr char kAlikeNests[] = R"(
p ():
  inout w1 : f32[40]; inout w2 : f32[40]; inout w3 : f32[41];
  in g1 : f32[40]; in g2 : f32[40]; in g3 : f32[41];
  for i1 = 0 to 39 { w1[i1] := w1[i1] - g1[i1]; }
  for i7 = 0 to 39 { w2[i7] := w2[i7] - g2[i7]; }
  for i2 = 0 to 39 { w2[i2] := w1[i2] - g2[i2]; }
  for i3 = 0 to 39 { w1[i3] := g1[i3] - w1[i3]; }
  for i4 = 0 to 40 { w3[i4] := w3[i4] - g3[i4]; }
)";

TEST(PipelineTest, LowersEqualNestsOnce) {
  LoopProgram program = MustParse(kAlikeNests);
  const std::vector<Block> blocks = SplitNests(program.body);
  for (Isa isa : kIsas) {
    const std::vector<Nest> each = *LowerToVcode(program, blocks, isa);
    const std::vector<Nest> once = *LowerToVcode(program, blocks, isa, nullptr,
                                                 {}, /*has_text=*/false);
    ASSERT_EQ(each.size(), 5);
    ASSERT_EQ(once.size(), 5);
    for (size_t k = 0; k < once.size(); ++k) {
      EXPECT_EQ(once[k].form, k < 2 ? 0 : -1) << k;
      EXPECT_EQ(once[k].insts.empty(), k == 1) << k;
      EXPECT_EQ(once[k].pointers, each[k].pointers) << k;
      EXPECT_EQ(once[k].loops, each[k].loops) << k;
    }
  }
}

struct Fault {
  const char* expected;
  std::function<void(Nest& nest, Inst& add, Inst& store)> make;
};

class FaultTest : public testing::TestWithParam<Fault> {};

TEST_P(FaultTest, IsFound) {
  LoopProgram program = MustParse(kProgram);
  std::vector<Nest> nests = Lowered(program);
  ASSERT_EQ(nests.size(), 1);
  Nest& nest = nests[0];
  auto find = [&](auto is_wanted) -> Inst& {
    const auto found = absl::c_find_if(nest.insts, is_wanted);
    CHECK(found != nest.insts.end()) << Print(program, nest);
    return *found;
  };
  Inst& add = find([](const Inst& inst) {
    return inst.opcode == Opcode::kApply && inst.op == Op::kAdd;
  });
  Inst& store =
      find([](const Inst& inst) { return inst.opcode == Opcode::kStore; });
  GetParam().make(nest, add, store);
  EXPECT_THAT(std::string(Verify(nest).message()),
              HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultTest,
    testing::Values(
        Fault{"is used before its definition",
              [](Nest&, Inst& add, Inst&) { add = Nop(); }},
        Fault{"is defined twice",
              [](Nest&, Inst& add, Inst& store) { store = add; }},
        Fault{
            "its lanes are not those of its register",
            [](Nest&, Inst& add, Inst&) { add.lanes = add.active_lanes = 8; }},
        Fault{"memory has more lanes",
              [](Nest&, Inst&, Inst& store) { store.lanes = 8; }},
        Fault{"the number of operands is not that of its opcode",
              [](Nest&, Inst&, Inst& store) { store.args = {}; }},
        Fault{"an operand cannot be memory",
              [](Nest&, Inst&, Inst& store) {
                store.args[0] = {Value::kMemory, -1};
              }},
        Fault{"no such register",
              [](Nest&, Inst&, Inst& store) { store.args[0].index = 1000; }},
        Fault{"no such pointer",
              [](Nest&, Inst&, Inst& store) { store.memory.pointer = 1000; }},
        Fault{"no such line",
              [](Nest& nest, Inst&, Inst&) { nest.source_lines.clear(); }},
        Fault{"it needs a result",
              [](Nest&, Inst& add, Inst&) { add.dst = {}; }},
        Fault{"a loop or `when` has no end",
              [](Nest& nest, Inst&, Inst&) { nest.insts.pop_back(); }}));

}  // namespace
}  // namespace ocannl::jit
