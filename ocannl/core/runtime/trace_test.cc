// SPDX-License-Identifier: Apache-2.0
//
// A trace does what it is told, in order, whenever somebody looks; only how
// often it calls the tier is its own affair.
#include "ocannl/core/runtime/trace.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// What ran: a letter and a number for each run of a part.
using Runs = std::vector<std::pair<char, int64_t>>;

// Programs are named by the letters of their parts; each has a static index.
class LetterBackend : public Backend {
 public:
  absl::string_view name() const override { return "letters"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    ++compilations;
    if (fails) return absl::UnimplementedError("no such letter");
    std::string letters;
    for (const Buffer& buffer : program.buffers) letters += buffer.name[0];
    return std::make_unique<Letters>(this, letters);
  }

  mutable int compilations = 0;
  mutable int calls = 0;
  mutable Runs runs;
  bool fails = false;

 private:
  class Letters : public Executable {
   public:
    Letters(const LetterBackend* backend, std::string letters)
        : backend_(backend), letters_(std::move(letters)) {}
    void Run(absl::Span<std::byte* const>,
             absl::Span<const int64_t> statics) const override {
      ++backend_->calls;
      Log(statics);
    }
    void Repeat(absl::Span<std::byte* const>, absl::Span<int64_t> statics,
                absl::Span<const int64_t> steps, int64_t count) const override {
      ++backend_->calls;
      for (int64_t run = 0; run < count; ++run) {
        Log(statics);
        for (size_t k = 0; k < statics.size(); ++k) statics[k] += steps[k];
      }
    }

   private:
    void Log(absl::Span<const int64_t> statics) const {
      for (size_t k = 0; k < letters_.size(); ++k) {
        backend_->runs.emplace_back(letters_[k], statics[k]);
      }
    }
    const LetterBackend* backend_;
    std::string letters_;
  };
};

class TraceTest : public testing::Test {
 protected:
  std::shared_ptr<const LinkedCode> Code(char letter) {
    const std::string name(1, letter);
    const LoopProgram program = MustParse(name + "_step (n): inout " + name +
                                          " : i64[1]; " + name + "[0] := [n];");
    auto array = std::make_shared<DeviceArray>(DeviceArray{
        .name = name, .dtype = DType::kI64, .dims = {1}, .memory = {}});
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        backend_.Compile(program);
    CHECK_OK(executable);
    absl::StatusOr<std::shared_ptr<const LinkedCode>> code =
        LinkCode(device_, std::make_shared<const LoopProgram>(program),
                 *std::move(executable), {array});
    CHECK_OK(code);
    return *std::move(code);
  }

  void Run(char letter, int64_t number) {
    trace_.Run(codes_[letter - 'a'], {number});
    given_.emplace_back(letter, number);
  }

  // `count` times a(n) b(2 n).
  void RunPairs(int64_t count) {
    for (int64_t n = 0; n < count; ++n) {
      Run('a', n);
      Run('b', 2 * n);
    }
  }

  LetterBackend backend_;
  Device device_{"host", &backend_};
  Trace trace_{&device_};
  std::vector<std::shared_ptr<const LinkedCode>> codes_ = {Code('a'), Code('b'),
                                                           Code('c')};
  Runs given_;
};

TEST_F(TraceTest, WhatDoesNotRepeatRunsAtOnce) {
  for (char letter : std::string("abcacbabbaccab")) {
    Run(letter, 7);
    EXPECT_EQ(backend_.runs, given_);
  }
  EXPECT_THAT(trace_.Report(), IsEmpty());
}

TEST_F(TraceTest, WhatRepeatsWaitsUntilSomebodyLooks) {
  RunPairs(100);
  EXPECT_LT(backend_.runs.size(), given_.size());
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
}

