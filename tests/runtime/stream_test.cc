// SPDX-License-Identifier: Apache-2.0
//
// Streams with workers do what streams without do, in whatever order the
// system runs their threads: seeded delays make many of those.
#include "ocannl/core/runtime/stream.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/must_parse.h"
#include "tests/support/owner_hash.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

// The interpreter, some of whose runs take longer than they need.
class DelayingBackend : public Backend {
 public:
  explicit DelayingBackend(uint32_t seed) : random_(seed) {}

  absl::string_view name() const override { return "delaying"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> made,
                            interp_.Compile(program));
    return std::make_unique<Delaying>(std::move(made), random_());
  }

  static const std::atomic<int>& Runs() { return Delaying::runs; }

 private:
  class Delaying : public Executable {
   public:
    Delaying(std::unique_ptr<Executable> made, uint32_t seed)
        : made_(std::move(made)), random_(seed) {}
    bool HasScratch() const override { return made_->HasScratch(); }
    void Run(absl::Span<std::byte* const> buffers,
             absl::Span<const int64_t> statics) const override {
      // Bound to the arrays of one context, it runs on one thread at a time.
      const uint32_t delay = random_() % 8;
      if (delay < 2) {
        std::this_thread::sleep_for(std::chrono::microseconds(20 * delay + 5));
      }
      made_->Run(buffers, statics);
      ++runs;
    }

    static inline std::atomic<int> runs = 0;  // of all

   private:
    std::unique_ptr<Executable> made_;
    mutable std::minstd_rand random_;
  };

  interp::InterpBackend interp_;
  mutable std::minstd_rand random_;
};

// What `steps` of training on four shards end with.
std::string TrainShards(const Backend* backend, int threads, int steps) {
  std::vector<float> x, y;
  for (int k = 0; k < 16; ++k) {
    x.push_back(static_cast<float>(k % 5) - 2);
    x.push_back(static_cast<float>(k % 3) - 1);
    y.push_back(static_cast<float>(k % 7) - 3);
  }
  auto training = train::DataParallel::Make(
      backend, {.n_shards = 4, .threads = threads},
      {{"x", NdArray::Of<float>({16, 2}, x)},
       {"y", NdArray::Of<float>({16, 1}, y)}},
      [](train::Model& model,
         absl::Span<const Tensor> batch) -> absl::StatusOr<Tensor> {
        Names names{.tensors = {{"x", batch[0]}, {"y", batch[1]}}};
        OCANNL_ASSIGN_OR_RETURN(
            ParsedTensor parsed,
            ParseTensor(model.graph,
                        "square(({w2} * relu({b1; o=[3]} + ({w1} * x))) - y) "
                        "++ \"...|... => 0\"",
                        names));
        return Named(parsed.tensor, "loss");
      },
      [](train::Model& model, Tensor loss, const auto&) {
        return train::SgdUpdate(model, loss, Number(model.graph, 0.01),
                                {.momentum = 0.5});
      });
  CHECK_OK(training);
  for (int k = 0; k < steps; ++k) CHECK_OK(training->Step());
  return OwnerHash(*training);
}

// On demand, 1,000: STREAM_SCHEDULES=1000 bazel run //tests/runtime:stream_test
int Schedules() {
  const char* const wanted = std::getenv("STREAM_SCHEDULES");
  return wanted == nullptr ? 20 : std::atoi(wanted);
}

TEST(StreamTest, DelaysChangeNoBit) {
  const interp::InterpBackend interp;
  const std::string hash = TrainShards(&interp, /*threads=*/1, 6);
  for (int seed = 1; seed <= Schedules(); ++seed) {
    const DelayingBackend backend(seed);
    EXPECT_EQ(TrainShards(&backend, /*threads=*/2 + seed % 3, 6), hash)
        << "seed " << seed;
  }
}

