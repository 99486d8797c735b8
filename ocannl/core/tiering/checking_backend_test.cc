// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/checking_backend.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

// Adds 1 to every cell of z, through t; one that is wrong adds 2 to z[wrong]
// once `right_runs` are over.
class AddingBackend : public Backend {
 public:
  AddingBackend(std::string name, int wrong) : name_(name), wrong_(wrong) {}

  absl::string_view name() const override { return name_; }
  std::string Report() const override { return name_ + " reports\n"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram&) const override {
    if (fails) return absl::UnimplementedError("no such instruction");
    return std::make_unique<Adding>(this);
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const override {
    ++hot;
    return Compile(program);
  }

  bool fails = false;
  int right_runs = 0;
  mutable int runs = 0;
  mutable int hot = 0;

 private:
  class Adding : public Executable {
   public:
    explicit Adding(const AddingBackend* backend) : backend_(*backend) {}
    void Run(absl::Span<std::byte* const> buffers,
             absl::Span<const int64_t>) const override {
      const bool is_right = backend_.runs++ < backend_.right_runs;
      auto* z = reinterpret_cast<float*>(buffers[1]);
      auto* t = reinterpret_cast<float*>(buffers[2]);
      for (int k = 0; k < 4; ++k) t[k] = z[k] + 1;
      for (int k = 0; k < 4; ++k) z[k] = t[k];
      if (backend_.wrong_ >= 0 && !is_right) z[backend_.wrong_] += 1;
    }

   private:
    const AddingBackend& backend_;
  };

  std::string name_;
  int wrong_;
};

class CheckingBackendTest : public testing::Test {
 protected:
  CheckingBackendTest() {
    program_ = MustParse(
        "add (): in x : f32[2]; inout z : f32[2, 2]; temp t : f32[4];\n"
        "for i0 = 0 to 1 { for i1 = 0 to 1 { z[i0, i1] := z[i0, i1] + 1; } }");
  }

  // Two runs, linked without scratch memory.
  void RunTwice(const Executable& executable) {
    ASSERT_TRUE(executable.HasScratch());
    std::vector<std::byte*> buffers = {reinterpret_cast<std::byte*>(x_),
                                       reinterpret_cast<std::byte*>(z_),
                                       nullptr};
    executable.Repeat(buffers, {}, {}, 2);
  }

  LoopProgram program_;
  float x_[2] = {};
  float z_[4] = {0, 10, 20, 30};
  AddingBackend reference_{"plain", -1};
  AddingBackend right_{"right", -1};
  AddingBackend wrong_{"fast", 2};
};

TEST_F(CheckingBackendTest, BothTiersRunAndTheCheckedOneStays) {
  CheckingBackend backend(&reference_, &right_);
  EXPECT_EQ(backend.name(), "right");
  auto executable = backend.Compile(program_);
  ASSERT_TRUE(executable.ok());
  RunTwice(**executable);
  EXPECT_THAT(z_, testing::ElementsAre(2, 12, 22, 32));
  EXPECT_EQ(reference_.runs, 2);
  EXPECT_EQ(right_.runs, 2);
  EXPECT_EQ(backend.Report(), "right reports\n2 runs left the bits of plain\n");
}

TEST_F(CheckingBackendTest, AWrongTierIsNamedWithThePlaceAndBothValues) {
  CheckingBackend backend(&reference_, &wrong_);
  auto executable = backend.Compile(program_);
  ASSERT_TRUE(executable.ok());
  EXPECT_DEATH(RunTwice(**executable),
               "fast differs from plain in routine add: "
               "z\\[1, 0\\] is 22 .*, not 21 .*; 1 of 4 cells differ");
  // Every run is compared, not the first alone.
  wrong_.right_runs = 1;
  EXPECT_DEATH(RunTwice(**executable), "z\\[1, 0\\] is 23 .*, not 22 ");
}

TEST_F(CheckingBackendTest, HotProgramsAreCheckedToo) {
  CheckingBackend backend(&reference_, &wrong_);
  auto executable = backend.CompileHot(program_);
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ(wrong_.hot, 1);
  EXPECT_DEATH(RunTwice(**executable), "fast differs from plain");
}

TEST_F(CheckingBackendTest, FailuresOfEitherTierAreTheUsers) {
  reference_.fails = true;
  EXPECT_FALSE(CheckingBackend(&reference_, &right_).Compile(program_).ok());
  EXPECT_FALSE(CheckingBackend(&right_, &reference_).Compile(program_).ok());
}

}  // namespace
}  // namespace ocannl
