// SPDX-License-Identifier: Apache-2.0
//
// The names of OCANNL's training library that the engine does not use itself,
// on numbers that can be worked out by hand, on every tier. 1 second.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/compat/merge_batch.h"
#include "ocannl/train/compat/ocannl_names.h"
#include "ocannl/train/compat/run_once.h"
#include "ocannl/train/compat/virtualize.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/round_robin.h"
#include "ocannl/train/run/run.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CompatTest : public testing::TestWithParam<std::string> {
 protected:
  Tensor Parse(const std::string& name, const std::string& text) {
    Tensor tensor = Named(MustParseTensor(model_.graph, text, names_), name);
    names_.tensors.insert_or_assign(name, tensor);
    return tensor;
  }

  // A loss of which w.grad is 2 (3, 6) and v.grad 5.
  Tensor Loss() {
    names_.tensors.emplace(
        "x", Data(model_.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                  {.rows = {Dims{}, Dims{2}, Dims{}}}));
    Parse("sum", "({w = 3; o=[2]} *. w *. x) ++ \"...|... => 0\"");
    return Parse("loss", "sum + 5 *. {v = 7; o=[1]}");
  }

  Model model_;
  Names names_;
  TestDevice host_{*FindTier(GetParam())};
};

// h is read twice, `once` once, and k for each of two cells.
TEST_P(CompatTest, SettingsOfInlining) {
  struct Row {
    VirtualizeSettings settings;
    std::vector<std::string> in_memory;
  };
  const std::vector<Row> rows = {
      {{}, {"h"}},
      {{.max_visits = 2}, {}},
      {{.max_visits = 0}, {"h", "once"}},
      {{.max_visits = 2, .inline_complex_computations = false}, {"h", "once"}},
      {{.inline_scalar_constexprs = false}, {"h", "k"}},
      {{.inline_simple_computations = false}, {"h"}},
      {{.max_visits = 0, .inline_simple_computations = false},
       {"copy", "h", "once"}},
      {{.enable_device_only = false}, {"copy", "h", "k", "once"}}};
  for (size_t n = 0; n < rows.size(); ++n) {
    SCOPED_TRACE(n);
    Model model;
    const Tensor x = Data(model.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                          {.rows = {Dims{}, Dims{2}, Dims{}}});
    auto parsed = ParseCode(model, R"(
        { copy } =: x;
        { h } =: relu(copy);
        { k } =: 3;
        { once } =: h *. h;
        { t } =: once + k)",
                            {.tensors = {{"x", x}}});
    ASSERT_THAT(parsed, IsOk());
    Assignments& code = parsed->update;
    ASSERT_THAT(Keep(code, "t"), IsOk());
    ASSERT_THAT(SetVirtualization(rows[n].settings, code), IsOk());
    auto program = CompileProgram(code, {});
    ASSERT_THAT(program, IsOk());
    std::vector<std::string> in_memory;
    for (const loop_ir::Buffer& buffer : program->buffers) {
      if (buffer.name != "x" && buffer.name != "t") {
        in_memory.push_back(buffer.name);
      }
    }
    absl::c_sort(in_memory);
    EXPECT_EQ(in_memory, rows[n].in_memory) << PrintCd(code);
    const TestDevice host(*FindTier(GetParam()));
    auto routine = ToRoutine(host.context, code, {});
    ASSERT_THAT(routine, IsOk());
    ASSERT_THAT(SyncRun(*routine), IsOk());
    EXPECT_THAT(CellsOf(host.context, "t"), ElementsAre(4, 7));
    EXPECT_EQ(host.context.Read("h").ok(),
              !rows[n].settings.enable_device_only);
  }
}

