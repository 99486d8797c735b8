// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/launch_forecast.h"

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "tests/support/must_parse.h"

namespace ocannl::cuda {
namespace {

// Bytes that each of an H200's processors needs on their way for its full rate.
constexpr double kFullFlight = 40e3;

std::vector<LaunchForecast> Planned(const std::string& text) {
  return ForecastLaunches(gpu::ScheduleGpu(MustParse(text), gpu::kSm90));
}

TEST(LaunchForecastTest, LoopsOfAKernelByHand) {
  const std::vector<LaunchForecast> launches = ForecastLaunches(MustParse(R"(
    p ():
      in x : f32[264, 1024]; out y : f32[264, 32]; private acc : f32[];
      grid i0 = 0 to 263 {
        thread i1 = 0 to 31 {
          acc[] := 0;
          for i2 = 0 to 3 { unroll i3 = 0 to 7 {
            acc[] := acc[] + x[i0, 256*i2 + 32*i3 + i1]; } }
          y[i0, i1] := acc[];
        }
      })"));
  ASSERT_EQ(launches.size(), 1u);
  const LaunchForecast& launch = launches[0];
  EXPECT_EQ(launch.writes, "y");
  EXPECT_EQ(launch.blocks, 264);
  EXPECT_EQ(launch.threads, 32);
  EXPECT_EQ(launch.bytes, 4. * 264 * (1024 + 32));
  EXPECT_EQ(launch.waits, 4);
  EXPECT_EQ(launch.chain, 32);
  // Two blocks on each processor, which read a quarter of their rows at once.
  EXPECT_EQ(launch.bytes_in_flight, 2 * 4 * 256);
  EXPECT_NEAR(launch.seconds, 2e-6 + 4 * 1.1e-6, 1e-7);
}

// Copies into shared memory are on their way together, until threads use them.
TEST(LaunchForecastTest, APhaseWaitsForCopies) {
  const std::vector<LaunchForecast> launches = ForecastLaunches(MustParse(R"(
    p ():
      in x : f32[32]; in z : f32[32]; out y : f32[32];
      shared s : f32[32]; shared t : f32[32];
      grid i0 = 0 to 0 {
        thread i1 = 0 to 31 { s[i1] := x[i1]; }
        thread i2 = 0 to 31 { t[i2] := z[i2]; }
        thread i3 = 0 to 31 { y[i3] := s[31 - i3] * t[31 - i3]; }
        thread i4 = 0 to 31 { y[i4] := y[i4] + 1; }
      })"));
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0].waits, 2);
  EXPECT_EQ(launches[0].shared_bytes, 256);
}

// $0 blocks of 128 rows of 64 columns; the sum of 2^26 cells in lanes is the
// same loops over flat places.
std::string Columns(int64_t blocks) {
  return absl::Substitute(R"(
    p ():
      in x : f32[$0, 128, 64]; out t : f32[$0, 64];
      zero_out t;
      for i0 = 0 to $1 { for i1 = 0 to 127 { for i2 = 0 to 63 {
        t[i0, i2] := t[i0, i2] + x[i0, i1, i2]; } } })",
                          blocks, blocks - 1);
}

TEST(LaunchForecastTest, BlocksOfColumnsReadAtTheRateOfACopy) {
  const std::vector<LaunchForecast> launches = Planned(Columns(8192));
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_GE(launches[0].blocks * launches[0].threads, 270'000);
  EXPECT_GE(launches[0].bytes_in_flight, kFullFlight);
  EXPECT_GE(launches[0].of_copy, 0.85);
}

// The sums of the sums: few threads, which read far ahead.
TEST(LaunchForecastTest, FewBlocksOfColumnsWaitSeldom) {
  for (int64_t blocks : {64, 1}) {
    const std::vector<LaunchForecast> launches = Planned(Columns(blocks));
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_LE(launches[0].waits, 4);
  }
}

// lenet's: 150 weights of 64 images each; cifar_conv's: 9216 of 32 channels.
TEST(LaunchForecastTest, GradientsOfConvolutionsUseAllProcessors) {
  const std::vector<LaunchForecast> small = Planned(R"(
    p ():
      in g : f32[64, 28, 28, 6]; in x : f32[64, 32, 32];
      out t : f32[64, 6, 5, 5];
      zero_out t;
      for i0 = 0 to 63 { for i1 = 0 to 5 { for i2 = 0 to 4 { for i3 = 0 to 4 {
        for i4 = 0 to 27 { for i5 = 0 to 27 {
          t[i0, i1, i2, i3] := fma(x[i0, i2 + i4, i3 + i5], g[i0, i4, i5, i1],
                                   t[i0, i1, i2, i3]); } } } } } })");
  ASSERT_EQ(small.size(), 1u);
  EXPECT_GE(small[0].blocks, 64);
  EXPECT_LE(small[0].waits, 8);
  EXPECT_LE(small[0].seconds, 20e-6);
  const std::vector<LaunchForecast> large = Planned(R"(
    p ():
      in g : f32[64, 32, 32, 32]; in x : f32[64, 34, 34, 32];
      out t : f32[64, 32, 3, 3, 32];
      zero_out t;
      for i0 = 0 to 63 { for i1 = 0 to 31 { for i2 = 0 to 2 { for i3 = 0 to 2 {
        for i6 = 0 to 31 { for i4 = 0 to 31 { for i5 = 0 to 31 {
          t[i0, i1, i2, i3, i6] := fma(x[i0, i2 + i4, i3 + i5, i6],
              g[i0, i4, i5, i1], t[i0, i1, i2, i3, i6]); } } } } } } })");
  ASSERT_EQ(large.size(), 1u);
  EXPECT_LE(large[0].waits, 32);
  EXPECT_GE(large[0].blocks * large[0].threads, 132 * 256);
}

// Lines of w are read across, by more threads than there are sums in a block.
TEST(LaunchForecastTest, ARowOfResultsHasManyReads) {
  const std::vector<LaunchForecast> launches = Planned(R"(
    p ():
      in w : f32[1000, 1000]; in x : f32[1000]; out y : f32[1000];
      zero_out y;
      for i0 = 0 to 999 { for i1 = 0 to 999 {
        y[i0] := fma(w[i0, i1], x[i1], y[i0]); } })");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_GE(launches[0].threads, 128);
  EXPECT_LE(launches[0].waits, 12);
}

}  // namespace
}  // namespace ocannl::cuda
