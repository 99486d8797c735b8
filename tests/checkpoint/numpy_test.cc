// SPDX-License-Identifier: Apache-2.0
//
// NumPy reads what is saved and writes what is restored. It comes with Debian's
// package python3-numpy; without it this test is skipped.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

class NumpyTest : public testing::Test {
 protected:
  void SetUp() override {
    constexpr char kNumpy[] = "/usr/lib/python3/dist-packages/numpy";
    if (std::filesystem::exists(kNumpy)) return;
    GTEST_SKIP() << "no " << kNumpy << "; install python3-numpy";
  }

  // Whether numpy_peer.py says so.
  bool Peer(const std::string& arguments) {
    return std::system(absl::StrCat("/usr/bin/python3 ",
                                    "tests/checkpoint/numpy_peer.py ",
                                    arguments)
                           .c_str()) == 0;
  }

  std::string folder_ = NewFolder("numpy");
};

TEST_F(NumpyTest, ReadsAndWritesTheSameBits) {
  const std::vector<train::NamedArray> values = SampleArrays(3);
  const Place saved(values);
  for (const std::string name : {"m.npz", "m.safetensors"}) {
    CHECK_OK(train::SaveParams(absl::StrCat(folder_, "/", name),
                               ArraysOf(values), saved.context));
  }
  ASSERT_TRUE(Peer(absl::StrCat("rewrite ", folder_)));
  for (const std::string name :
       {"stored.npz", "compressed.npz", "fortran.npz", "peer.safetensors"}) {
    const Place restored;
    EXPECT_THAT(train::RestoreParams(absl::StrCat(folder_, "/", name),
                                     ArraysOf(values), restored.context),
                IsOk());
    EXPECT_TRUE(Contents(restored.context) == Contents(saved.context)) << name;
  }
}

// More arrays than 16 bits count: the archive must be a zip64.
TEST_F(NumpyTest, Zip64) {
  const std::string path = folder_ + "/many.npz";
  std::vector<train::NamedArray> values;
  for (int32_t k = 0; k < 66'000; ++k) {
    values.emplace_back(absl::StrCat("w", k), NdArray::Of<int32_t>({}, {k}));
  }
  const Place saved(values);
  CHECK_OK(train::SaveParams(path, ArraysOf(values), saved.context));
  const Place restored;
  EXPECT_THAT(train::RestoreParams(path, ArraysOf(values), restored.context),
              IsOk());
  EXPECT_TRUE(Contents(restored.context) == Contents(saved.context));
  EXPECT_TRUE(Peer(absl::StrCat("count ", path, " 66000")));
}

}  // namespace
}  // namespace ocannl
