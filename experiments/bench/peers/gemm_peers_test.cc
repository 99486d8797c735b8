// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/peers/gemm_peers.h"

#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(GemmPeersTest, AllMultiplyRowMajorMatrices) {
  const GemmPeers& found = FindGemmPeers(/*threads=*/1);
  EXPECT_EQ(found.peers.size() + found.missing.size(), 4);
  constexpr int kM = 5, kN = 3, kK = 7;
  std::vector<float> a(kM * kK), b(kK * kN), expected(kM * kN);
  for (int i = 0; i < kM * kK; ++i) a[i] = static_cast<float>(i % 11) - 5;
  for (int i = 0; i < kK * kN; ++i) b[i] = static_cast<float>(i % 7) - 3;
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kN; ++j) {
      for (int k = 0; k < kK; ++k) {
        expected[i * kN + j] += a[i * kK + k] * b[k * kN + j];
      }
    }
  }
  for (const GemmPeer& peer : found.peers) {
    std::vector<float> c(kM * kN, 1e9f);
    auto run = peer.prepare({kM, kN, kK, a.data(), b.data(), c.data()});
    ASSERT_NE(run, nullptr) << peer.name;
    run();
    EXPECT_EQ(c, expected) << peer.name;
  }
}

}  // namespace
}  // namespace ocannl
