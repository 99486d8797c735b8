// SPDX-License-Identifier: Apache-2.0
//
// Merge buffers: what one context takes of another, on every tier, whatever is
// put off. Gradients are merged in pairs, (0 + 1) + (2 + 3), each sum rounded
// once: those are the bits that one device gets from the same sums.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tiering/checking_backend.h"
#include "ocannl/fuzz/hidden_memory.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr int kWorkers = 4;

// The code of a model of three weights.
class MergeTest : public testing::Test {
 protected:
  MergeTest() {
    Names names;
    names.tensors.emplace(
        "x", Param(model_.graph, "x", Vector(), DType::kF32, nullptr));
    loss_ = Named(MustParseTensor(model_.graph,
                                  "((x *. {w = [0.3, -1.7, 2.9]} - 1) **. 2) "
                                  "++ \"...|... => 0\"",
                                  names),
                  "loss");
    init_ = *train::InitParams(model_, loss_);
    gradient_ = Code("gradient",
                     "loss.forward; loss.zero_grads; loss.grad =: 1; "
                     "loss.backprop");
    merge_ = Code("merge", "w.grad =+ w.grad.merge");
    update_ = Code("update", "w =- 0.01 *. w.grad");
  }

  static ShapeSpec Vector() {
    ShapeSpec spec;
    spec[RowKind::kOutput] = Dims{3};
    return spec;
  }

  Assignments Code(const std::string& name, const std::string& text) {
    auto code = train::ParseCode(model_, text, {});
    CHECK_OK(code);
    code->update.name = name;
    CHECK_OK(Keep(code->update, "w.grad"));
    return code->update;
  }

  std::string Error(const std::string& text) {
    return std::string(train::ParseCode(model_, text, {}).status().message());
  }

  train::Model model_;
  Tensor loss_{};
  Assignments init_, gradient_, merge_, update_;
};

// A device with a part of the work.
struct WorkerDevice : TestDevice {
  using TestDevice::TestDevice;

  void Link(absl::string_view name, const Assignments& code) {
    auto routine = ToRoutine(context, code, {});
    CHECK_OK(routine);
    routines.emplace(name, *std::move(routine));
  }
  void Run(absl::string_view name) {
    CHECK_OK(routines.find(std::string(name))->second.Run());
  }
  std::vector<float> Values(absl::string_view name) const {
    auto array = context.Read(name);
    CHECK_OK(array);
    return {array->values<float>().begin(), array->values<float>().end()};
  }

  std::map<std::string, Routine> routines;
};

class MergedTraining : public MergeTest {
 protected:
  // The weights after `steps` of descent by the gradient of all workers' data.
  // The workers have the backends in turn.
  std::vector<float> Train(const std::vector<const Backend*>& backends,
                           bool traces, int steps) {
    std::vector<std::unique_ptr<WorkerDevice>> workers;
    for (int k = 0; k < kWorkers; ++k) {
      workers.push_back(std::make_unique<WorkerDevice>(
          backends[k % backends.size()], traces));
      WorkerDevice& worker = *workers.back();
      worker.Link("init", init_);
      worker.Run("init");
      worker.Link("gradient", gradient_);
      worker.Link("merge", merge_);
      worker.Link("update", update_);
    }
    for (int step = 0; step < steps; ++step) {
      for (int k = 0; k < kWorkers; ++k) {
        CHECK_OK(workers[k]->context.Write("x", Data(step, k)));
        workers[k]->Run("gradient");
      }
      for (int apart : {1, 2}) {
        for (int k = 0; k + apart < kWorkers; k += 2 * apart) {
          CHECK_OK(workers[k]->context.CopyToMerge(
              "w.grad", workers[k + apart]->context));
          workers[k]->Run("merge");
        }
      }
      workers[0]->Run("update");
      for (int k = 1; k < kWorkers; ++k) {
        CHECK_OK(workers[k]->context.Copy("w", workers[0]->context));
      }
    }
    return workers[0]->Values("w");
  }

  // The same on one device: the gradients are arrays of one context.
  std::vector<float> TrainAlone(const Backend* backend, int steps) {
    WorkerDevice worker(backend, false);
    worker.Link("init", init_);
    worker.Run("init");
    worker.Link("gradient", gradient_);
    worker.Link("update", update_);
    const LoopProgram sum = MustParse(
        "sum (): in g0 : f32[3]; in g1 : f32[3]; in g2 : f32[3]; "
        "in g3 : f32[3]; out w.grad : f32[3]; for i0 = 0 to 2 { "
        "w.grad[i0] := (g0[i0] + g1[i0]) + (g2[i0] + g3[i0]); }");
    auto routine = worker.context.CompileAndLink(sum);
    CHECK_OK(routine);
    for (int step = 0; step < steps; ++step) {
      for (int k = 0; k < kWorkers; ++k) {
        CHECK_OK(worker.context.Write("x", Data(step, k)));
        worker.Run("gradient");
        CHECK_OK(worker.context.Write(absl::StrCat("g", k),
                                      *worker.context.Read("w.grad")));
      }
      CHECK_OK(routine->Run());
      worker.Run("update");
    }
    return worker.Values("w");
  }

  // Numbers whose sums round.
  static NdArray Data(int step, int worker) {
    std::vector<float> values;
    for (int k = 0; k < 3; ++k) {
      values.push_back(
          0.1f * static_cast<float>((step * 7 + worker * 5 + k * 3) % 11) -
          0.37f);
    }
    return NdArray::Of<float>({3}, values);
  }
};

