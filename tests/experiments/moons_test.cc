// SPDX-License-Identifier: Apache-2.0
//
// The half-moons experiment end to end: every stage of the training step
// stores the same bits, and training converges, the same each time.
#include <memory>
#include <string>
#include <vector>

#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/run/sequential_loop.h"
#include "tests/support/run_program.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

// Adds the schedules of `program`, and compares what all stages store.
void ExpectSameBits(std::vector<StageText> stages, const LoopProgram& program) {
  for (jit::Isa isa : jit::kIsas) {
    stages.push_back(jit::ExplainSchedule(program, isa));
  }
  RunResult expected;
  for (const StageText& stage : stages) {
    if (stage.stage == "cd" || stage.stage == "memory") continue;
    absl::StatusOr<LoopProgram> parsed = Parse(stage.text);
    ASSERT_TRUE(parsed.ok()) << stage.stage << ": " << parsed.status();
    EXPECT_EQ(Print(*parsed), stage.text);
    absl::StatusOr<RunResult> actual = RunProgram(*parsed, FillInputs(*parsed));
    ASSERT_TRUE(actual.ok()) << stage.stage << ": " << actual.status();
    if (expected.empty()) expected = *actual;
    EXPECT_EQ(Difference(expected, *actual), "") << stage.stage;
  }
}

TEST(MoonsTest, EveryPrintedStageStoresTheSameBits) {
  absl::StatusOr<LabelledPoints> points = HalfMoons(40, 1);
  ASSERT_TRUE(points.ok());
  auto moons = MakeMoons(*points, {});
  ASSERT_TRUE(moons.ok()) << moons.status();
  auto init = train::InitParams((*moons)->model, (*moons)->loss);
  ASSERT_TRUE(init.ok()) << init.status();
  for (const Assignments& code : {*init, (*moons)->step}) {
    absl::StatusOr<Explanation> explanation = ExplainCode(code, {});
    ASSERT_TRUE(explanation.ok()) << explanation.status();
    ASSERT_GE(explanation->stages.size(), 4u);
    ExpectSameBits(explanation->stages, explanation->program);
  }
}

struct Trained {
  double last_loss = 0;
  std::string hash;
  std::string traces;
  std::vector<LoopProgram> programs;  // that were made of them
};

// Reads the loss after every step, or after every epoch what was recorded.
enum class Watching { kSteps, kEpochs };

absl::StatusOr<Trained> Train(uint32_t seed, const Backend* backend,
                              Watching watching, DType dtype = DType::kF32,
                              int64_t epochs = MoonsOptions().epochs) {
  OCANNL_ASSIGN_OR_RETURN(LabelledPoints points, HalfMoons(400, seed));
  MoonsOptions options;
  options.seed = seed;
  options.dtype = dtype;
  options.epochs = epochs;
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<train::FitCode> moons,
                          MakeMoons(points, options));
  const TestDevice host(backend);
  const Context& context = host.context;
  OCANNL_ASSIGN_OR_RETURN(const Context started, moons->Start(context));
  OCANNL_ASSIGN_OR_RETURN(Routine step, ToRoutine(started, moons->step, {}));
  OCANNL_ASSIGN_OR_RETURN(Recording losses,
                          Recording::Make(step.context(), "scalar_loss", 80));
  Trained trained;
  int64_t number = 0;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    trained.last_loss = 0;
    absl::Status status = train::SequentialLoop(step.statics(), [&] {
      OCANNL_RETURN_IF_ERROR(step.Set("step", number++));
      OCANNL_RETURN_IF_ERROR(step.Run());
      if (watching == Watching::kEpochs) return losses.Append();
      OCANNL_ASSIGN_OR_RETURN(NdArray loss, context.Read("scalar_loss"));
      trained.last_loss += loss.AsDouble(0);
      return absl::OkStatus();
    });
    OCANNL_RETURN_IF_ERROR(status);
    if (watching == Watching::kSteps) continue;
    OCANNL_ASSIGN_OR_RETURN(NdArray loss, losses.Take());
    for (int64_t k = 0; k < loss.size(); ++k) {
      trained.last_loss += loss.AsDouble(k);
    }
  }
  trained.traces = host.stream.Report();
  for (const LoopProgram* program : host.stream.Programs()) {
    trained.programs.push_back(*program);
  }
  OCANNL_ASSIGN_OR_RETURN(trained.hash,
                          train::ParamsHash(context, moons->parameters));
  return trained;
}

