// SPDX-License-Identifier: Apache-2.0
//
// What gcc makes of the text of a program gives the interpreter's bits.
#include "experiments/bench/peers/c_text.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "experiments/bench/peers/compile_c.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

// Memory for the buffers of a program, each with a row of special values.
class Memory {
 public:
  explicit Memory(const LoopProgram& program) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr float kValues[] = {0,    -0.f,  1,     -1.5f, 2.5f,    1e-40f,
                                 kInf, 88.5f, -87,   0.3f,  -3e38f,  1e9f,
                                 3e9f, 0.7f,  -kInf, 7,     -2.2e9f, 123.75f};
    for (const Buffer& buffer : program.buffers) {
      auto memory = DeviceMemory::Allocate(NumElements(buffer.dims) *
                                            SizeOf(buffer.dtype));
      CHECK_OK(memory);
      auto* words = reinterpret_cast<float*>(memory->address());
      for (size_t k = 0; k < memory->size() / sizeof(float); ++k) {
        words[k] = kValues[(k + pointers_.size()) % std::size(kValues)];
      }
      pointers_.push_back(memory->address());
      memory_.push_back(*std::move(memory));
    }
  }

  absl::Span<std::byte* const> pointers() const { return pointers_; }

 private:
  std::vector<DeviceMemory> memory_;
  std::vector<std::byte*> pointers_;
};

// Runs the program both ways, with every static index at 1.
void ExpectSameBits(absl::string_view text, const std::string& level) {
  const LoopProgram program = MustParse(text);
  CHECK_OK(Verify(program));
  auto code = CompileC(
      CText(program), {level, "-march=native", "-ffp-contract=off", "-fwrapv"});
  if (!code.ok()) GTEST_SKIP() << code.status();
  std::vector<int64_t> statics(program.statics.size(), 1);
  Memory expected(program), found(program);
  auto interp = interp::InterpBackend().Compile(program);
  CHECK_OK(interp);
  (*interp)->Run(expected.pointers(), statics);
  (*code)->Find<void(std::byte* const*, const int64_t*)>("run")(
      found.pointers().data(), statics.data());
  for (BufferId k : program.buffers.ids()) {
    const Buffer& buffer = program.buffers[k];
    if (IsScratch(buffer.role)) continue;
    NdArray a(buffer.dtype, buffer.dims), b(buffer.dtype, buffer.dims);
    std::memcpy(a.data(), expected.pointers()[k.index], a.bytes());
    std::memcpy(b.data(), found.pointers()[k.index], b.bytes());
    EXPECT_TRUE(SameBits(a, b)) << buffer.name << " at " << level;
  }
}

class CTextTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Levels, CTextTest, testing::Values("-O1", "-O3"));

TEST_P(CTextTest, FunctionsOfFloats) {
  ExpectSameBits(R"(
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
      })",
                 GetParam());
}

TEST_P(CTextTest, Integers) {
  ExpectSameBits(R"(
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
      })",
                 GetParam());
}

TEST_P(CTextTest, Statements) {
  ExpectSameBits(R"(
    statements (n : [0..2], m):
      in x : f32[3, 18]; inout y : f32[18]; temp t : f32[4, 18];
      /* no code */
      zero_out t;
      par i0 = 0 to 3 {
        let v1 : f32 := 0.5;
        vec i1 = 0 to 17 {
          v1 := v1 + x[n, i1];
          t[i0, i1] := t[i0, i1] + v1;
        }
        unroll i2 = 0 to 17 { y[i2] := fma(t[i0, 17 - i2], 0.1, y[i2]); }
      }
      y[3] := y[3] * f32([m + 5]);)",
                 GetParam());
}

TEST(CompileCTest, SaysWhatGccSays) {
  auto code = CompileC("int x = y;", {});
  ASSERT_FALSE(code.ok());
  EXPECT_NE(code.status().message().find("gcc"), absl::string_view::npos);
}

}  // namespace
}  // namespace ocannl
