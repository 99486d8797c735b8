// SPDX-License-Identifier: Apache-2.0
//
// What gcc makes of the texts of programs leaves the interpreter's bits: of
// plain C, and of CUDA C with the threads of a GPU emulated.
#include "ocannl/emulation/emulated_cuda.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/trial.h"
#include "tests/cuda/plain_c.h"
#include "tests/support/agree_programs.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 6;

class TextTest : public testing::TestWithParam<const Backend*> {
 protected:
  void ExpectSameBits(const LoopProgram& program, uint64_t seed = 1) {
    for (fuzz::FillKind kind : {fuzz::KindOf(seed), fuzz::FillKind::kZoo}) {
      const fuzz::Trial trial(program, kind, seed);
      EXPECT_EQ(trial.Try(*GetParam()), "") << "seed " << seed << "\n"
                                            << Print(program);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Dialects, TextTest,
                         testing::Values(&PlainC(), &emulation::EmulatedCuda(),
                                         &emulation::EmulatedScheduledCuda()),
                         [](const auto& one) {
                           return one.param == &PlainC() ? "C"
                                  : one.param == &emulation::EmulatedCuda()
                                      ? "Cuda"
                                      : "Scheduled";
                         });

TEST_P(TextTest, FunctionsOfFloats) {
  ExpectSameBits(MustParse(R"(
    functions ():
      in x : f32[18]; in y : f32[18]; out z : f32[16, 18];
      for i0 = 0 to 17 {
        z[0, i0] := exp(x[i0]);
        z[1, i0] := log(x[i0]);
        z[2, i0] := sin(x[i0]);
        z[3, i0] := tanh(x[i0]);
        z[4, i0] := pow(x[i0], y[i0]);
        z[5, i0] := fma(x[i0], y[i0], 1);
        z[6, i0] := sqrt(x[i0]) / y[i0];
        z[7, i0] := min(x[i0], y[i0]);
        z[8, i0] := max(x[i0], y[i0]);
        z[9, i0] := floor(x[i0]) + ceil(y[i0]);
        z[10, i0] := trunc(x[i0]) - round(y[i0]);
        z[11, i0] := select(x[i0] <= y[i0], x[i0], neg(y[i0]));
        z[12, i0] := abs(x[i0]) * y[i0];
        z[13, i0] := f32(i32(x[i0]));
        z[14, i0] := f32(u8(x[i0])) + f32(u64(y[i0])) + f32(i64(x[i0]));
        z[15, i0] := f32(f64(x[i0]) / f64(y[i0])) + f32([3*i0 - 1]);
      })"));
}

TEST_P(TextTest, Integers) {
  ExpectSameBits(MustParse(R"(
    integers ():
      in x : i32[18]; in y : u32[18]; out z : i32[8, 18]; out w : u32[7, 18];
      out e : bool[18]; out l : i64[18];
      for i0 = 0 to 17 {
        z[0, i0] := x[i0] * x[17 - i0] + x[i0];
        z[1, i0] := x[i0] / i32(y[i0]);
        z[2, i0] := x[i0] % (x[17 - i0] >> 20:i32);
        z[3, i0] := x[i0] << (x[17 - i0] & 63:i32);
        z[4, i0] := x[i0] >> (x[17 - i0] & 63:i32);
        z[5, i0] := rotl(x[i0], x[17 - i0]);
        z[6, i0] := abs(neg(x[i0])) ^ not(x[17 - i0]);
        z[7, i0] := max(x[i0], x[17 - i0]);
        w[0, i0] := y[i0] / (y[17 - i0] >> 16:u32);
        w[1, i0] := y[i0] % (y[17 - i0] & 255:u32);
        w[2, i0] := y[i0] << (y[17 - i0] & 63:u32);
        w[3, i0] := y[i0] >> (y[17 - i0] & 63:u32);
        w[4, i0] := rotl(y[i0], y[17 - i0]);
        w[5, i0] := bits_u32(x[i0]) | y[i0];
        w[6, i0] := threefry_light(y[i0], 1:u32, 2:u32, 3:u32, 4:u32, 1:u32);
        e[i0] := (x[i0] < 0:i32) & not(y[i0] == 7:u32);
        l[i0] := i64(x[i0]) * i64(y[i0]);
      })"));
}

TEST_P(TextTest, Statements) {
  ExpectSameBits(MustParse(R"(
    statements (n : [0..2], m):
      in x : f32[3, 18]; inout y : f32[4, 18]; temp t : f32[4, 18];
      /* no code */
      zero_out t;
      par i0 = 0 to 3 {
        let v1 : f32 := 0.5;
        for i1 = 0 to 17 {
          v1 := v1 + x[n, i1];
          t[i0, i1] := t[i0, i1] + v1;
        }
        vec i2 = 0 to 17 { t[i0, i2] := t[i0, i2] * x[n, 17 - i2]; }
        unroll i3 = 0 to 17 {
          y[i0, i3] := fma(t[i0, 17 - i3], 0.1, y[i0, i3]);
        }
      }
      y[3, 3] := y[3, 3] * f32([m + 5]);)"));
}

TEST_P(TextTest, ProgramsOfTheAgreeSuite) {
  for (const auto& [name, program] : AgreePrograms()) {
    SCOPED_TRACE(name);
    ExpectSameBits(program);
  }
}

TEST_P(TextTest, RandomPrograms) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    ExpectSameBits(fuzz::Generate(seed, fuzz::PoliciesOf(seed)), seed);
    if (HasFailure()) return;
  }
}

// The emulation sees faults of the text: `from` replaced by `to`, wherever it
// stands.
struct Fault {
  std::string program;  // of tests/agree/programs
  std::string from, to;
};

const Fault kFaults[] = {
    // A barrier that is missing.
    {"gpu_product_in_tiles", "__syncthreads();", ";"},
    {"gpu_sums_of_rows", "__syncthreads();", ";"},
    {"gpu_steps_in_a_block", "__syncthreads();", ";"},
    {"gpu_steps_in_a_block", "    __syncthreads();\n  }", "  }"},
    // A guard that is off by one, or not there.
    {"gpu_product_in_tiles", "if (threadIdx.x < 8)", "if (threadIdx.x < 7)"},
    {"gpu_sums_of_rows", "if (threadIdx.x < 4)", "if (threadIdx.x < 8)"},
    // An index of threads or blocks.
    {"gpu_product_in_tiles", "threadIdx.x / 4", "threadIdx.x / 2"},
    {"gpu_product_in_tiles", "threadIdx.x % 4", "threadIdx.x % 3"},
    {"gpu_product_in_tiles", "blockIdx.x / 2", "blockIdx.x % 2"},
    {"gpu_sums_of_rows", "16 * i0", "15 * i0"},
    {"gpu_product_in_tiles", "i8 < 8", "i8 < 7"},
    // Shared memory that overlaps, registers that do not live long enough.
    {"gpu_product_in_tiles", "shared + 256", "shared + 128"},
    {"gpu_product_in_tiles", "f32_t b0[8];", "static f32_t b0[8];"},
    {"gpu_map", "= blockIdx.x;", "= blockIdx.x + 1;"},
    {"gpu_map", "= blockIdx.x;", "= blockIdx.x / 2;"},
    {"gpu_map", "= threadIdx.x;", "= threadIdx.x + 1;"},
    {"gpu_map", "i1 + 64", "i1 + 63"},
    {"gpu_steps_in_a_block", "i3 + 11", "i3 + 10"},
    {"gpu_steps_in_a_block", "i2 < 7", "i2 < 6"},
    {"gpu_steps_in_a_block", "statics[0]", "0"},
    {"gpu_sums_of_rows", "threadIdx.x < 2", "threadIdx.x < 3"},
    {"gpu_sums_of_rows", "i2 + 4", "i2 + 3"},
    {"gpu_product_in_tiles", "i13 < 8", "i13 < 7"},
    // Vectors.
    {"gpu_vectors", "p0.c[i2] = ", "p0.c[0] = "},
    {"gpu_vectors", "&b4[32 * i0", "&b4[28 * i0"},
    {"gpu_vectors", "*)&b3[32 * i0 + 4 * i1] = p2;", "*)&b3[32 * i0] = p2;"},
    // Rounding.
    {"gpu_product_in_tiles", "__fmaf_rn(",
     "[](float a, float b, float c) { return __fadd_rn(__fmul_rn(a, b), c); "
     "}("},
    {"gpu_steps_in_a_block", "__fmul_rn(", "__fadd_rn("},
    {"narrow_floats", "dropped - 1)) - 1", "dropped - 1))"},
    {"narrow_floats", "(u32_t)(254 - bias)", "(u32_t)(253 - bias)"},
};

TEST(EmulatedCudaTest, SeesFaults) {
  for (const auto& [name, from, to] : kFaults) {
    absl::StatusOr<std::string> file =
        ReadFile(absl::StrCat("tests/agree/programs/", name, ".ll"));
    ASSERT_THAT(file, IsOk());
    const LoopProgram program = MustParse(*file);
    const auto faulty = emulation::OpenEmulatedCuda(
        {.schedules = false}, [from = from, to = to](const std::string& text) {
          const std::string changed = absl::StrReplaceAll(text, {{from, to}});
          EXPECT_TRUE(changed != text) << from << " is not in\n" << text;
          return changed;
        });
    ASSERT_THAT(faulty, IsOk());
    const fuzz::ChildResult seen = fuzz::RunInChild(60, [&] {
      std::string difference;
      for (uint64_t seed = 1; seed <= 3 && difference.empty(); ++seed) {
        difference =
            fuzz::Trial(program, fuzz::FillKind::kUnit, seed).Try(**faulty);
      }
      return difference;
    });
    EXPECT_NE(seen.text, "") << name << ": " << from << " -> " << to;
    EXPECT_FALSE(absl::StrContains(seen.text, "refused")) << seen.text;
  }
}

TEST(CompileCTest, SaysWhatGccSays) {
  auto code = CompileC("int x = y;", {});
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find("gcc"), absl::string_view::npos);
}

}  // namespace
}  // namespace ocannl