// The hashes are those of GCC 12 and clang 14 alike: a change of a single
// rounding anywhere from the data to the update changes them.
TEST(MoonsTest, TrainsToTheSameBitsOnEveryTier) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    const Backend* backend = *FindTier(tier);
    absl::StatusOr<Trained> one = Train(1, backend, Watching::kSteps);
    ASSERT_TRUE(one.ok()) << tier << ": " << one.status();
    EXPECT_EQ(one->hash, "6c53f72b6a28b7d0") << tier;
    EXPECT_EQ(one->last_loss, 0) << tier;
    absl::StatusOr<Trained> epochs = Train(1, backend, Watching::kEpochs);
    ASSERT_TRUE(epochs.ok()) << tier << ": " << epochs.status();
    EXPECT_EQ(epochs->hash, one->hash) << tier;
    EXPECT_EQ(epochs->last_loss, one->last_loss) << tier;
    EXPECT_THAT(epochs->traces, HasSubstr("compiled as one program")) << tier;
    absl::StatusOr<Trained> three = Train(3, backend, Watching::kEpochs);
    ASSERT_TRUE(three.ok()) << tier << ": " << three.status();
    EXPECT_EQ(three->hash, "cafe884b459b3229") << tier;
  }
}

TEST(MoonsTest, TrainsInNarrowFloatsToTheSameBitsOnEveryTier) {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (DType dtype : {DType::kBF16, DType::kF16, DType::kF8E5M2}) {
    std::string hash;
    for (const std::string& tier : tiers) {
      absl::StatusOr<Trained> trained =
          Train(1, *FindTier(tier), Watching::kEpochs, dtype, /*epochs=*/20);
      ASSERT_TRUE(trained.ok()) << tier << ": " << trained.status();
      if (hash.empty()) hash = trained->hash;
      EXPECT_EQ(trained->hash, hash) << tier << " in " << Name(dtype);
    }
    absl::StatusOr<Trained> whole =
        Train(1, *FindTier("auto"), Watching::kEpochs, dtype);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_LT(whole->last_loss, dtype == DType::kF8E5M2 ? 80 : 1);
  }
}

TEST(MoonsTest, EveryRunOnTheFastestTierIsThatOfTheInterpreter) {
  if (AvailableTiers().size() == 1) GTEST_SKIP() << "needs AVX2";
  const Backend* backend = Checked(*FindTier("auto"));
  absl::StatusOr<Trained> trained = Train(1, backend, Watching::kEpochs);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->hash, "6c53f72b6a28b7d0");
  EXPECT_THAT(backend->Report(), HasSubstr("runs left the bits of interp"));
}

TEST(MoonsTest, AStepAndItsRecordingAreOnePrintedProgram) {
  absl::StatusOr<Trained> trained =
      Train(1, *FindTier("auto"), Watching::kEpochs);
  ASSERT_TRUE(trained.ok()) << trained.status();
  ASSERT_EQ(trained->programs.size(), 1u);
  const LoopProgram& program = trained->programs[0];
  EXPECT_EQ(program.name, "trace_1");
  EXPECT_THAT(trained->traces, HasSubstr("compiled as one program, trace_1\n"));
  ExpectSameBits({{.stage = "ll", .file_name = "", .text = Print(program)}},
                 program);
}

}  // namespace
}  // namespace ocannl
