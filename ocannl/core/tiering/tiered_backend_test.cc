// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/tiered_backend.h"

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// A tier whose runs and compilations do what the test says.
class FakeBackend : public Backend {
 public:
  explicit FakeBackend(std::string name) : name_(std::move(name)) {}

  absl::string_view name() const override { return name_; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram&) const override {
    ++compilations;
    if (at_compile) at_compile();
    if (fails) return absl::UnimplementedError("no such instruction");
    return std::make_unique<FakeExecutable>(this);
  }

  std::function<void()> at_compile;
  std::function<void()> at_run;
  bool fails = false;
  mutable std::atomic<int> compilations = 0;
  mutable std::atomic<int> runs = 0;

 private:
  class FakeExecutable : public Executable {
   public:
    explicit FakeExecutable(const FakeBackend* backend) : backend_(backend) {}
    bool HasScratch() const override { return backend_->name_ == "fast"; }
    void Run(absl::Span<std::byte* const>,
             absl::Span<const int64_t>) const override {
      ++backend_->runs;
      if (backend_->at_run) backend_->at_run();
    }

   private:
    const FakeBackend* backend_;
  };

  std::string name_;
};

LoopProgram Program(const std::string& array, int size) {
  const std::string number = std::to_string(size);
  return MustParse("p_" + array + " ():\n  in " + array + " : f32[" + number +
                   "]; out y : f32[1];\n  y[0] := " + array + "[0];\n");
}

class TieredBackendTest : public testing::Test {
 protected:
  TieredBackendTest() {
    slow_.at_run = [this] { time_.fetch_add(3); };
    fast_.at_run = [this] { time_.fetch_add(1); };
    fast_.at_compile = [this] { time_.fetch_add(7); };
  }

  // Compiling is predicted to take 10 s, a run nothing.
  Tiering Costs() {
    return {.first = &slow_,
            .second = &fast_,
            .operation_seconds = 0,
            .compile_seconds = 10,
            .instruction_seconds = 0,
            .background_seconds = 1e9,
            .now = [this] { return time_.load(); }};
  }

  static std::unique_ptr<Executable> CompileOn(const TieredBackend& backend,
                                               const LoopProgram& program) {
    auto executable = backend.Compile(program);
    CHECK_OK(executable);
    return *std::move(executable);
  }

  static void Run(const Executable& executable, int times) {
    for (int k = 0; k < times; ++k) executable.Run({}, {});
  }

  std::atomic<double> time_ = 0;
  FakeBackend slow_{"slow"};
  FakeBackend fast_{"fast"};
};

TEST_F(TieredBackendTest, PromotesWhenAsMuchIsSpentAsCompilingWillTake) {
  TieredBackend backend(Costs(), {.report = true});
  auto executable = CompileOn(backend, Program("x", 1));
  Run(*executable, 4);
  EXPECT_EQ(slow_.runs, 4);
  EXPECT_EQ(fast_.compilations, 0);
  EXPECT_THAT(backend.Report(),
              HasSubstr("not compiled for fast; spent 1.2e+04 ms of 1e+04 ms"));
  EXPECT_FALSE(executable->HasScratch());
  Run(*executable, 5);
  EXPECT_EQ(slow_.runs, 4);
  EXPECT_EQ(fast_.runs, 5);
  EXPECT_EQ(fast_.compilations, 1);
  EXPECT_TRUE(executable->HasScratch());
  EXPECT_EQ(backend.Report(),
            "tiers: slow, then fast; cache of code: 0 hits, 1 misses, 0 "
            "dropped\n"
            "p_x: slow 4 runs, 1.2e+04 ms; fast 5 runs, 5e+03 ms\n"
            "  new code: no program of this shape so far; compiled for fast in "
            "7e+03 ms (predicted: 1e+04 ms) after 4 runs, which took 1.2e+04 "
            "ms\n");
}

TEST_F(TieredBackendTest, CompilesBeforeAFirstRunThatWouldTakeLonger) {
  Tiering costs = Costs();
  costs.operation_seconds = 100;
  TieredBackend backend(costs, {.report = true});
  auto executable = CompileOn(backend, Program("x", 1));
  EXPECT_TRUE(executable->HasScratch());
  EXPECT_EQ(slow_.compilations, 0);
  Run(*executable, 1);
  EXPECT_EQ(fast_.runs, 1);
  EXPECT_THAT(backend.Report(), HasSubstr("before the first run"));
}

