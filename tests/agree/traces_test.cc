// SPDX-License-Identifier: Apache-2.0
//
// Random programs that share arrays run again and again; what a tier runs as
// loops through several of them leaves the bits of the interpreter, which runs
// them one by one.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tiering/first_difference.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/test_device.h"

namespace ocannl::fuzz {
namespace {

// Sanitizers make everything several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 3;
#else
constexpr uint64_t kSeeds = 6;
#endif
// A sequence is compiled as one program after 64 of them.
constexpr int kRepetitions = 80;

// Gives buffers of one type and size, of any program, the same few names.
void ShareNames(LoopProgram& program, Random& random) {
  std::map<std::string, std::vector<Buffer*>> alike;
  for (Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) continue;
    alike[absl::StrCat(Name(buffer.dtype), "_",
                       absl::StrJoin(buffer.dims, "_"))]
        .push_back(&buffer);
  }
  for (auto& [name, buffers] : alike) {
    random.Shuffle(buffers);
    for (size_t k = 0; k < buffers.size(); ++k) {
      buffers[k]->name = absl::StrCat("shared_", name, "_no", k);
    }
  }
}

// The first two differ in the names of their arrays only.
std::vector<LoopProgram> Programs(uint64_t seed, Random& random) {
  std::vector<LoopProgram> programs;
  for (uint64_t one : {seed, seed, seed + 1}) {
    programs.push_back(Generate(one, PoliciesOf(one)));
    ShareNames(programs.back(), random);
  }
  return programs;
}

using Arrays = std::map<std::string, NdArray>;  // by name

// A stream on a backend, and routines of programs.
class Side {
 public:
  Side(const Backend* backend, bool traces,
       const std::vector<LoopProgram>& programs, uint64_t seed)
      : host_(backend, traces) {
    for (const LoopProgram& program : programs) {
      for (const Buffer& buffer : program.buffers) {
        if (IsScratch(buffer.role)) continue;
        buffers_.emplace(buffer.name, buffer);
        CHECK_OK(host_.context.Write(
            buffer.name, FillBuffer(buffer, FillKind::kUnit, seed)));
        CHECK_OK(host_.context.Read(buffer.name));  // a routine may replace it
      }
      absl::StatusOr<Routine> routine = host_.context.CompileAndLink(program);
      CHECK_OK(routine);
      routines_.push_back(*std::move(routine));
    }
  }

  // Static indices grow with `n`, or fall, and start again.
  void Run(int routine, int64_t n) {
    Routine& r = routines_[routine];
    for (size_t k = 0; k < r.statics().size(); ++k) {
      StaticRef index = r.statics()[k];
      const int64_t range = index.range().value_or(1000);
      CHECK_OK(index.Set(k % 2 == 0 ? n % range : range - 1 - n % range));
    }
    CHECK_OK(r.Run());
  }

  Arrays Read() const {
    Arrays arrays;
    for (const auto& [name, buffer] : buffers_) {
      arrays.emplace(name, *host_.context.Read(name));
    }
    return arrays;
  }

  // Where an array differs; empty: nowhere.
  std::string Differs(const Arrays& expected) const {
    for (const auto& [name, buffer] : buffers_) {
      std::string difference =
          FirstDifference(buffer, expected.at(name), *host_.context.Read(name));
      if (!difference.empty()) return difference;
    }
    return "";
  }

  std::string Report() const { return host_.stream.Report(); }

 private:
  TestDevice host_;
  std::vector<Routine> routines_;
  std::map<std::string, Buffer> buffers_;
};

// Every routine once, one of them twice, over and over; calls `after` with the
// number of runs behind each.
template <class F>
void RunAll(Side& side, const std::vector<int>& order, F after) {
  int runs = 0;
  for (int64_t n = 0; n < kRepetitions; ++n) {
    for (int routine : order) {
      side.Run(routine, n);
      after(++runs);
    }
  }
}

// What a seed runs, and what the interpreter leaves: at the end, and behind
// some runs before, by their number.
struct Course {
  std::vector<LoopProgram> programs;
  std::vector<int> order;
  std::map<int, Arrays> expected;
};

Course CourseOf(uint64_t seed) {
  static const interp::InterpBackend interp;
  Random random(seed);
  Course course{.programs = Programs(seed, random),
                .order = {0, 1, 2, static_cast<int>(random.Below(3))},
                .expected = {}};
  random.Shuffle(course.order);
  Side side(&interp, /*traces=*/false, course.programs, seed);
  const int last = kRepetitions * static_cast<int>(course.order.size());
  RunAll(side, course.order, [&](int runs) {
    if (random.OneIn(200) || runs == last) course.expected[runs] = side.Read();
  });
  return course;
}

std::string Differs(const Backend& tier, uint64_t seed, const Course& course,
                    std::string* report) {
  Side traced(&tier, /*traces=*/true, course.programs, seed);
  std::string difference;
  RunAll(traced, course.order, [&](int runs) {
    const auto expected = course.expected.find(runs);
    if (expected == course.expected.end() || !difference.empty()) return;
    difference = traced.Differs(expected->second);
    if (difference.empty()) return;
    difference = absl::StrCat("seed ", seed, ", run ", runs, ": ", difference);
  });
  *report += traced.Report();
  return difference;
}

TEST(TracesTest, ChangeNoBit) {
  std::map<uint64_t, Course> courses;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    if (PoliciesOf(seed).Has(Policy::kLayers)) continue;
    courses.emplace(seed, CourseOf(seed));
  }
  EXPECT_TRUE(OnEachTier([&](const Backend& tier) -> std::string {
    std::string report;
    for (const auto& [seed, course] : courses) {
      std::string difference = Differs(tier, seed, course, &report);
      if (!difference.empty()) return difference;
    }
    const bool compiles = absl::StrContains(report, "compiled as one program");
    return compiles ? "" : "nothing was compiled:\n" + report;
  }));
}

}  // namespace
}  // namespace ocannl::fuzz
