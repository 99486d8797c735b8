// SPDX-License-Identifier: Apache-2.0
//
// Random chains of contractions, scheduled and compiled: the bits of the
// program as it stands. The shapes are those that scheduling takes apart: axes
// in any role and order, lengths around those of tiles and of vectors,
// pointwise users of the result, updates in place.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/trial.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

constexpr int64_t kMaxSteps = 20'000;  // of one contraction

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  // The text of a program with one or two contractions.
  std::string Program() {
    for (int64_t left = 1 + Below(2); left > 0; --left) Contraction();
    return absl::StrCat("p ():\n", buffers_, body_);
  }

 private:
  struct Axis {
    std::string name;  // "<3>"; each nest has its own iterator for it
    int64_t extent;
  };
  using Axes = std::vector<Axis>;

  int64_t Below(int64_t bound) { return random_() % bound; }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  std::string New(absl::string_view stem) {
    return absl::StrCat(stem, number_++);
  }

  Axes Some(const Axes& axes) {
    Axes some;
    for (const Axis& axis : axes) {
      if (!OneIn(3)) some.push_back(axis);
    }
    absl::c_shuffle(some, random_);
    return some;
  }

  // Axes with new names, whose product is at most `most`.
  Axes NewAxes(int64_t count, int64_t most) {
    Axes axes;
    for (; count > 0; --count) {
      const int64_t extent = std::min<int64_t>(most, 1 + Below(40));
      axes.push_back({New("<") + ">", extent});
      most /= extent;
    }
    return axes;
  }

  static int64_t Size(const Axes& axes) {
    return std::accumulate(
        axes.begin(), axes.end(), int64_t{1},
        [](int64_t size, const Axis& axis) { return size * axis.extent; });
  }

  // Declares a buffer over `axes`, now and then with a margin, and returns how
  // its cells read.
  std::string Declare(absl::string_view role, absl::string_view name,
                      const Axes& axes, bool with_margins) {
    std::vector<std::string> dims;
    std::vector<std::string> indices;
    for (const Axis& axis : axes) {
      const int64_t margin = with_margins && OneIn(6) ? 1 + Below(3) : 0;
      dims.push_back(absl::StrCat(axis.extent + margin));
      indices.push_back(margin == 0 ? axis.name
                                    : absl::StrCat(axis.name, " + ", margin));
    }
    if (axes.empty()) {
      dims = {"1"};
      indices = {"0"};
    }
    absl::StrAppend(&buffers_, "  ", role, " ", name, " : ", dtype_, "[",
                    absl::StrJoin(dims, ", "), "];\n");
    return absl::StrCat(name, "[", absl::StrJoin(indices, ", "), "]");
  }

  std::string NewInput(const Axes& axes) {
    return Declare("in", New("x"), axes, /*with_margins=*/true);
  }

  void Loops(const Axes& axes, std::string statement) {
    for (const Axis& axis : axes) {
      const std::string iterator = New("i");
      statement = absl::StrReplaceAll(statement, {{axis.name, iterator}});
      absl::StrAppend(&body_, "  for ", iterator, " = 0 to ", axis.extent - 1,
                      " {\n");
    }
    absl::StrAppend(&body_, "    ", statement, ";\n");
    for (size_t k = 0; k < axes.size(); ++k) body_ += "  }\n";
  }

  std::string Accumulated(const std::string& target, const Axes& all,
                          const Axes& reduced) {
    // The first operand has every reduced axis, so that each is in one.
    Axes first = Some(all);
    for (const Axis& axis : reduced) {
      bool has = absl::c_any_of(
          first, [&](const Axis& other) { return other.name == axis.name; });
      if (!has) first.push_back(axis);
    }
    absl::c_shuffle(first, random_);
    const std::string a = NewInput(first);
    const std::string b = NewInput(Some(all));
    switch (Below(dtype_[0] == 'f' ? 5 : 3)) {
      case 0:
        return absl::StrCat(target, " + ", a);
      case 1:
        return absl::StrCat(target, " + (", a, " * ", b, ")");
      case 2:
        return absl::StrCat("max(", target, ", ", a, ")");
      default:
        return absl::StrCat("fma(", a, ", ", b, ", ", target, ")");
    }
  }

  void Contraction() {
    static constexpr const char* kDTypes[] = {"f32", "f32", "f32",
                                              "f64", "i32", "u64"};
    dtype_ = kDTypes[Below(6)];
    Axes reduced = NewAxes(1 + Below(2), kMaxSteps / 40);
    Axes outputs = NewAxes(Below(4), kMaxSteps / Size(reduced));
    Axes all = outputs;
    all.insert(all.end(), reduced.begin(), reduced.end());
    absl::c_shuffle(all, random_);
    absl::c_shuffle(outputs, random_);

    const std::string name = New("t");
    const int64_t users = Below(4);
    const bool zeroes = !OneIn(4);
    const char* role = !zeroes                 ? "inout"
                       : users > 0 && OneIn(2) ? "temp"
                                               : "out";
    if (zeroes) absl::StrAppend(&body_, "  zero_out ", name, ";\n");
    std::string cell = Declare(role, name, outputs, role[0] == 'i');
    Loops(all, absl::StrCat(cell, " := ", Accumulated(cell, all, reduced)));
    std::string last = cell;
    for (int64_t k = 0; k < users; ++k) last = User(last, outputs);
  }

  // A pointwise nest that reads `cell`; returns what it stores.
  std::string User(const std::string& cell, Axes axes) {
    std::string value = absl::StrCat(cell, " + ", NewInput(Some(axes)));
    if (OneIn(2)) value = absl::StrCat("max(", value, ", 0:", dtype_, ")");
    if (OneIn(3)) value = absl::StrCat(value, " * ", cell);
    std::string target = cell;
    if (!OneIn(4)) {
      const bool updates = OneIn(2);
      target = Declare(updates ? "inout" : "out", New("y"), axes, updates);
      if (updates) value = absl::StrCat(target, " - (", value, ")");
    }
    if (OneIn(4)) absl::c_shuffle(axes, random_);
    Loops(axes, absl::StrCat(target, " := ", value));
    return target;
  }

  std::mt19937 random_;
  int number_ = 0;
  std::string dtype_;
  std::string buffers_;
  std::string body_;
};

LoopProgram Parsed(const std::string& text) {
  LoopProgram program = MustParse(text);
  CHECK_OK(Verify(program)) << text;
  return program;
}

TEST(ScheduleRandomTest, ChainsOfContractionsKeepTheirBits) {
  constexpr uint32_t kPrograms = 200;
  int written_anew = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const LoopProgram program = Parsed(Generator(seed).Program());
    for (const Target& target :
         {kAvx2Target, kAvx512Target, fuzz::kSmallCachesTarget}) {
      LoopProgram scheduled = Schedule(program, target);
      absl::StatusOr<LoopProgram> again = Parse(Print(scheduled));
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << Print(scheduled);
      ASSERT_EQ(Print(*again), Print(scheduled));
      written_anew += absl::StrContains(Print(scheduled), "contract ");
    }
    fuzz::Trial trial(program, fuzz::KindOf(seed), seed);
    for (const fuzz::ComparedTier& tier : fuzz::ComparedTiers()) {
      if (!tier.available || tier.name == "tree") continue;
      ASSERT_EQ(trial.Try(*tier.backend()), "") << tier.name << "\n"
                                                << Print(program);
    }
  }
  std::printf("%u programs (seeds from 0), %d of %u schedules write anew\n",
              kPrograms, written_anew, 3 * kPrograms);
  EXPECT_GT(written_anew, kPrograms);
}

}  // namespace
}  // namespace ocannl