TEST_F(TieredBackendTest, FailuresBackOffAndThenEnd) {
  fast_.fails = true;
  TieredBackend backend(Costs(), {.report = true});
  auto executable = CompileOn(backend, Program("x", 1));
  Run(*executable, 7);  // before the last one, 18 s are spent
  EXPECT_EQ(fast_.compilations, 1);
  EXPECT_THAT(backend.Report(), HasSubstr("failed once: no such instruction"));
  Run(*executable, 1);  // 21 s
  EXPECT_EQ(fast_.compilations, 2);
  Run(*executable, 100);
  EXPECT_EQ(fast_.compilations, 2);
  EXPECT_EQ(slow_.runs, 108);
  EXPECT_THAT(backend.Report(), HasSubstr("never compiled for fast"));
}

TEST_F(TieredBackendTest, FailureBeforeTheFirstRun) {
  fast_.fails = true;
  Tiering costs = Costs();
  costs.operation_seconds = 100;
  TieredBackend backend(costs, {});
  auto executable = CompileOn(backend, Program("x", 1));
  Run(*executable, 100);
  EXPECT_EQ(fast_.compilations, 2);
  EXPECT_EQ(slow_.runs, 100);
}

TEST_F(TieredBackendTest, FailureOfTheFirstTierIsTheUsers) {
  slow_.fails = true;
  TieredBackend backend(Costs(), {});
  EXPECT_FALSE(backend.Compile(Program("x", 1)).ok());
}

TEST_F(TieredBackendTest, ProgramsOfOneShapeShareTheirCode) {
  TieredBackend backend(Costs(), {.report = true});
  auto x = CompileOn(backend, Program("x", 1));
  Run(*x, 5);
  auto other_name = CompileOn(backend, Program("z", 1));
  EXPECT_TRUE(other_name->HasScratch());
  Run(*other_name, 1);
  EXPECT_EQ(fast_.runs, 2);
  EXPECT_EQ(fast_.compilations, 1);
  auto other_size = CompileOn(backend, Program("x", 2));
  Run(*other_size, 1);
  EXPECT_EQ(slow_.runs, 5);
  EXPECT_THAT(backend.Report(), HasSubstr("1 hits, 2 misses, 0 dropped"));
  EXPECT_THAT(backend.Report(), HasSubstr("code of an equal program"));
}

TEST_F(TieredBackendTest, KeepsSoMuchCodeAndNoMore) {
  TieredBackend backend(Costs(), {.report = true, .cache_size = 1});
  auto first = CompileOn(backend, Program("x", 1));
  CompileOn(backend, Program("x", 2));
  CompileOn(backend, Program("x", 1));
  Run(*first, 1);
  EXPECT_THAT(backend.Report(), HasSubstr("0 hits, 3 misses, 2 dropped"));
  EXPECT_THAT(backend.Report(), HasSubstr("of this shape among the last 1"));
}

TEST_F(TieredBackendTest, CompilesInTheBackgroundWhileOthersRun) {
  std::atomic<bool> may_finish = false;
  fast_.at_compile = [&] { may_finish.wait(false); };
  Tiering costs = Costs();
  costs.background_seconds = 5;
  TieredBackend backend(costs, {.report = true});
  auto executable = CompileOn(backend, Program("x", 1));
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] { Run(*executable, 100); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slow_.runs, 400);
  EXPECT_THAT(backend.Report(), HasSubstr("compiling for fast"));
  threads.clear();
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      while (fast_.runs < 1000) Run(*executable, 1);
    });
  }
  may_finish = true;
  may_finish.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fast_.compilations, 1);
  const int slow_runs = slow_.runs;
  Run(*executable, 1);
  EXPECT_EQ(slow_.runs, slow_runs);
}

TEST_F(TieredBackendTest, EndsWhileCompiling) {
  Tiering costs = Costs();
  costs.background_seconds = 5;
  TieredBackend backend(costs, {});
  for (int size = 1; size < 4; ++size) {
    auto executable = CompileOn(backend, Program("x", size));
    Run(*executable, 5);
  }
}

}  // namespace
}  // namespace ocannl
