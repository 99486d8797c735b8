// SPDX-License-Identifier: Apache-2.0
//
// Sums and numbers of cells that f16 does not hold stay inside of operations.
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/narrow_float.h"
#include "ocannl/train/eager/session.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

class NarrowOpsTest : public testing::Test {
 protected:
  void SetUp() override {
    session_.Begin();
    ASSERT_THAT(session_.Use(params_, {}), IsOk());
  }

  // The numbers of `pattern`, again and again.
  Ref Halves(const Dims& dims, const std::vector<double>& pattern) {
    NdArray array(DType::kF16, dims);
    for (int64_t k = 0; k < array.size(); ++k) {
      array.values<F16>()[k] = F16::Round(pattern[k % pattern.size()]);
    }
    return session_.Const(std::make_shared<const NdArray>(std::move(array)));
  }

  void Expect(Ref ref, const std::vector<double>& pattern) {
    const absl::StatusOr<NdArray> value = session_.Value(ref);
    ASSERT_THAT(value, IsOk());
    ASSERT_EQ(value->dtype(), DType::kF16);
    for (int64_t k = 0; k < value->size(); ++k) {
      ASSERT_EQ(value->AsDouble(k), pattern[k % pattern.size()]) << k;
    }
  }

  ParamList params_ = *ParamList::Allocate({NdArray::Of<float>({1}, {0})});
  Session session_{TestDevice::Interpreter(), {}};
};

TEST_F(NarrowOpsTest, Norms) {
  const Ref x = Halves({2, 768}, {16, -16});
  Expect(session_.LayerNorm(x, Halves({768}, {1}), Halves({768}, {0})),
         {1, -1});
  Expect(session_.BatchnormChannelFirst(x, Halves({2}, {2}), Halves({2}, {1})),
         {3, -1});
}

TEST_F(NarrowOpsTest, Means) {
  Expect(session_.ReduceMean(Halves({70000}, {0.5, 0.25}), 0), {0.375});
  Expect(session_.MseLoss(Halves({768}, {16}), Halves({768}, {0})), {256});
  Expect(session_.AvgPool2d(Halves({1, 40, 40}, {200}), 40, 40), {200});
  Expect(session_.Softmax(Halves({1 << 17}, {3})), {0x1p-17});
}

}  // namespace
}  // namespace ocannl::train
