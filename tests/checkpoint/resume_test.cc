// SPDX-License-Identifier: Apache-2.0
//
// Training that was saved, ended and restored goes on with the same bits as
// training that never stopped, on every tier and from one tier to another.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/optim/rules.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::ElementsAre;

struct Task {
  train::Model model;
  std::optional<Tensor> loss;
  Assignments init;
  Assignments step;
};

// A network of one hidden layer that learns exclusive or, by SGD with Nesterov
// momentum and a rate that sinks from step to step.
std::unique_ptr<Task> MakeTask() {
  auto task = std::make_unique<Task>();
  Graph& graph = task->model.graph;
  ShapeSpec rows;
  rows[RowKind::kOutput] = Dims{2};
  rows[RowKind::kInput] = Dims{};
  Tensor x = Data(graph, "x",
                  NdArray::Of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), rows);
  rows[RowKind::kOutput] = Dims{1};
  Tensor y = Data(graph, "y", NdArray::Of<float>({4, 1}, {-1, 1, 1, -1}), rows);
  const int32_t number = graph.AddStatic("number", std::nullopt);
  Names names{.tensors = {{"x", x}, {"y", y}},
              .statics = {{"number", number}},
              .numbers = {}};
  task->loss = ParseTensor(graph, R"(
      relu (1 - (y *. ({w2} * relu ({b; o=[16]} + ({w1} * x)))))
      ++ "...|... => 0")",
                           names)
                   ->tensor;
  Tensor rate =
      ParseTensor(graph, "0.005 *. (50 - !@number) /. 50", names)->tensor;
  task->init = *train::InitParams(task->model, *task->loss);
  Assignments gradient = *train::GradUpdate(task->model, *task->loss);
  train::UpdateCode sgd = *train::SgdUpdate(
      task->model, *task->loss, rate, {.momentum = 0.9, .nesterov = true});
  task->init = train::Sequence("init", {task->init, sgd.init});
  task->step = train::Sequence("step", {gradient, sgd.update});
  return task;
}

// One process that trains: what it knows of another is in files.
class Process {
 public:
  explicit Process(const std::string& tier) : host_(*FindTier(tier)) {}

  // From the start, or from a file.
  void Start(const std::string& path = "") {
    if (path.empty()) {
      Routine init = *ToRoutine(host_.context, task_->init, {});
      CHECK_OK(init.Run());
      CHECK_OK(host_.context.Write("steps", NdArray::Of<int64_t>({}, {0}),
                                   Context::Unused::kIsLeft));
      step_.emplace(*ToRoutine(init.context(), task_->step, {}));
    } else {
      step_.emplace(*ToRoutine(host_.context, task_->step, {}));
      CHECK_OK(train::RestoreParams(path, State(), host_.context));
    }
  }

  void Train(int steps) {
    int64_t number = host_.context.Read("steps")->values<int64_t>()[0];
    for (int k = 0; k < steps; ++k) {
      CHECK_OK(step_->Set("number", number++));
      CHECK_OK(step_->Run());
    }
    CHECK_OK(host_.context.Write("steps", NdArray::Of<int64_t>({}, {number}),
                                 Context::Unused::kIsLeft));
  }

  // What the step needs of the one before it, and how many there were.
  std::vector<Array> State() const {
    std::vector<Array> state = train::StateArrays({&step_->program()});
    state.push_back({.name = "steps", .dtype = DType::kI64, .dims = {}});
    return state;
  }

  void Save(const std::string& path) const {
    CHECK_OK(train::SaveParams(path, State(), host_.context));
  }

  Task& task() { return *task_; }
  const Context& context() const { return host_.context; }

 private:
  std::unique_ptr<Task> task_ = MakeTask();
  TestDevice host_;
  std::optional<Routine> step_;
};

std::vector<std::string> NamesOf(const std::vector<Array>& arrays) {
  std::vector<std::string> names;
  for (const Array& array : arrays) names.push_back(array.name);
  return names;
}

