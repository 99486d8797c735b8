// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/containers/stable_vector.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

constexpr int kMany = 20'000;  // blocks of all sizes, of each type below

// The k-th value, of a type.
template <class T>
T Value(int k);
template <>
int Value<int>(int k) {
  return k;
}
template <>
std::string Value<std::string>(int k) {
  return absl::StrCat("a string on the heap: ", k);
}
struct Large {  // larger than the first block
  std::string text;
  char rest[1000] = {};
  friend bool operator==(const Large&, const Large&) = default;
};
template <>
Large Value<Large>(int k) {
  return {.text = absl::StrCat(k)};
}

template <class T>
class StableVectorTest : public testing::Test {
 protected:
  static StableVector<T> Many() {
    StableVector<T> values;
    for (int k = 0; k < kMany; ++k) values.push_back(Value<T>(k));
    return values;
  }
};
using Types = testing::Types<int, std::string, Large>;
TYPED_TEST_SUITE(StableVectorTest, Types);

TYPED_TEST(StableVectorTest, HasWhatWasAppended) {
  const StableVector<TypeParam> values = this->Many();
  ASSERT_EQ(values.size(), kMany);
  for (int k = 0; k < kMany; ++k) ASSERT_EQ(values[k], Value<TypeParam>(k));
  int next = 0;
  for (const TypeParam& value : values) {
    ASSERT_EQ(value, Value<TypeParam>(next++));
  }
  for (auto at = values.rbegin(); at != values.rend(); ++at) {
    ASSERT_EQ(*at, Value<TypeParam>(--next));
  }
  EXPECT_EQ(next, 0);
  EXPECT_EQ(values.front(), Value<TypeParam>(0));
  EXPECT_EQ(values.back(), Value<TypeParam>(kMany - 1));
}

TYPED_TEST(StableVectorTest, ElementsStayWhereTheyAre) {
  StableVector<TypeParam> values;
  std::vector<TypeParam*> places;
  for (int k = 0; k < kMany; ++k) {
    places.push_back(&values.emplace_back(Value<TypeParam>(k)));
  }
  const StableVector<TypeParam> moved = std::move(values);
  for (int k = 0; k < kMany; ++k) ASSERT_EQ(places[k], &moved[k]);
}

TYPED_TEST(StableVectorTest, LosesItsFrontAndItsBack) {
  StableVector<TypeParam> values = this->Many();
  for (int k = 0; k < kMany / 2; ++k) {
    ASSERT_EQ(values.front(), Value<TypeParam>(k));
    values.pop_front();
    ASSERT_EQ(values.back(), Value<TypeParam>(kMany - 1 - k));
    values.pop_back();
    ASSERT_EQ(values.size(), kMany - 2 * (k + 1));
  }
  EXPECT_TRUE(values.empty());
  values.push_back(Value<TypeParam>(7));
  EXPECT_EQ(values[0], Value<TypeParam>(7));
}

TYPED_TEST(StableVectorTest, CopiesWhatIsLeft) {
  StableVector<TypeParam> values = this->Many();
  for (int k = 0; k < kMany / 3; ++k) values.pop_front();
  StableVector<TypeParam> copy;
  copy.push_back(Value<TypeParam>(1));
  copy = values;
  EXPECT_TRUE(absl::c_equal(copy, values));
  copy.pop_back();
  EXPECT_EQ(values.size(), copy.size() + 1);
  copy.clear();
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(copy.begin(), copy.end());
}

TYPED_TEST(StableVectorTest, ErasesIf) {
  StableVector<TypeParam> values = this->Many();
  int next = 0;
  EraseIf(values, [&](const TypeParam&) { return next++ % 3 != 1; });
  ASSERT_EQ(values.size(), (kMany + 1) / 3);
  for (size_t k = 0; k < values.size(); ++k) {
    ASSERT_EQ(values[k], Value<TypeParam>(static_cast<int>(3 * k + 1)));
  }
}

// Each element is destroyed once, when it leaves.
TEST(StableVector, DestroysItsElements) {
  const auto shared = std::make_shared<int>(0);
  StableVector<std::shared_ptr<int>> values;
  for (int k = 0; k < kMany; ++k) values.push_back(shared);
  EXPECT_EQ(shared.use_count(), kMany + 1);
  values.pop_front();
  values.pop_back();
  EXPECT_EQ(shared.use_count(), kMany - 1);
  for (int k = 0; k < kMany / 2; ++k) values.pop_front();
  EXPECT_EQ(shared.use_count(), kMany / 2 - 1);
  values = {};
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace ocannl
