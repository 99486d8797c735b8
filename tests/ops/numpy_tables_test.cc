// SPDX-License-Identifier: Apache-2.0
//
// The tables by which NumPy checks its functions, in tests/ops/numpy_tables:
// inputs, results of a library of many digits, and how many ulps a function may
// be off.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "tests/support/block_evaluator.h"

namespace ocannl {
namespace {

template <class T>
struct Entry {
  T input;
  T output;
  int64_t ulps;
};

// The lines for type T: np.float32,0x3f800000,0x402df854,3.
template <std::floating_point T>
std::vector<Entry<T>> EntriesOf(const std::string& table) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const std::string type = absl::StrCat("np.float", 8 * sizeof(T));
  std::vector<Entry<T>> entries;
  for (absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ',');
    if (words.size() != 4 || words[0] != type) continue;
    Bits input = 0;
    Bits output = 0;
    int64_t ulps = 0;
    EXPECT_TRUE(absl::SimpleHexAtoi(words[1], &input) &&
                absl::SimpleHexAtoi(words[2], &output) &&
                absl::SimpleAtoi(words[3], &ulps))
        << line;
    entries.push_back(
        {std::bit_cast<T>(input), std::bit_cast<T>(output), ulps});
  }
  return entries;
}

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

// How many steps from one number to the next lead from `a` to `b`.
template <class T>
int64_t Distance(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b) ? 0 : kFar;
  }
  if (std::signbit(a) != std::signbit(b)) return a == b ? 0 : kFar;
  return std::abs(int64_t{std::bit_cast<Bits>(a)} - std::bit_cast<Bits>(b));
}

template <class T>
void Check(Op op, const std::string& table) {
  const DType dtype = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  ExprPool pool;
  BlockEvaluator evaluator(pool,
                           ApplyOp(op, {MakeLeaf(pool, dtype, 0)}, dtype).id());
  const std::vector<Entry<T>> entries = EntriesOf<T>(table);
  ASSERT_GT(entries.size(), 50u);
  for (size_t begin = 0; begin < entries.size();
       begin += BlockEvaluator::kBlock) {
    const size_t count =
        std::min<size_t>(BlockEvaluator::kBlock, entries.size() - begin);
    T* inputs = evaluator.leaf<T>(0);
    for (size_t k = 0; k < count; ++k) inputs[k] = entries[begin + k].input;
    const T* outputs = evaluator.Run<T>();
    for (size_t k = 0; k < count; ++k) {
      const Entry<T>& entry = entries[begin + k];
      EXPECT_LE(Distance(outputs[k], entry.output), entry.ulps)
          << Info(op).text << "(" << entry.input << ") is " << entry.output
          << ", not " << outputs[k];
    }
  }
}

class NumpyTablesTest
    : public testing::TestWithParam<std::pair<std::string, Op>> {};

TEST_P(NumpyTablesTest, Agree) {
  const auto& [function, op] = GetParam();
  absl::StatusOr<std::string> table =
      ReadFile(absl::StrCat("tests/ops/numpy_tables/", function, ".csv"));
  ASSERT_TRUE(table.ok()) << table.status();
  Check<float>(op, *table);
  Check<double>(op, *table);
}

INSTANTIATE_TEST_SUITE_P(
    All, NumpyTablesTest,
    testing::Values(
        std::pair("exp", Op::kExp), std::pair("exp2", Op::kExp2),
        std::pair("expm1", Op::kExpm1), std::pair("log", Op::kLog),
        std::pair("log1p", Op::kLog1p), std::pair("log2", Op::kLog2),
        std::pair("log10", Op::kLog10), std::pair("cbrt", Op::kCbrt),
        std::pair("sin", Op::kSin), std::pair("cos", Op::kCos),
        std::pair("tan", Op::kTan), std::pair("arcsin", Op::kAsin),
        std::pair("arccos", Op::kAcos), std::pair("arctan", Op::kAtan),
        std::pair("sinh", Op::kSinh), std::pair("cosh", Op::kCosh),
        std::pair("tanh", Op::kTanh), std::pair("arcsinh", Op::kAsinh),
        std::pair("arccosh", Op::kAcosh), std::pair("arctanh", Op::kAtanh)),
    [](const auto& test) { return test.param.first; });

}  // namespace
}  // namespace ocannl