TEST_F(TraceTest, ASequenceThatKeepsComingBecomesOneProgram) {
  const int before = backend_.compilations;
  RunPairs(1000);
  trace_.Sync();
  EXPECT_EQ(backend_.compilations, before + 1);
  EXPECT_THAT(trace_.Report(),
              HasSubstr("trace [a_step, b_step]: 997 repetitions in"));
  EXPECT_THAT(trace_.Report(), HasSubstr("compiled as one program, trace_1"));
  ASSERT_THAT(trace_.Programs(), SizeIs(1));
  // What a user gets to see is a program like any other.
  const std::string text = Print(*trace_.Programs()[0]);
  EXPECT_EQ(Print(*Parse(text)), text);
  EXPECT_THAT(text, HasSubstr("trace_1 (n, n_2):"));
  backend_.calls = 0;
  RunPairs(1000);
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
  EXPECT_LE(backend_.calls, 20);
  EXPECT_EQ(backend_.compilations, before + 1);
}

TEST_F(TraceTest, WhatCannotBeCompiledRunsInParts) {
  backend_.fails = true;
  const int before = backend_.compilations;
  RunPairs(1000);
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
  EXPECT_EQ(backend_.compilations, before + 1);
  EXPECT_THAT(trace_.Report(), HasSubstr("cannot be: no such letter"));
}

TEST_F(TraceTest, StaticIndicesMayJump) {
  for (int64_t n : {0, 1, 2, 3, 0, 1, 2, 3, 9, 9, 9, 5, 3, 1, 4}) {
    Run('a', n);
  }
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
}

TEST_F(TraceTest, StaticIndicesMayBeTheGreatestNumbers) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (int64_t n : {0, 0, 0, 0, 0, 0}) Run('a', n);
  for (int64_t n : {int64_t{0}, kMost, kMost, kMost - 1, kMost, int64_t{1}}) {
    Run('a', n);
    Run('a', n);
  }
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
}

TEST_F(TraceTest, HoldsNoArraysOfRoutinesThatAreGone) {
  RunPairs(1000);
  Run('c', 0);
  EXPECT_THAT(trace_.Report(), HasSubstr("compiled as one program"));
  std::weak_ptr<DeviceArray> a = codes_[0]->arrays[{0}];
  std::weak_ptr<DeviceArray> b = codes_[1]->arrays[{0}];
  codes_[0] = codes_[1] = nullptr;
  EXPECT_FALSE(a.expired());
  // The next sequence is found.
  Run('c', 1);
  Run('c', 2);
  EXPECT_TRUE(a.expired());
  EXPECT_TRUE(b.expired());
}

// What waits is done, though its routine is gone.
TEST_F(TraceTest, RoutinesMayGoWhileTheyWait) {
  RunPairs(100);
  codes_[0] = codes_[1] = nullptr;
  Run('c', 0);
  EXPECT_EQ(backend_.runs, given_);
}

// Who looks in the middle of each repetition finds it at the seam of two.
TEST_F(TraceTest, SequencesBeginWhereSomebodyLooks) {
  RunPairs(10);
  for (int64_t n = 0; n < 100; ++n) {
    Run('a', n);
    trace_.Sync();
    EXPECT_EQ(backend_.runs, given_);
    Run('b', n);
  }
  trace_.Sync();
  EXPECT_EQ(backend_.runs, given_);
  EXPECT_THAT(trace_.Report(), HasSubstr("trace [b_step, a_step]: 99 rep"));
}

TEST_F(TraceTest, AnyCommandsInOrder) {
  const unsigned seed = 20261121;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    std::string block;
    for (int k = below(5); k >= 0; --k)
      block += static_cast<char>('a' + below(3));
    int64_t step = below(3) - 1;
    int64_t number = 100;
    for (int repetition = below(40); repetition >= 0; --repetition) {
      for (char letter : block) {
        Run(letter, number);
        if (below(50) == 0) trace_.Sync();
        if (below(200) == 0) Run('c', 0);
      }
      number += below(30) == 0 ? 5 : step;
    }
    if (below(2) == 0) continue;
    trace_.Sync();
    ASSERT_EQ(backend_.runs, given_) << "round " << round;
  }
  trace_.Sync();
  ASSERT_EQ(backend_.runs, given_);
}

}  // namespace
}  // namespace ocannl
