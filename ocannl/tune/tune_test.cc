// SPDX-License-Identifier: Apache-2.0
//
// The search with a clock and times that are made up, and races on this
// machine. 3 seconds.
#include "ocannl/tune/tune.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/tune/nests.h"
#include "ocannl/tune/race.h"
#include "ocannl/tune/script_lines.h"
#include "ocannl/tune/search.h"
#include "ocannl/tune/sketch.h"
#include "tests/support/must_parse.h"

namespace ocannl::tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// 20 rows leave a remainder of most tiles, and so do 40 columns.
constexpr char kProduct[] = R"(
p ():
  in x : f32[20, 24];
  in y : f32[24, 40];
  out z : f32[20, 40];
  zero_out z;
  for i0 = 0 to 19 { for i1 = 0 to 39 { for i2 = 0 to 23 {
    z[i0, i1] := fma(x[i0, i2], y[i2, i1], z[i0, i1]);
  } } }
  for i3 = 0 to 19 { for i4 = 0 to 39 {
    z[i3, i4] := relu(z[i3, i4]);
  } }
)";

LoopProgram Product() {
  LoopProgram program = MustParse(kProduct);
  CountIterators(program);
  return program;
}

const Target& Avx2() { return jit::TargetOf(jit::Isa::kAvx2); }

// A statement costs 1, of all lanes together.
class CountedRace : public Race {
 public:
  std::vector<Outcome> Run(absl::Span<const LoopProgram* const> programs,
                           const Rules&) override {
    std::vector<Outcome> outcomes;
    const double first = Cost(programs[0]->body, 1);
    for (const LoopProgram* program : programs) {
      const double cost = Cost(program->body, 1);
      outcomes.push_back(
          {.is_done = true, .seconds = cost, .ratio = cost / first});
    }
    return outcomes;
  }

  std::string Proof(const LoopProgram&, const LoopProgram&) override {
    return "";
  }

 private:
  static double Cost(const Block& block, double times) {
    double cost = 0;
    for (const Stmt& stmt : block.stmts) {
      const For* loop = std::get_if<For>(&stmt);
      if (loop == nullptr) {
        cost += times;
        continue;
      }
      const bool is_lanes = loop->kind == LoopKind::kVec;
      cost += Cost(loop->body,
                   times * (is_lanes ? 1 : static_cast<double>(loop->extent)));
    }
    return cost;
  }
};

TuneOptions Options(uint64_t seed, bool from_planner = true) {
  return {.target = Avx2(),
          .seconds = 30,
          .seed = seed,
          .from_planner = from_planner,
          .clock = [now = 0.0]() mutable { return now++; }};
}

struct Result {
  Tuned tuned;
  std::string told;
};

Result TuneProduct(const TuneOptions& options) {
  CountedRace race;
  std::ostringstream out;
  absl::StatusOr<Tuned> tuned = Tune(Product(), options, race, out);
  CHECK_OK(tuned);
  return {*tuned, out.str()};
}

TEST(TuneTest, TheSameSeedAndTimesGiveTheSameScript) {
  const Result one = TuneProduct(Options(7));
  EXPECT_EQ(one.tuned.script, TuneProduct(Options(7)).tuned.script);
  EXPECT_NE(one.tuned.script, TuneProduct(Options(8)).tuned.script);
  EXPECT_THAT(one.told, HasSubstr("nest-0: "));
  EXPECT_THAT(one.told, HasSubstr("the planner's: "));
  EXPECT_THAT(one.told, HasSubstr(" a minute"));
}

TEST(TuneTest, FindsFewerStatementsThanThePlannersScript) {
  const Result found = TuneProduct(Options(7));
  EXPECT_LT(found.tuned.ratio, 0.95) << found.told;
  EXPECT_EQ(found.tuned.faster_nests, 1u);
}

TEST(TuneTest, FindsVectorsWithoutThePlannersScript) {
  const Result found = TuneProduct(Options(7, /*from_planner=*/false));
  EXPECT_THAT(found.tuned.script, HasSubstr("vectorize "));
  EXPECT_LT(found.tuned.ratio, 2) << found.told;
}

