// SPDX-License-Identifier: Apache-2.0
//
// Memory modes that C++ users ask for: what becomes of the arrays, and what
// contradicts what. tests/golden/memory has the programs.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// h is too dear to be computed twice, unless it is asked for.
class MemoryModesTest : public testing::Test {
 protected:
  MemoryModesTest()
      : x_(Named(Parse("[1, 2, 4]"), "x")),
        h_(Named(Log2(x_), "h")),
        loss_(
            Named(Einsum1("...|... => 0", PointMul(h_, Parse("{w=[1,2,4]}"))) +
                      Einsum1("...|... => 0", h_),
                  "loss")) {}

  Tensor Parse(const std::string& text) {
    return MustParseTensor(model_.graph, text);
  }

  LoopProgram Program() {
    auto code = train::Forward(model_, loss_);
    CHECK_OK(code);
    auto program = CompileProgram(*code, {});
    CHECK_OK(program);
    return *std::move(program);
  }

  static bool Has(const LoopProgram& program, absl::string_view name) {
    for (const Buffer& buffer : program.buffers) {
      if (buffer.name == name) return true;
    }
    return false;
  }

  train::Model model_;
  Tensor x_, h_, loss_;
};

TEST_F(MemoryModesTest, VirtualHasNoArrayAndTheSameBits) {
  ASSERT_THAT(SetMemoryMode(h_, MemoryMode::kVirtual), IsOk());
  const LoopProgram program = Program();
  EXPECT_FALSE(Has(program, "h"));
  EXPECT_TRUE(fuzz::TiersAgree(program));
}

TEST_F(MemoryModesTest, LocalHasOneThatTheContextDoesNotKnow) {
  ASSERT_THAT(SetMemoryMode(h_, MemoryMode::kNeverVirtual), IsOk());
  ASSERT_THAT(SetMemoryMode(h_, MemoryMode::kLocal), IsOk());
  const LoopProgram program = Program();
  EXPECT_TRUE(Has(program, "h"));
  EXPECT_TRUE(fuzz::TiersAgree(program));
}

TEST_F(MemoryModesTest, WhatIsOnTheDeviceIsRead) {
  for (bool asked : {false, true}) {
    train::Model model;
    Tensor h = Named(Log2(MustParseTensor(model.graph, "[1, 2, 4]")), "h");
    if (asked) {
      ASSERT_THAT(SetMemoryMode(h, MemoryMode::kOnDevice), IsOk());
    }
    auto code = train::Forward(model, h + 1);
    ASSERT_THAT(code, IsOk());
    TestDevice host;
    auto routine = ToRoutine(host.context, *code, {});
    ASSERT_THAT(routine, IsOk());
    ASSERT_THAT(routine->Run(), IsOk());
    auto values = routine->context().Read("h");
    if (!asked) {
      EXPECT_THAT(values, StatusIs(StatusCode::kNotFound));
      continue;
    }
    ASSERT_THAT(values, IsOk());
    EXPECT_THAT(values->values<float>(), ElementsAre(0, 1, 2));
  }
}

TEST_F(MemoryModesTest, ErrorsSayWhoAskedAndWhere) {
  ASSERT_THAT(SetMemoryMode(loss_, MemoryMode::kLocal), IsOk());
  const int line = __LINE__ - 1;
  EXPECT_THAT(
      train::GradUpdate(model_, loss_),
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("the memory mode of `loss`: it is local"),
                     HasSubstr(absl::StrCat(
                         "SetMemoryMode at memory_modes_test.cc:", line)),
                     HasSubstr("materialized (the result of Forward)"))));
}

TEST_F(MemoryModesTest, NodesAskThemselves) {
  // A literal is an array already, which holds a constant.
  EXPECT_THAT(SetMemoryMode(x_, MemoryMode::kEffectivelyConstant), IsOk());
  EXPECT_THAT(SetMemoryMode(x_, MemoryMode::kVirtual),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("materialized (a literal)")));
  EXPECT_THAT(SetMemoryMode(Number(model_.graph, 2), MemoryMode::kLocal),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("effectively_constant (a number)")));
}

