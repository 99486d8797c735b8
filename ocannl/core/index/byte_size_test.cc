// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/byte_size.h"

#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr int64_t k61 = int64_t{1} << 61;

TEST(ByteSizeTest, IsTheProduct) {
  EXPECT_THAT(ByteSize(DType::kF32, {2, 3}), IsOkAndHolds(24));
  EXPECT_THAT(ByteSize(DType::kF64, {}), IsOkAndHolds(8));
  EXPECT_THAT(ByteSize(DType::kBool, {0, 3}), IsOkAndHolds(0));
  EXPECT_THAT(ByteSize(DType::kU8, {k61, 2}), IsOkAndHolds(2 * k61));
}

TEST(ByteSizeTest, WhatCannotBeRepresentedIsAnError) {
  for (const Dims& dims : {Dims{k61, 3}, Dims{k61, k61}, Dims{0, k61, 4},
                           Dims{k61, 8, 0}, Dims{2 * k61, 16}}) {
    EXPECT_THAT(ByteSize(DType::kU8, dims),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("more than 2^62 bytes; use smaller")));
  }
  EXPECT_THAT(ByteSize(DType::kF32, {2, -1}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("f32[2, -1] has a negative dim")));
}

}  // namespace
}  // namespace ocannl