class TwoStreamsTest : public testing::Test {
 protected:
  Routine Link(const Context& context, const std::string& text,
               const std::string& kept) {
    train::Model model;
    auto code = train::ParseCode(model, text, {});
    CHECK_OK(code);
    code->update.name = absl::StrCat("make_", kept);
    CHECK_OK(Keep(code->update, kept));
    auto routine = ToRoutine(context, code->update, {});
    CHECK_OK(routine);
    return *std::move(routine);
  }

  DelayingBackend backend_{5};
  Device device_{"host", &backend_};
  Worker first_, second_;
  Stream one_{&device_, {.worker = &first_}};
  Stream two_{&device_, {.worker = &second_}};
  Context a_{&one_}, b_{&two_};
};

TEST_F(TwoStreamsTest, CopiesWaitForWhatTheyCopyAndAreWaitedFor) {
  Routine make = Link(a_, "{ x } =: [1; 2]", "x");
  Routine grow = Link(a_, "{ x } =: x + [1; 2]", "x");
  CHECK_OK(a_.Write("x", NdArray::Of<float>({2}, {0, 0})));
  for (int k = 1; k <= 50; ++k) {
    ASSERT_THAT(grow.Run(), IsOk());
    ASSERT_THAT(b_.Copy("x", a_), IsOk());
    ASSERT_THAT(grow.Run(), IsOk());  // must not reach the copy
    auto copied = b_.Read("x");
    ASSERT_THAT(copied, IsOk());
    EXPECT_EQ(copied->AsDouble(1), 2 * (2 * k - 1)) << k;
  }
  EXPECT_THAT(make.Run(), IsOk());
  EXPECT_EQ(a_.Read("x")->AsDouble(0), 1);
}

TEST_F(TwoStreamsTest, MergeBuffersPointWithoutACopy) {
  Routine grow = Link(a_, "{ x } =: x + [1; 2]", "x");
  CHECK_OK(a_.Write("x", NdArray::Of<float>({2}, {0, 0})));
  CHECK_OK(b_.Write("x", NdArray::Of<float>({2}, {0, 0})));
  LoopProgram sum = MustParse(
      "sum ():\n  merge x.merge : f32[2]; inout x : f32[2];\n"
      "  for i0 = 0 to 1 { x[i0] := x[i0] + x.merge[i0]; }\n");
  auto merge = b_.CompileAndLink(sum);
  ASSERT_THAT(merge, IsOk());
  float expected = 0;
  for (int k = 1; k <= 50; ++k) {
    ASSERT_THAT(grow.Run(), IsOk());
    expected += 2 * static_cast<float>(k);
    ASSERT_THAT(b_.PointMerge("x", a_), IsOk());
    ASSERT_THAT(merge->Run(), IsOk());
    // Nobody knows how long it is read.
    EXPECT_THAT(std::string(grow.Run().message()),
                HasSubstr("`x` cannot be written while the merge buffer"));
    EXPECT_FALSE(a_.Write("x", NdArray::Of<float>({2}, {0, 0})).ok());
    b_.ReleaseMerge();
  }
  EXPECT_EQ(b_.Read("x")->AsDouble(1), expected);
  EXPECT_THAT(std::string(merge->Run().message()), HasSubstr("holds nothing"));
  EXPECT_EQ(a_.Read("x")->AsDouble(1), 100);
}