TEST(TuneTest, AScriptRunsOnTheProgram) {
  const std::string script = TuneProduct(Options(7)).tuned.script;
  const absl::StatusOr<LoopProgram> rewritten =
      rewrite::RunScript(Product(), script);
  ASSERT_TRUE(rewritten.ok()) << rewritten.status() << script;
  EXPECT_NE(Print(*rewritten), Print(Product()));
}

TEST(TuneTest, StopsWhenItIsTold) {
  TuneOptions options = Options(7);
  options.stops = [] { return true; };
  const Result stopped = TuneProduct(options);
  EXPECT_THAT(stopped.told, HasSubstr("nothing found"));
  EXPECT_THAT(stopped.told, HasSubstr("no script was made"));
  // It is the planner's.
  EXPECT_THAT(stopped.tuned.script, HasSubstr("absorb_zero_out z i1"));
}

TEST(TuneTest, AProgramWithoutNestsIsAnError) {
  CountedRace race;
  std::ostringstream out;
  const absl::StatusOr<Tuned> tuned =
      Tune(MustParse("p ():\n  out y : f32[1];\n  y[0] := 1;\n"), Options(1),
           race, out);
  EXPECT_THAT(std::string(tuned.status().message()),
              HasSubstr("`p` has no nest that can be tuned"));
}

TEST(NestsTest, StatementsThatThePlannerFusesAreOneNest) {
  const std::vector<Nest> nests = NestsOf(Product(), Avx2());
  ASSERT_THAT(nests, SizeIs(1));
  EXPECT_EQ(nests[0].name, "nest-0");
  EXPECT_THAT(nests[0].program.body.stmts, SizeIs(3));
  EXPECT_THAT(nests[0].canonical, IsEmpty());
  EXPECT_NE(Print(PlannedProgram(nests[0])), Print(nests[0].program));
}

TEST(NestsTest, LinesBringLoopsIntoCanonicalForm) {
  LoopProgram program = MustParse(R"(
p ():
  in x : f32[8, 4];
  out z : f32[8, 1];
  zero_out z;
  for i0 = 0 to 3 { for i1 = 0 to 7 { for i2 = 0 to 0 {
    z[i1, i2] := fma(x[i1, i0], x[i1, i0], z[i1, i2]);
  } } }
)");
  CountIterators(program);
  const std::vector<Nest> nests = NestsOf(program, Avx2());
  ASSERT_THAT(nests, SizeIs(1));
  EXPECT_THAT(nests[0].canonical, ElementsAre("unroll i2", "reorder i1 i0"));
  Lines lines = nests[0].canonical;
  absl::c_copy(nests[0].planned, std::back_inserter(lines));
  EXPECT_TRUE(LinesForWhole(program, lines).ok());
}

TEST(ScriptLinesTest, ALineIsItsWords) {
  for (const char* text :
       {"lane, tail = split i1 24", "reorder i0 i1 lane", "bind lane unroll",
        "privatize z i0 i1", "a, b = pack x i0 i1 lane"}) {
    const auto line = ParseLine(text);
    ASSERT_TRUE(line) << text;
    EXPECT_EQ(line->Text(), text);
  }
  EXPECT_FALSE(ParseLine("# nest-0"));
  EXPECT_FALSE(ParseLine("tile i0 i1"));
  EXPECT_THAT(ParseLine("privatize z i0 i1")->Loops(), ElementsAre("i0", "i1"));
  EXPECT_EQ(ParseLine("privatize z i0 i1")->Buffer(), "z");
  EXPECT_EQ(ParseLine("lane = split i1 24")->NumberAt(), 1u);
}

TEST(ScriptLinesTest, WhatIsRefusedIsLeftOut) {
  LegalScript script(Product());
  script.DoAll({"vectorize i2", "lane = split i4 8", "vectorize lane"});
  EXPECT_THAT(script.lines(),
              ElementsAre("lane = split i4 8", "vectorize lane"));
  EXPECT_EQ(script.refused(), 1);
  EXPECT_EQ(script.ExtentOf("i4"), 5);
  EXPECT_EQ(script.ExtentOf("lane"), 8);
  EXPECT_EQ(script.ExtentOf("i9"), 0);
}