// Each cell of h is read for each of 3 outputs, once by a copy, twice by a sum.
TEST_P(CompatTest, VisitsOfAProduct) {
  for (const auto& [text, visits] :
       {std::pair("w * h", 3), {"h ++ \"i => i\"", 1}, {"h *. 2 + h", 2}}) {
    for (const int64_t most : {visits - 1, visits}) {
      Model model;
      const Tensor x = Data(model.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                            {.rows = {Dims{}, Dims{2}, Dims{}}});
      const Tensor w =
          Data(model.graph, "w", NdArray::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}),
               {.rows = {Dims{}, Dims{3}, Dims{2}}});
      auto parsed =
          ParseCode(model, absl::StrCat("{ h } =: x + 1; { t } =: ", text),
                    {.tensors = {{"x", x}, {"w", w}}});
      ASSERT_THAT(parsed, IsOk());
      Assignments& code = parsed->update;
      ASSERT_THAT(Keep(code, "t"), IsOk());
      ASSERT_THAT(SetVirtualization({.max_visits = most}, code), IsOk());
      auto program = CompileProgram(code, {});
      ASSERT_THAT(program, IsOk());
      EXPECT_EQ(program->FindBuffer("h").valid(), most < visits)
          << text << " " << most << "\n"
          << PrintCd(code);
    }
  }
}

// What cannot be inlined stays an array, with the same bits.
TEST_P(CompatTest, InliningOfATraining) {
  std::vector<std::vector<double>> values;
  for (const int64_t visits : {-1, 0, 1, 100}) {
    Model model;
    const Tensor loss = MustParseTensor(
        model.graph,
        "square(relu({w1 = 0.3; o=[3]; i=[2]} * relu({w0 = 0.7; o=[2]; i=[2]} "
        "* [1, -2])) - 1.1) ++ \"...|... => 0\"");
    auto gradient = GradUpdate(model, loss);
    ASSERT_THAT(gradient, IsOk());
    auto update = SgdUpdate(model, loss, ocannl::Number(model.graph, 0.1), {});
    ASSERT_THAT(update, IsOk());
    Assignments step = Sequence("step", {*gradient, update->update});
    if (visits >= 0) {
      ASSERT_THAT(SetVirtualization({.max_visits = visits}, step), IsOk());
    }
    const TestDevice host(*FindTier(GetParam()));
    auto started = RunInit(model, loss, update->init, host.context);
    ASSERT_THAT(started, IsOk());
    auto routine = ToRoutine(*started, step, {});
    ASSERT_THAT(routine, IsOk());
    for (int k = 0; k < 3; ++k) ASSERT_THAT(SyncRun(*routine), IsOk());
    values.push_back(CellsOf(host.context, "w1"));
    EXPECT_EQ(values.back(), values[0]) << visits;
  }
  Assignments none;
  EXPECT_THAT(SetVirtualization({.max_visits = -1}, none),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "max_visits is -1; it must be 0 or more"));
}

