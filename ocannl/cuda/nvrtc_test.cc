// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/nvrtc.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace ocannl::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char kScale[] = R"(
extern "C" __global__ void scale(float* y, const float* x) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  y[k] = x[k] * 3 + sqrtf(x[k]) / 7;
}
)";

// Skips the test where the machine has no toolkit.
class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_.ok()) GTEST_SKIP() << nvrtc_.status().message();
  }

  const absl::StatusOr<Nvrtc> nvrtc_ = Nvrtc::Open();
};

TEST_F(NvrtcTest, CompilesForAGpuAndForAVirtualOne) {
  EXPECT_GE(nvrtc_->version().first, 12);
  absl::StatusOr<Nvrtc::Code> code = nvrtc_->Compile(kScale, "k", "sm_90");
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT(code->ptx, AllOf(HasSubstr(".visible .entry scale("),
                               HasSubstr(".target sm_90")));
  EXPECT_EQ(code->cubin.substr(1, 3), "ELF");
  EXPECT_THAT(code->log, HasSubstr(" 0 bytes spill stores"));
  code = nvrtc_->Compile(kScale, "k", "compute_90");
  ASSERT_THAT(code, IsOk());
  EXPECT_EQ(code->cubin, "");
}

TEST_F(NvrtcTest, RoundsEachOperationOnce) {
  absl::StatusOr<Nvrtc::Code> code = nvrtc_->Compile(kScale, "k", "sm_90");
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT(code->ptx,
              AllOf(HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32"),
                    HasSubstr("sqrt.rn.f32"), HasSubstr("div.rn.f32"),
                    Not(HasSubstr("fma.")), Not(HasSubstr(".ftz")),
                    Not(HasSubstr(".approx"))));
}

TEST_F(NvrtcTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(
      nvrtc_->Compile("__global__ void k() {\n  x = 1;\n}", "moons", "sm_90"),
      StatusIs(absl::StatusCode::kInternal,
               AllOf(HasSubstr("moons(2): error"),
                     HasSubstr("\"x\" is undefined"))));
  EXPECT_THAT(nvrtc_->Compile(kScale, "moons", "sm_1"),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("moons for sm_1"),
                             HasSubstr("INVALID_OPTION"))));
}

TEST(NvrtcOpenTest, SaysWhereItLooked) {
  EXPECT_THAT(Nvrtc::Open("/no/such"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("libnvrtc.so.13"),
                             HasSubstr("/no/such/lib64, /no/such/lib"),
                             HasSubstr("set cuda_home"))));
  EXPECT_THAT(Nvrtc::Open("toolkit"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("`toolkit` is a relative path")));
  setenv("CUDA_HOME", "../toolkit", 1);
  EXPECT_THAT(Nvrtc::Open(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("CUDA_HOME says what code to load, and "
                                 "`../toolkit` is a relative path")));
  setenv("CUDA_HOME", "/nor/this", 1);
  EXPECT_THAT(LibraryDirectories(""),
              testing::ElementsAre("/nor/this/lib64", "/nor/this/lib"));
  EXPECT_THAT(LibraryDirectories("/here"),
              testing::ElementsAre("/here/lib64", "/here/lib"));
  unsetenv("CUDA_HOME");
  EXPECT_THAT(
      LibraryDirectories(""),
      testing::ElementsAre("", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"));
}

}  // namespace
}  // namespace ocannl::cuda
