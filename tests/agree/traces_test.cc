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
constexpr uint64_t kSeeds = 8;
#endif
constexpr int kRepetitions = 100;

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

  // Where an array differs; empty: nowhere.
  std::string Differs(const Side& expected) const {
    for (const auto& [name, buffer] : buffers_) {
      std::string difference =
          FirstDifference(buffer, *expected.host_.context.Read(name),
                          *host_.context.Read(name));
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

// Every routine once, one of them twice, over and over.
std::string Differs(const Backend& tier, uint64_t seed, std::string* report) {
  static const interp::InterpBackend interp;
  Random random(seed);
  const std::vector<LoopProgram> programs = Programs(seed, random);
  Side traced(&tier, /*traces=*/true, programs, seed);
  Side expected(&interp, /*traces=*/false, programs, seed);
  std::vector<int> order = {0, 1, 2, static_cast<int>(random.Below(3))};
  random.Shuffle(order);
  for (int64_t n = 0; n < kRepetitions; ++n) {
    for (int routine : order) {
      traced.Run(routine, n);
      expected.Run(routine, n);
      if (!random.OneIn(200)) continue;
      std::string difference = traced.Differs(expected);
      if (!difference.empty()) {
        return absl::StrCat("seed ", seed, ", repetition ", n, ": ",
                            difference);
      }
    }
  }
  *report += traced.Report();
  return traced.Differs(expected);
}

TEST(TracesTest, ChangeNoBit) {
  EXPECT_TRUE(OnEachTier([&](const Backend& tier) -> std::string {
    std::string report;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      if (PoliciesOf(seed).Has(Policy::kLayers)) continue;
      std::string difference = Differs(tier, seed, &report);
      if (!difference.empty()) return difference;
    }
    const bool compiles = absl::StrContains(report, "compiled as one program");
    return compiles ? "" : "nothing was compiled:\n" + report;
  }));
}

}  // namespace
}  // namespace ocannl::fuzz