TEST_F(TwoStreamsTest, SharedArraysAreReadHereAndWrittenThere) {
  Routine grow = Link(a_, "{ x } =: x + [1; 2]", "x");
  CHECK_OK(a_.Write("x", NdArray::Of<float>({2}, {0, 0})));
  ASSERT_THAT(b_.Share("x", a_), IsOk());
  LoopProgram twice = MustParse(
      "twice ():\n  in x : f32[2]; out y : f32[2];\n"
      "  for i0 = 0 to 1 { y[i0] := x[i0] + x[i0]; }\n");
  auto read = b_.CompileAndLink(twice);
  ASSERT_THAT(read, IsOk());
  for (int k = 1; k <= 50; ++k) {
    ASSERT_THAT(grow.Run(), IsOk());
    ASSERT_THAT(b_.Copy("x", a_), IsOk());  // waits, and copies nothing
    ASSERT_THAT(read->Run(), IsOk());
    ASSERT_THAT(grow.Run(), IsOk());  // waits for the reader
    EXPECT_EQ(b_.Read("y")->AsDouble(1), 4 * (2 * k - 1)) << k;
  }
  EXPECT_THAT(
      std::string(b_.Write("x", NdArray(DType::kF32, {2})).message()),
      HasSubstr("the host cannot write `x`, which this context shares"));
  LoopProgram zero = MustParse(
      "zero ():\n  out x : f32[2];\n  for i0 = 0 to 1 { x[i0] := 0; }\n");
  EXPECT_THAT(std::string(b_.CompileAndLink(zero).status().message()),
              HasSubstr("routine `zero` cannot write `x`"));
  EXPECT_THAT(std::string(b_.Share("x", a_).message()),
              HasSubstr("has an array `x` of its own"));
  // Nor can it be had from here; and what is read is what a_ has then.
  Context c(&one_);
  for (absl::Status status : {c.Share("x", b_), c.Copy("x", b_),
                              c.CopyToMerge("x", b_), c.PointMerge("x", b_)}) {
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("shares `x` cannot give it away"));
  }
  CHECK_OK(grow.Run());
  EXPECT_EQ(b_.Read("x")->AsDouble(0), 101);
  for (int k = 102; k <= 150; ++k) {
    CHECK_OK(grow.Run());
    CHECK_OK(b_.Use("x", [k](absl::Span<const std::byte> bytes) {
      EXPECT_EQ(*reinterpret_cast<const float*>(bytes.data()), k);
      return absl::OkStatus();
    }));
    b_.stream().Sync();
  }
  EXPECT_THAT(std::string(b_.Share("z", a_).message()),
              HasSubstr("no array `z`"));
}

TEST_F(TwoStreamsTest, EventsAreDoneAfterWhatCameBefore) {
  Routine grow = Link(a_, "{ n } =: n + 1", "n");
  CHECK_OK(a_.Write("n", NdArray::Of<float>({1}, {0})));
  for (int k = 0; k < 20; ++k) CHECK_OK(grow.Run());
  const Event done = one_.Record();
  two_.WaitFor(done);
  bool was_done = false;
  CHECK_OK(two_.Do([&] {
    was_done = done.IsDone();
    return absl::OkStatus();
  }));
  two_.Sync();
  EXPECT_TRUE(was_done);
  EXPECT_EQ(a_.Read("n")->AsDouble(0), 20);
}

// Who waits for another stream does first what it has put off: else one thread
// would do nothing.
TEST_F(TwoStreamsTest, WaitingDoesWhatWasDeferred) {
  Stream inline_stream(&device_);
  const Context here(&inline_stream);
  Routine grow = Link(here, "{ n } =: n + 1", "n");
  CHECK_OK(here.Write("n", NdArray::Of<float>({1}, {0})));
  const int before = DelayingBackend::Runs();
  for (int k = 0; k < 100; ++k) CHECK_OK(grow.Run());
  bool seen = false;
  CHECK_OK(two_.Do([&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!seen && std::chrono::steady_clock::now() < end) {
      seen = DelayingBackend::Runs() == before + 100;
    }
    return absl::OkStatus();
  }));
  inline_stream.WaitFor(two_.Record());
  EXPECT_TRUE(seen);
}

TEST_F(TwoStreamsTest, ErrorsOfWorkAreKept) {
  CHECK_OK(two_.Do([] { return absl::InternalError("broken"); }));
  two_.Sync();
  EXPECT_EQ(two_.status().message(), "broken");
  CHECK_OK(b_.Write("x", NdArray::Of<float>({1}, {0})));
  EXPECT_EQ(b_.Read("x").status().message(), "broken");
  EXPECT_THAT(one_.status(), IsOk());
}

}  // namespace
}  // namespace ocannl
