// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/launch_forecast.h"

#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl::cuda {
namespace {

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

}  // namespace
}  // namespace ocannl::cuda