TEST_F(MergedTraining, PairsGiveTheBitsOfOneDeviceOnEveryTier) {
  constexpr int kSteps = 100;
  const interp::InterpBackend interpreter;
  const std::vector<float> alone = TrainAlone(&interpreter, kSteps);
  EXPECT_NE(alone, TrainAlone(&interpreter, kSteps - 1));
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    for (bool traces : {false, true}) {
      EXPECT_THAT(Train({*FindTier(tier)}, traces, kSteps),
                  ElementsAreArray(alone))
          << tier << (traces ? ", traced" : "");
    }
  }
}

TEST_F(MergedTraining, DevicesNeedNoMemoryThatTheHostCanAddress) {
  constexpr int kSteps = 20;
  const interp::InterpBackend host;
  const fuzz::HiddenMemoryBackend hidden;
  const CheckingBackend checked(/*reference=*/&host, /*checked=*/&hidden);
  const std::vector<float> alone = TrainAlone(&host, kSteps);
  EXPECT_EQ(TrainAlone(&hidden, kSteps), alone);
  for (bool traces : {false, true}) {
    EXPECT_EQ(Train({&hidden}, traces, kSteps), alone);
    EXPECT_EQ(Train({&host, &hidden, &checked}, traces, kSteps), alone);
  }
}

TEST_F(MergeTest, ACopyWaitsForRunsThatWerePutOff) {
  auto sums = [&](const Backend* backend, bool traces) {
    WorkerDevice to(backend, traces);
    WorkerDevice from(backend, traces);
    const NdArray zeros(DType::kF32, {3});
    CHECK_OK(to.context.Write("w.grad", zeros));
    CHECK_OK(from.context.Write("w.grad", zeros));
    to.Link("merge", merge_);
    const LoopProgram grow = MustParse(
        "grow (): inout w.grad : f32[3]; for i0 = 0 to 2 { "
        "w.grad[i0] := fma(w.grad[i0], 1.01, 0.1); }");
    auto growing = from.context.CompileAndLink(grow);
    CHECK_OK(growing);
    for (int round = 0; round < 5; ++round) {
      for (int k = 0; k < 100; ++k) CHECK_OK(growing->Run());
      CHECK_OK(to.context.CopyToMerge("w.grad", from.context));
      for (int k = 0; k < 100; ++k) to.Run("merge");
    }
    return to.Values("w.grad");
  };
  const interp::InterpBackend interpreter;
  const std::vector<float> expected = sums(&interpreter, false);
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    EXPECT_THAT(sums(*FindTier(tier), true), ElementsAreArray(expected))
        << tier;
  }
}

TEST_F(MergeTest, CodeAndLoopsNameTheMergeBuffer) {
  EXPECT_THAT(PrintCd(merge_), HasSubstr("w.grad =+ w.grad.merge;"));
  auto program = CompileProgram(merge_, {});
  ASSERT_THAT(program, IsOk());
  const std::string text = Print(*program);
  EXPECT_THAT(text, AllOf(HasSubstr("inout w.grad : f32[3];"),
                          HasSubstr("merge w.grad.merge : f32[3];")));
  auto again = Parse(text);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(Print(*again), text);
}

TEST_F(MergeTest, WhatIsMergedIsWhereItIs) {
  EXPECT_THAT(
      SetMemoryMode(merge_, "w.grad.merge", {MemoryMode::kVirtual, "us"}),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("`w.grad.merge`: it is on_device (the merge buffer) "
                         "and cannot be virtual (us)")));
  EXPECT_THAT(Keep(merge_, "w.grad.merge"), IsOk());
}

TEST_F(MergeTest, ValuesMergeToo) {
  const interp::InterpBackend interpreter;
  WorkerDevice to(&interpreter, true);
  WorkerDevice from(&interpreter, true);
  auto mean = train::ParseCode(model_, "w =+ w.merge; w =* 0.5", {});
  ASSERT_THAT(mean, IsOk());
  mean->update.name = "mean";
  to.Link("mean", mean->update);
  CHECK_OK(to.context.Write("w", NdArray::Of<float>({3}, {1, 2, 3})));
  CHECK_OK(from.context.Write("w", NdArray::Of<float>({3}, {5, 6, 7})));
  ASSERT_THAT(to.context.CopyToMerge("w", from.context), IsOk());
  to.Run("mean");
  EXPECT_THAT(to.Values("w"), testing::ElementsAre(3, 4, 5));
}

TEST_F(MergeTest, WhatIsReadOfAnotherContextIsNotComputedHere) {
  Named(loss_ + 1, "more");
  auto code = train::ParseCode(model_, "{ d } =: more.merge", {});
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT(code->update.list, testing::SizeIs(1));
  EXPECT_THAT(Error("{ d } =: more.merge.merge"),
              HasSubstr("`more.merge.merge` would be of the merge buffer's "
                        "own array; write `more.merge`"));
}

TEST_F(MergeTest, CodeCannotWriteTheMergeBuffer) {
  EXPECT_THAT(Error("w.grad.merge =: 0"),
              HasSubstr("`w.grad.merge` is what the merge buffer holds, which "
                        "code may only read"));
  EXPECT_THAT(Error("w.grad =+ v.merge"), HasSubstr("no tensor `v`"));
}

}  // namespace
}  // namespace ocannl