TEST_F(MemoryModesTest, AnErrorNodeTakesAnyMode) {
  Tensor error = ErrorTensor(model_.graph, absl::InternalError("a fault"),
                             SourceLocation::Current());
  for (MemoryMode mode : {MemoryMode::kVirtual, MemoryMode::kMaterialized}) {
    EXPECT_THAT(SetMemoryMode(error, mode), IsOk());
  }
  EXPECT_EQ(error.node().memory, std::nullopt);
}

TEST_F(MemoryModesTest, CodeThatIsPutTogetherMayContradictItself) {
  auto code = [](MemoryMode mode, const std::string& why) {
    Assignments part;
    part.name = why;
    part.AddArray({.name = "t",
                   .dtype = DType::kF32,
                   .dims = {},
                   .memory = MemoryRequest{mode, why}});
    return part;
  };
  const std::vector<Assignments> parts = {code(MemoryMode::kLocal, "first"),
                                          code(MemoryMode::kOnDevice, "then")};
  EXPECT_THAT(CompileProgram(train::Sequence("both", parts), {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("`t`: it is local (first) and cannot be "
                                 "on_device (then)")));
}

TEST_F(MemoryModesTest, WhatChangesBeforeItsUseCannotBeVirtual) {
  auto code =
      train::ParseCode(model_, "{ d } =: w + 1; w =- 0.5; { e } =: d *. d", {});
  ASSERT_THAT(code, IsOk());
  code->update.name = "code";
  ASSERT_THAT(SetMemoryMode(code->update, "d", {MemoryMode::kVirtual, "us"}),
              IsOk());
  ASSERT_THAT(Keep(code->update, "e"), IsOk());
  EXPECT_THAT(
      CompileProgram(code->update, {}),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("`d` is to be virtual (us), but it cannot be inlined: "
                         "what it is computed from changes before it is "
                         "used; ask for local instead")));
}

// The gradient of a small network.
Assignments NetGradient() {
  train::Model model;
  auto parsed =
      ParseTensor(model.graph,
                  "(relu({b; o=[4]} + {w; i=[3]} * [1, -2, 3]) **. 2 /. 3) ++ "
                  "\"...|... => 0\"",
                  {});
  CHECK_OK(parsed);
  auto code = train::GradUpdate(model, Named(parsed->tensor, "loss"));
  CHECK_OK(code);
  for (absl::string_view name : {"w.grad", "b.grad"}) {
    CHECK_OK(Keep(*code, name));
  }
  return *std::move(code);
}

absl::StatusOr<RunResult> ResultOf(const Assignments& code) {
  auto program = CompileProgram(code, {});
  if (!program.ok()) return program.status();
  return RunProgram(*program, FillInputs(*program));
}

TEST(MemoryModesOfNetsTest, NoModeChangesABit) {
  const Assignments code = NetGradient();
  const auto expected = ResultOf(code);
  ASSERT_THAT(expected, IsOk());
  ASSERT_EQ(expected->size(), 3);  // loss, w.grad and b.grad
  int num_taken = 0;
  int num_refused = 0;
  for (const Array& array : code.arrays) {
    for (MemoryMode mode :
         {MemoryMode::kVirtual, MemoryMode::kLocal, MemoryMode::kOnDevice}) {
      Assignments asked = code;
      absl::Status status =
          SetMemoryMode(asked, array.name, {mode, "the test"});
      absl::StatusOr<RunResult> actual = status.ok() ? ResultOf(asked) : status;
      if (!actual.ok()) {
        EXPECT_THAT(actual, StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("the test")));
        ++num_refused;
        continue;
      }
      EXPECT_EQ(Difference(*expected, *actual), "")
          << array.name << " " << Name(mode);
      ++num_taken;
    }
  }
  EXPECT_GT(num_taken, 20);
  EXPECT_GT(num_refused, 3);
}

}  // namespace
}  // namespace ocannl