TEST(SketchTest, TilesWithRemaindersAreLegal) {
  const std::optional<Contracted> form = FindContraction(Product(), Avx2());
  ASSERT_TRUE(form);
  EXPECT_EQ(form->result, "z");
  EXPECT_THAT(form->operands, ElementsAre("y", "x"));
  for (bool outside : {true, false}) {
    LegalScript script(Product());
    WriteSketch(*form,
                {.lanes = 16,
                 .rows = 6,
                 .row = 0,
                 .unrolled = 4,
                 .lanes_outside = outside,
                 .packed = {outside, false}},
                script);
    EXPECT_TRUE(script.Verify().ok()) << script.Verify();
    const std::string lines = absl::StrJoin(script.lines(), "\n");
    EXPECT_THAT(lines, HasSubstr("privatize z")) << outside;
    EXPECT_EQ(absl::StrContains(lines, "pack y"), outside) << lines;
    // All four kinds of tiles keep their sums in registers.
    EXPECT_EQ(
        std::vector<std::string>(absl::StrSplit(lines, "privatize z")).size(),
        5u)
        << lines;
  }
}

class OnMachineTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!jit::HostIsa()) GTEST_SKIP() << "needs AVX2";
  }

  OnMachine MakeRace(RaceOptions options = {}) {
    options.isa = *jit::HostIsa();
    return OnMachine(options, product_, /*seed=*/3);
  }

  const LoopProgram product_ = Product();
};

TEST_F(OnMachineTest, SchedulesKeepTheBits) {
  OnMachine race = MakeRace();
  const std::optional<Contracted> form =
      FindContraction(product_, jit::TargetOf(*jit::HostIsa()));
  fuzz::Random random(5);
  for (int k = 0; k < 10; ++k) {
    LegalScript script(product_);
    WriteSketch(*form, RandomSketch(*form, random), script);
    const std::vector<Outcome> outcomes =
        race.Run({&product_, &script.program()}, {});
    EXPECT_TRUE(outcomes[1].is_done) << outcomes[1].fault << "\n"
                                     << absl::StrJoin(script.lines(), "\n");
    EXPECT_EQ(race.Proof(product_, script.program()), "");
  }
}

TEST_F(OnMachineTest, OtherBitsAreAFault) {
  const LoopProgram other = MustParse(R"(
p ():
  in x : f32[20, 24];
  in y : f32[24, 40];
  out z : f32[20, 40];
  for i3 = 0 to 19 { for i4 = 0 to 39 { z[i3, i4] := x[i3, 1]; } }
)");
  OnMachine race = MakeRace();
  const std::vector<Outcome> outcomes = race.Run({&product_, &other}, {});
  EXPECT_TRUE(outcomes[0].is_done);
  EXPECT_FALSE(outcomes[1].is_done);
  EXPECT_THAT(outcomes[1].fault, HasSubstr("bits differ: "));
  EXPECT_THAT(race.Proof(product_, other), Not(IsEmpty()));
}

TEST_F(OnMachineTest, WhatDoesNotEndHarmsNoOther) {
  const LoopProgram endless = MustParse(R"(
p ():
  in x : f32[20, 24];
  in y : f32[24, 40];
  out z : f32[20, 40];
  zero_out z;
  for i0 = 0 to 999999 { for i1 = 0 to 999999 {
    z[3, 4] := z[3, 4] / x[0, 0];
  } }
)");
  OnMachine race = MakeRace({.most_seconds = 1});
  const std::vector<Outcome> outcomes =
      race.Run({&product_, &endless, &product_}, {});
  EXPECT_TRUE(outcomes[0].is_done);
  EXPECT_FALSE(outcomes[1].is_done);
  EXPECT_THAT(outcomes[1].fault, HasSubstr("died of signal"));
  EXPECT_TRUE(outcomes[2].is_done);
}

TEST_F(OnMachineTest, LargePrivateArraysAreRefused) {
  LegalScript script(product_);
  script.DoAll({"y_pack, y_pack_2 = pack y i0"});
  ASSERT_EQ(script.refused(), 0);
  OnMachine race = MakeRace({.most_scratch = 1000});
  const std::vector<Outcome> outcomes =
      race.Run({&product_, &script.program()}, {});
  EXPECT_FALSE(outcomes[1].is_done);
  EXPECT_THAT(outcomes[1].fault, HasSubstr("private arrays have more than"));
}

}  // namespace
}  // namespace ocannl::tune
