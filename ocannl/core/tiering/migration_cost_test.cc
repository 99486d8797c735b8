// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/migration_cost.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

constexpr MigrationCosts kCosts = {.host = {.flops_per_second = 1e9,
                                            .bytes_per_second = 1e9,
                                            .nest_seconds = 0.001},
                                   .gpu = {.flops_per_second = 1e11,
                                           .bytes_per_second = 1e11,
                                           .nest_seconds = 0.01},
                                   .copy_seconds = 0.001,
                                   .copied_bytes_per_second = 1e8,
                                   .compile_seconds = 0.5,
                                   .compile_nest_seconds = 0.1};

TEST(MigrationCostTest, ForecastsOfPrograms) {
  // 2 flops on 8 bytes read and 4 written per element; 12 MB of arrays.
  const Forecast map = ForecastOf(
      MustParse("map ():\n  in a : f32[1000000]; in b : f32[1000000];\n"
                "  out y : f32[1000000];\n  for i0 = 0 to 999999 {\n"
                "    y[i0] := a[i0] * b[i0] + 1; }\n"),
      kCosts);
  EXPECT_DOUBLE_EQ(map.host_seconds, 0.001 + 0.012);  // bytes
  EXPECT_DOUBLE_EQ(map.gpu_seconds, 0.01 + 0.00012);
  EXPECT_DOUBLE_EQ(map.compile_seconds, 0.6);
  EXPECT_DOUBLE_EQ(map.move_seconds, 0.003 + 0.12);
  // 2e6 flops on 80 kB and 40 kB, after 40 kB of zeroes; scratch does not move.
  const Forecast product = ForecastOf(
      MustParse("product ():\n  in a : f32[100, 100]; in b : f32[100, 100];\n"
                "  temp t : f32[100, 100]; out y : f32[1];\n  zero_out t;\n"
                "  for i0 = 0 to 99 { for i1 = 0 to 99 { for i2 = 0 to 99 {\n"
                "    t[i0, i1] := fma(a[i0, i2], b[i2, i1], t[i0, i1]); } } }\n"
                "  y[0] := t[0, 0];\n"),
      kCosts);
  EXPECT_NEAR(product.host_seconds, 0.003 + 0.002 + 40e-6, 1e-6);
  EXPECT_NEAR(product.gpu_seconds, 0.03 + 20e-6, 1e-6);
  EXPECT_DOUBLE_EQ(product.compile_seconds, 0.8);
  EXPECT_DOUBLE_EQ(product.move_seconds, 0.003 + 80004e-8);
  // Two operations on each of 10^6 cells, of integers or floats.
  for (const char* dtype : {"u32", "f32"}) {
    const Forecast hash = ForecastOf(
        MustParse(absl::StrCat(
            "hash ():\n  inout y : ", dtype,
            "[10];\n  for i0 = 0 to 9 {\n"
            "    for i1 = 0 to 99999 { y[i0] := y[i0] * y[i0] + y[i0]; } }\n")),
        kCosts);
    EXPECT_DOUBLE_EQ(hash.host_seconds, 0.001 + 0.002) << dtype;
  }
}

// A run takes 30 ms on one side and 10 ms on the other; a move takes 50 ms.
constexpr Forecast kFaster = {.host_seconds = 0.03,
                              .gpu_seconds = 0.01,
                              .compile_seconds = 0.5,
                              .move_seconds = 0.05};
constexpr Forecast kSlower = {.host_seconds = 0.01,
                              .gpu_seconds = 0.03,
                              .compile_seconds = 0.5,
                              .move_seconds = 0.05};

struct Row {
  Forecast forecast;
  Stay stay;
  bool moves;
  const char* reason;
};
constexpr Row kTable[] = {
    {kFaster,
     {.runs = 0, .preparation_seconds = 0.5},
     false,
     "0 runs take 0 ms on the host, and 0 ms on the GPU; moving takes 600 "
     "ms"},
    {kFaster,
     {.runs = 29, .preparation_seconds = 0.5},
     false,
     "29 runs take 870 ms on the host, and 290 ms on the GPU; moving takes "
     "600 ms"},
    {kFaster,
     {.runs = 31, .preparation_seconds = 0.5},
     true,
     "31 runs take 930 ms on the host, and 310 ms on the GPU; moving takes "
     "600 ms"},
    // The code is there already.
    {kFaster,
     {.runs = 6},
     true,
     "6 runs take 180 ms on the host, and 60 ms on the GPU; moving takes 100 "
     "ms"},
    // Neighbours on the GPU make the host copy.
    {kFaster,
     {.runs = 2, .copied_seconds = 0.2},
     true,
     "2 runs take 260 ms on the host, and 20 ms on the GPU; moving takes 100 "
     "ms"},
    // On the last stay there, each run copied more than it gains.
    {kFaster,
     {.runs = 1000, .copied_seconds_there = 0.021},
     false,
     "1000 runs take 3e+04 ms on the host, and 3.1e+04 ms on the GPU; moving "
     "takes 100 ms"},
    {kSlower,
     {.runs = 1000},
     false,
     "1000 runs take 1e+04 ms on the host, and 3e+04 ms on the GPU; moving "
     "takes 100 ms"},
    {kFaster,
     {.on_gpu = true, .runs = 1000},
     false,
     "1000 runs take 1e+04 ms on the GPU, and 3e+04 ms on the host; moving "
     "takes 50 ms"},
    {kSlower,
     {.on_gpu = true, .runs = 2},
     false,
     "2 runs take 60 ms on the GPU, and 20 ms on the host; moving takes 50 "
     "ms"},
    {kSlower,
     {.on_gpu = true, .runs = 3},
     true,
     "3 runs take 90 ms on the GPU, and 30 ms on the host; moving takes 50 "
     "ms"},
    // The host writes what each run reads.
    {kFaster,
     {.on_gpu = true, .runs = 3, .copied_seconds = 0.12},
     true,
     "3 runs take 150 ms on the GPU, and 90 ms on the host; moving takes 50 "
     "ms"},
    {kFaster,
     {.on_gpu = true,
      .runs = 3,
      .copied_seconds = 0.12,
      .copied_seconds_there = 0.04},
     false,
     "3 runs take 150 ms on the GPU, and 210 ms on the host; moving takes 50 "
     "ms"},
};

TEST(MigrationCostTest, Decisions) {
  for (const auto& [forecast, stay, moves, reason] : kTable) {
    const Decision decision = Decide(forecast, stay);
    EXPECT_EQ(decision.moves, moves) << reason;
    EXPECT_EQ(Reason(decision, stay), reason);
  }
}

}  // namespace
}  // namespace ocannl
