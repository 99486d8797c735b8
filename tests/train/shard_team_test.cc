// SPDX-License-Identifier: Apache-2.0
//
// The threads of the shards compute gradients without a team, as all of them
// are at work, then merge and update together.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "ocannl/train/parallel/replicas.h"
#include "ocannl/train/parallel/round_robin.h"
#include "tests/support/fit_squares.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/owner_hash.h"

namespace ocannl {
namespace {

using train::DataParallel;
using train::Model;

// A layer of 256 x 256, whose merge and update are worth several threads.
DataParallel Train(const Backend* backend, int n_shards, int threads) {
  auto training =
      FitSquares(backend, {.n_shards = n_shards, .threads = threads},
                 "{w = 0.01; o=[256]} * x", 16, 256, 1e-3);
  CHECK_OK(training);
  return *std::move(training);
}

std::string HashAfterSteps(const Backend* backend, int threads) {
  DataParallel training = Train(backend, 4, threads);
  for (int step = 0; step < 100; ++step) CHECK_OK(training.Step());
  return OwnerHash(training);
}

// The names of the programs whose nests a worker of streams did a part of.
std::set<std::string> ProgramsOfWorkers(const std::string& trace) {
  const nlohmann::json events = nlohmann::json::parse(trace);
  std::set<int64_t> workers;
  for (const auto& event : events) {
    if (event["name"] == "thread_name" &&
        event["args"]["name"] == "stream worker") {
      workers.insert(event["tid"].get<int64_t>());
    }
  }
  std::set<std::string> programs;
  for (const auto& event : events) {
    if (event.value("cat", "") != "nest") continue;
    if (!workers.contains(event["tid"].get<int64_t>())) continue;
    const std::string name = event["name"];
    programs.insert(name.substr(0, name.find(":nest-")));
  }
  return programs;
}

TEST(ShardTeamTest, MergesAndUpdatesOnAllThreads) {
  const std::string tier = AvailableTiers().back();
  if (!absl::StartsWith(tier, "x86-")) {
    GTEST_SKIP() << "nothing to compare: " << tier << " has no parallel loops";
  }
  const std::string path =
      absl::StrCat(testing::TempDir(), "/shard_team_trace.json");
  CHECK_OK(TraceEvents::Start(path));
  const Backend* backend = *FindTier(tier, {.threads = 1});
  const std::string alone = HashAfterSteps(backend, 1);
  CHECK_OK(TraceEvents::Flush());
  EXPECT_EQ(ProgramsOfWorkers(*ReadFile(path)), std::set<std::string>());
  EXPECT_EQ(HashAfterSteps(backend, 3), alone);
  CHECK_OK(TraceEvents::Flush());
  EXPECT_THAT(ProgramsOfWorkers(*ReadFile(path)),
              testing::IsSupersetOf({"merge_w.grad", "sgd_update"}));
}

struct Asked {
  // Returns when it is so, or patience ends.
  void WaitUntil(absl::FunctionRef<bool()> is_so) const {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!is_so() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
  }

  std::chrono::milliseconds patience{10'000};
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> caller_runs = false;
  Team team{2};
  std::atomic<int> asked = 0, taken = 0;
};

// The interpreter, whose gradients ask for a team on a worker's thread, while
// one runs on the caller's.
class AskingBackend : public Backend {
 public:
  explicit AskingBackend(Asked& asked) : asked_(asked) {}

  absl::string_view name() const override { return "asking"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    auto interp = interp::InterpBackend().Compile(program);
    if (!interp.ok() || program.name != "loss_gradient") return interp;
    return std::make_unique<Gradient>(*std::move(interp), asked_);
  }

 private:
  class Gradient : public Executable {
   public:
    Gradient(std::unique_ptr<Executable> interp, Asked& asked)
        : interp_(std::move(interp)), asked_(asked) {}

    bool HasScratch() const override { return interp_->HasScratch(); }

    void Run(absl::Span<std::byte* const> buffers,
             absl::Span<const int64_t> statics) const override {
      interp_->Run(buffers, statics);
      if (std::this_thread::get_id() == asked_.caller) {
        const int before = asked_.asked;
        asked_.caller_runs = true;
        asked_.WaitUntil([&] { return asked_.asked > before; });
        asked_.caller_runs = false;
      } else {
        asked_.WaitUntil([&] { return asked_.caller_runs.load(); });
        if (asked_.team.TryRun([](int) {})) ++asked_.taken;
        ++asked_.asked;
      }
    }

   private:
    std::unique_ptr<Executable> interp_;
    Asked& asked_;
  };

  Asked& asked_;
};

TEST(ShardTeamTest, GradientsHaveNoTeam) {
  Asked asked;
  const AskingBackend backend(asked);
  DataParallel training = Train(&backend, 2, 2);
  for (int step = 0; step < 20; ++step) CHECK_OK(training.Step());
  CHECK_OK(training.MeanLoss());
  EXPECT_EQ(asked.asked, 20);
  EXPECT_EQ(asked.taken, 0);
}

// Two devices in turn; the caller's begins before the worker's, unless it is
// put off.
TEST(ShardTeamTest, NeitherHaveThoseOfParallelUpdate) {
  Asked asked;
  asked.patience = std::chrono::milliseconds(20);
  const AskingBackend backend(asked);
  Model model;
  Names names;
  names.statics.emplace("k", model.graph.AddStatic("k", 20));
  const Tensor loss = Named(
      MustParseTensor(model.graph,
                      "({w = 0.5; o=[1]} *. !@k) ++ \"...|... => 0\"", names),
      "loss");
  Assignments gradient = *train::GradUpdate(model, loss);
  Assignments update =
      train::SgdUpdate(model, loss, Number(model.graph, 0.1), {})->update;
  const std::vector<Tensor> parameters = train::Parameters(model, loss);
  CHECK_OK(Keep(gradient, "w.grad"));
  CHECK_OK(Keep(update, "w.grad"));
  VirtualDevices devices(&backend, 2, 2);
  std::vector<Context> contexts;
  std::vector<Routine> gradients;
  for (size_t k = 0; k < devices.size(); ++k) {
    contexts.push_back(devices[k].context);
    gradients.push_back(*ToRoutine(contexts[k], gradient, {}));
  }
  CHECK_OK(ToRoutine(contexts[0], *train::InitParams(model, loss), {})->Run());
  Routine updating = *ToRoutine(contexts[0], update, {});
  auto replicas =
      train::Replicas::Make(model, parameters, parameters, contexts);
  CHECK_OK(replicas);
  CHECK_OK(replicas->ShareParameters());
  CHECK_OK(train::ParallelUpdate(absl::MakeSpan(gradients), updating, *replicas,
                                 [](int) { return absl::OkStatus(); }));
  EXPECT_EQ(asked.asked, 10);
  EXPECT_EQ(asked.taken, 0);
}

}  // namespace
}  // namespace ocannl