TEST_P(CompatTest, RunsOnce) {
  const Tensor loss = Loss();
  const std::string file = absl::StrCat(testing::TempDir(), "/once.cd");
  auto context =
      UpdateOnce(model_, loss, host_.context, {.output_cd_file = file});
  ASSERT_THAT(context, IsOk());
  EXPECT_THAT(CellsOf(*context, "loss"), ElementsAre(27 + 35));
  EXPECT_THAT(CellsOf(*context, "w.grad"), ElementsAre(6, 12));
  EXPECT_THAT(CellsOf(*context, "v.grad"), ElementsAre(5));
  EXPECT_THAT(CellsOf(*context, "w"), ElementsAre(3, 3));
  EXPECT_THAT(ReadFile(file), IsOkAndHolds(HasSubstr("w.grad =+ ")));
  // Values that are there stay, unless all are to be made anew.
  CHECK_OK(context->Write("v", NdArray::Of<float>({1}, {1})));
  for (const bool anew : {false, true}) {
    auto again = WithoutRootnessCheck(model_, [&] {
      return ForwardOnce(model_, loss, *context, {.reinit_all = anew});
    });
    ASSERT_THAT(again, IsOk());
    EXPECT_THAT(CellsOf(*again, "loss"), ElementsAre(anew ? 62 : 32));
  }
  ASSERT_THAT(InitParams(model_, loss, host_.context, {}), IsOk());
  EXPECT_THAT(UpdateOnce(model_, loss, host_.context),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is computed already")));
  const Tensor other = Parse("other", "{u = 2; o=[1]} + 1");
  EXPECT_THAT(ForwardOnce(model_, other, host_.context, {.skip_init = true}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("`u`, which was never written")));
  EXPECT_THAT(
      ToRoutineWithCdFile(host_.context, Assignments(), "/none/once.cd"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none/once.cd")));
}

TEST_P(CompatTest, BindingsOfOneRun) {
  names_.statics.emplace("i", model_.graph.AddStatic("i", 3));
  const Tensor t = Parse("t", "!@i *. 2");
  auto context =
      ForwardOnce(model_, t, host_.context, {.bindings = {{"i", 2}}});
  ASSERT_THAT(context, IsOk());
  EXPECT_THAT(CellsOf(*context, "t"), ElementsAre(4));
}

TEST_P(CompatTest, WithoutRootnessCheck) {
  const Tensor loss = Loss();
  ASSERT_THAT(Forward(model_, loss), IsOk());
  EXPECT_THAT(MakeUpdaten(model_, loss),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is computed already")));
  auto updaten =
      MakeUpdaten(model_, loss,
                  {.disable_rootness_check = true, .setup_for_parallel = true});
  ASSERT_THAT(updaten, IsOk());
  ASSERT_THAT(RunInit(model_, loss, {}, host_.context), IsOk());
  auto routine = ToRoutine(host_.context, updaten->fwd_bprop, {});
  ASSERT_THAT(routine, IsOk());
  ASSERT_THAT(SyncRun(*routine), IsOk());
  EXPECT_THAT(CellsOf(host_.context, "loss"), ElementsAre(62));
  EXPECT_THAT(CellsOf(host_.context, "w.grad"), ElementsAre(6, 12));
  // The code before computes it still.
  EXPECT_FALSE(Forward(model_, loss).ok());
}

TEST_P(CompatTest, FrozenParametersAreKnownNotToBeParameters) {
  const Tensor loss = Loss();
  const Tensor w = Parameters(model_, loss)[0];
  const Tensor v = Parameters(model_, loss)[1];
  EXPECT_TRUE(IsParam(model_, w));
  EXPECT_TRUE(KnownNotParam(model_, loss));
  EXPECT_TRUE(KnownNotParam(model_, names_.tensors.at("x")));
  EXPECT_TRUE(KnownNotParam(model_, Tensor()));
  EXPECT_THAT(SetFrozen(model_, loss, true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a parameter; freeze the parameters")));
  ASSERT_THAT(SetFrozen(model_, w, true), IsOk());
  EXPECT_TRUE(KnownNotParam(model_, w));
  EXPECT_TRUE(IsParam(model_, v));
  EXPECT_EQ(Parameters(model_, loss).size(), 1u);
  EXPECT_EQ(AllParameters(model_, loss).size(), 2u);
  EXPECT_THAT(
      RuleUpdate(model_, {w, v}, ocannl::Number(model_.graph, 1), Sgd()),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "parameter `w` is frozen; leave it out, or call "
               "SetFrozen(model, w, false)"));
  auto step =
      StartTraining(model_, loss, ocannl::Number(model_.graph, 1),
                    Sgd({.momentum = 0.5, .weight_decay = 0.5}), host_.context);
  ASSERT_THAT(step, IsOk());
  ASSERT_THAT(SyncRun(*step), IsOk());
  EXPECT_THAT(CellsOf(host_.context, "w"), ElementsAre(3, 3));
  EXPECT_THAT(CellsOf(host_.context, "v"), ElementsAre(7 - 5 - 3.5));
  ASSERT_THAT(SetFrozen(model_, w, false), IsOk());
  EXPECT_EQ(Parameters(model_, loss).size(), 2u);
}

TEST_P(CompatTest, MergesWithOccupancies) {
  const Tensor loss = Loss();
  const std::vector<Tensor> params = Parameters(model_, loss);
  const TestDevice first(*FindTier(GetParam())), second(*FindTier(GetParam()));
  const std::vector<Context> from = {first.context, second.context};
  CHECK_OK(RunInit(model_, loss, {}, host_.context));
  CHECK_OK(RunInit(model_, loss, {}, first.context));
  // The second context has v alone.
  CHECK_OK(second.context.Write("v", NdArray::Of<float>({1}, {8}),
                                Context::Unused::kIsLeft));
  EXPECT_THAT(MergeBatch(model_, params, from, host_.context),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "MergeBatch: context 1 does not have `w`; link the code "
                       "that computes it there, or give Occupancy::kOptional "
                       "or kSkip"));
  std::vector<std::string> missing;
  MergeBatchOptions options = {
      .occupancy =
          [&](Tensor t, size_t k) {
            return k == 0 && t.id == params[1].id ? Occupancy::kSkip
                                                  : Occupancy::kOptional;
          },
      .if_missing =
          [&](Tensor t, size_t k) {
            missing.push_back(absl::StrCat(t.node().name, " of ", k));
          }};
  for (const bool adds : {true, false}) {
    missing.clear();
    options.adds = adds;
    auto merges = MergeBatch(model_, params, from, host_.context, options);
    ASSERT_THAT(merges, IsOk());
    EXPECT_THAT(missing, ElementsAre("w of 1"));
    ASSERT_EQ((*merges)[0].size(), 1u);
    ASSERT_EQ((*merges)[1].size(), 1u);
    EXPECT_EQ((*merges)[0][0].array(), "w");
    EXPECT_EQ((*merges)[1][0].array(), "v");
    for (auto& of_context : *merges) {
      for (BatchMerge& each : of_context) ASSERT_THAT(each.Run(), IsOk());
    }
    EXPECT_THAT(CellsOf(host_.context, "w"),
                ElementsAre(adds ? 6 : 3, adds ? 6 : 3));
    EXPECT_THAT(CellsOf(host_.context, "v"), ElementsAre(adds ? 15 : 8));
  }
}

TEST_P(CompatTest, MergesGradients) {
  const Tensor loss = Loss();
  const TestDevice other(*FindTier(GetParam()));
  auto updaten = MakeUpdaten(model_, loss, {.setup_for_parallel = true});
  ASSERT_THAT(updaten, IsOk());
  for (const Context& context : {host_.context, other.context}) {
    CHECK_OK(RunInit(model_, loss, {}, context));
    auto routine = ToRoutine(context, updaten->fwd_bprop, {});
    ASSERT_THAT(routine, IsOk());
    ASSERT_THAT(SyncRun(*routine), IsOk());
  }
  auto merges = MergeBatch(model_, updaten->params, {other.context},
                           host_.context, {.gradients = true});
  ASSERT_THAT(merges, IsOk());
  for (BatchMerge& each : (*merges)[0]) ASSERT_THAT(each.Run(), IsOk());
  EXPECT_THAT(CellsOf(host_.context, "w.grad"), ElementsAre(12, 24));
  EXPECT_THAT(CellsOf(host_.context, "v.grad"), ElementsAre(10));
  EXPECT_THAT(
      MergeBatch(model_, {names_.tensors.at("x")}, {other.context},
                 host_.context, {.gradients = true}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("gradient")));
}

// Of 2 * 5 combinations, with the indices that a run has in the same calls.
TEST_P(CompatTest, DryRunsCallAsRunsDo) {
  names_.statics.emplace("i", model_.graph.AddStatic("i", 2));
  names_.statics.emplace("j", model_.graph.AddStatic("j", 5));
  auto code = Forward(model_, Parse("t", "!@i + !@j"));
  ASSERT_THAT(code, IsOk());
  std::vector<Routine> workers;
  for (int k = 0; k < 4; ++k) {
    workers.push_back(*ToRoutine(host_.context, *code, {}));
  }
  std::vector<std::vector<int64_t>> rounds;
  auto sync = [&](int n) {
    rounds.push_back({n});
    for (const StaticRef& index : workers[0].statics()) {
      rounds.back().push_back(*index.value());
    }
    return absl::OkStatus();
  };
  ASSERT_THAT(RoundRobinDryRun(workers[0].statics(), 4, sync), IsOk());
  EXPECT_EQ(workers[0].runs(), 0);
  const std::vector<std::vector<int64_t>> dry = std::exchange(rounds, {});
  ASSERT_THAT(RoundRobin(absl::MakeSpan(workers), sync), IsOk());
  EXPECT_EQ(dry, rounds);
  EXPECT_EQ(dry, (std::vector<std::vector<int64_t>>{
                     {4, 0, 3}, {4, 1, 2}, {2, 1, 4}}));
  EXPECT_THAT(RoundRobinDryRun(workers[0].statics(), 0, sync),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "RoundRobinDryRun: there are 0 workers; give 1 or "
                       "more"));
}

INSTANTIATE_TEST_SUITE_P(All, CompatTest, testing::ValuesIn(AvailableTiers()),
                         [](const auto& tier) {
                           return absl::StrReplaceAll(tier.param, {{"-", "_"}});
                         });

}  // namespace
}  // namespace ocannl::train