TEST(ResumeTest, TheStateIsWhatAStepReadsAndWrites) {
  Process process("interp");
  process.Start();
  EXPECT_THAT(NamesOf(process.State()),
              ElementsAre("b", "sgd_momentum_b", "sgd_momentum_w1",
                          "sgd_momentum_w2", "w1", "w2", "steps"));
  auto parameters =
      train::ParamArrays(process.task().model, *process.task().loss);
  ASSERT_THAT(parameters, IsOk());
  EXPECT_THAT(NamesOf(*parameters),
              testing::UnorderedElementsAre("b", "w1", "w2"));
}

// `b` passes a value on within the step, `c` to the next step.
TEST(ResumeTest, TheStateOfSeveralRoutines) {
  auto program = [](const IdVector<BufferId, Buffer>& buffers) {
    LoopProgram made;
    made.buffers = buffers;
    return made;
  };
  auto buffer = [](const std::string& name, Role role) {
    return Buffer{
        .name = name, .dtype = DType::kF32, .role = role, .dims = {2}};
  };
  const LoopProgram first = program(
      {buffer("a", Role::kIn), buffer("b", Role::kOut), buffer("c", Role::kIn),
       buffer("d", Role::kInOut), buffer("e", Role::kTemp)});
  const LoopProgram second =
      program({buffer("b", Role::kInOut), buffer("c", Role::kOut),
               buffer("e", Role::kMerge), buffer("f", Role::kOut)});
  const std::vector<Array> state = train::StateArrays({&first, &second});
  EXPECT_THAT(NamesOf(state), ElementsAre("c", "d"));
  EXPECT_EQ(state[0].dtype, DType::kF32);
  EXPECT_EQ(state[0].dims, Dims{2});
  EXPECT_THAT(NamesOf(train::StateArrays({&second, &first})),
              ElementsAre("b", "d"));
}

TEST(ResumeTest, TrainingGoesOnWithTheSameBits) {
  const std::string folder = NewFolder("resume");
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  std::string expected;
  for (const std::string& tier : tiers) {
    Process whole(tier);
    whole.Start();
    whole.Train(40);
    whole.Save(absl::StrCat(folder, "/whole.npz"));
    for (const std::string extension : {".npz", ".safetensors"}) {
      const std::string path = absl::StrCat(folder, "/half", extension);
      for (const std::string& next : {tier, tiers[0]}) {
        {
          Process first(tier);
          first.Start();
          first.Train(23);
          first.Save(path);
        }
        Process second(next);
        second.Start(path);
        second.Train(17);
        const Context& context = second.context();
        for (const Array& array : second.State()) {
          EXPECT_TRUE(context.Read(array.name)->AsString() ==
                      whole.context().Read(array.name)->AsString())
              << array.name << " of " << tier << ", then " << next;
        }
        EXPECT_EQ(context.Read("steps")->AsDouble(0), 40);
        EXPECT_LT(context.Read(whole.task().loss->node().name)->AsDouble(0), 4);
      }
    }
  }
}

// Parameters alone are not enough where there is momentum: the test above
// would notice what is missing.
TEST(ResumeTest, WithoutMomentaOtherBitsFollow) {
  const std::string path = absl::StrCat(NewFolder("params"), "/params.npz");
  Process whole("interp");
  whole.Start();
  whole.Train(20);
  auto parameters = train::ParamArrays(whole.task().model, *whole.task().loss);
  ASSERT_THAT(parameters, IsOk());
  ASSERT_THAT(train::SaveParams(path, *parameters, whole.context()), IsOk());
  Process other("interp");
  other.Start();
  ASSERT_THAT(train::RestoreParams(path, *parameters, other.context()), IsOk());
  EXPECT_TRUE(other.context().Read("w1")->AsString() ==
              whole.context().Read("w1")->AsString());
  CHECK_OK(other.context().Write("steps", NdArray::Of<int64_t>({}, {20}),
                                 Context::Unused::kIsLeft));
  whole.Train(1);
  other.Train(1);
  EXPECT_FALSE(other.context().Read("w1")->AsString() ==
               whole.context().Read("w1")->AsString());
}

}  // namespace
}  // namespace ocannl
