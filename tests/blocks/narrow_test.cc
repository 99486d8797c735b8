// SPDX-License-Identifier: Apache-2.0
//
// Blocks that divide by a sum or by a number of cells, of narrow floats: their
// results and gradients are those of f64, to within one rounding.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/state.h"
#include "tests/blocks/block_check.h"

namespace ocannl {
namespace {

using train::ParamScope;
using Cells = std::vector<double>;

double Rounded(DType dtype, double x) {
  return VisitDType(dtype, [&](auto zero) {
    return static_cast<double>(number::Convert<decltype(zero)>(x));
  });
}

// The distance of numbers of the narrow dtype near x.
double LastPlace(DType dtype, double x) {
  return VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsNarrow<T>) {
      const int exponent = x == 0 ? -1000 : std::ilogb(x);
      return std::ldexp(1.,
                        std::max(exponent, 1 - T::kBias) - T::kFractionBits);
    }
    return 0.;
  });
}

using Expected = std::function<Cells(const Cells& x)>;

// A normal x.
struct Inputs {
  DType dtype;
  Dims batch, outputs;
  double mean, sd;
};

struct Case {
  std::string name;
  ApplyBlock apply;
  Inputs inputs;
  Expected expected;
};

Cells CellsOf(const Inputs& in) {
  int64_t count = 1;
  for (int64_t size : in.batch) count *= size;
  for (int64_t size : in.outputs) count *= size;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  Cells x(count);
  for (double& cell : x) {
    cell = Rounded(in.dtype, in.mean + in.sd * normal(random));
  }
  return x;
}

// The block on x of `dtype`, with a result of f32.
ApplyBlock In(DType dtype, const ApplyBlock& apply) {
  return [=](const ParamScope& scope, Tensor x) {
    ParamScope narrow = scope;
    narrow.dtype = dtype;
    return InDType(apply(narrow, InDType(x, dtype)), DType::kF32);
  };
}

// f of each of the groups of `size` cells.
std::function<Cells(const Cells&)> OfRows(
    size_t size, const std::function<void(Cells& row)>& f) {
  return [=](const Cells& x) {
    Cells y;
    for (size_t k = 0; k < x.size(); k += size) {
      Cells row(x.begin() + k, x.begin() + k + size);
      f(row);
      y.insert(y.end(), row.begin(), row.end());
    }
    return y;
  };
}

double MeanOf(const Cells& x) {
  return std::accumulate(x.begin(), x.end(), 0.) /
         static_cast<double>(x.size());
}

double SquareMeanOf(const Cells& x, double centre) {
  double sum = 0;
  for (double cell : x) sum += (cell - centre) * (cell - centre);
  return sum / static_cast<double>(x.size());
}

void Standardise(Cells& row) {
  const double mean = MeanOf(row);
  const double factor = 1 / std::sqrt(SquareMeanOf(row, mean) + 1e-5);
  for (double& cell : row) cell = (cell - mean) * factor;
}

void DivideByRms(Cells& row) {
  const double factor = 1 / std::sqrt(SquareMeanOf(row, 0) + 1e-5);
  for (double& cell : row) cell *= factor;
}

void ToMean(Cells& row) { row = {MeanOf(row)}; }
void ToSquareMean(Cells& row) { row = {SquareMeanOf(row, 0)}; }

void ToShares(Cells& row) {
  double sum = 0;
  for (double& cell : row) sum += cell = std::exp(cell);
  for (double& cell : row) cell /= sum;
}

void ToLogShares(Cells& row) {
  ToShares(row);
  for (double& cell : row) cell = std::log(cell);
}

// -log of the first share.
void ToLoss(Cells& row) {
  ToLogShares(row);
  row = {-row[0]};
}

Tensor LayerNorm(const ParamScope& scope, Tensor x) {
  return train::LayerNorm(scope)(x);
}
Tensor RmsNorm(const ParamScope& scope, Tensor x) {
  return train::RmsNorm(scope)(x);
}
Tensor BatchNorm(const ParamScope& scope, Tensor x) {
  train::Training training{.step = scope.graph->AddStatic("step", 10)};
  return train::BatchNorm(scope)(x, &training);
}
Tensor MeanOfAll(const ParamScope&, Tensor x) {
  return train::Mean("...|... => |0", x);
}
Tensor SquaredError(const ParamScope&, Tensor x) {
  return train::MeanSquaredError(x, Number(*x.graph, 0));
}
Tensor Softmax(const ParamScope&, Tensor x) {
  return train::Softmax("...|v => ...|0", x);
}
Tensor MaskedSoftmax(const ParamScope&, Tensor x) {
  return train::MaskedSoftmax("...|v => ...|0", x, LessEqual(x, x));
}
Tensor LogSoftmax(const ParamScope&, Tensor x) {
  return train::LogSoftmax("...|v => ...|0", x);
}
Tensor CrossEntropy(const ParamScope&, Tensor x) {
  const Tensor is_first = Equal(Range(*x.graph, 512, DType::kI32), 0);
  const Tensor targets = InDType(is_first, x.node().dtype);
  return train::CrossEntropy(x, Einsum1("v => 0|v", targets), {});
}
Tensor AvgPool(const ParamScope&, Tensor x) {
  return train::AvgPool2d(
      x, {.kernel = 32, .stride = 32, .padding = train::Padding::kValid});
}
Tensor GlobalAvgPool(const ParamScope&, Tensor x) {
  return train::GlobalAvgPool2d(x);
}

class Cases {
 public:
  // Whose groups are of all cells of a row, or of all cells.
  enum Group { kRow, kAll };

  void Add(const std::string& name, const ApplyBlock& apply, Group group,
           void (*f)(Cells&), const std::vector<Inputs>& all) {
    for (const Inputs& in : all) {
      const size_t size = group == kAll ? Count(in.batch) * Count(in.outputs)
                                        : Count(in.outputs);
      cases_.push_back({name, apply, in, OfRows(size, f)});
    }
  }

  const std::vector<Case>& list() const { return cases_; }

 private:
  static size_t Count(const Dims& dims) {
    size_t count = 1;
    for (int64_t size : dims) count *= size;
    return count;
  }

  std::vector<Case> cases_;
};

constexpr DType kF16 = DType::kF16, kBF16 = DType::kBF16;
constexpr DType kE4 = DType::kF8E4M3, kE5 = DType::kF8E5M2;

Cases AllCases() {
  Cases cases;
  cases.Add("LayerNorm", LayerNorm, Cases::kRow, Standardise,
            {{kF16, {2}, {768}, 0, 10},
             {kF16, {2}, {4096}, 0, 4.5},
             {kF16, {2}, {768}, 100, 1},
             {kF16, {2}, {64}, 0, 9000},
             {kE4, {2}, {128}, 0, 1},
             {kE4, {2}, {512}, 0, 3},
             {kE5, {2}, {768}, 0, 10},
             {kBF16, {2}, {768}, 0, 10}});
  cases.Add("RmsNorm", RmsNorm, Cases::kRow, DivideByRms,
            {{kF16, {2}, {1024}, 0, 9}, {kE4, {2}, {300}, 0, 30}});
  cases.Add("BatchNorm", BatchNorm, Cases::kAll, Standardise,
            {{kF16, {4, 32, 32}, {1}, 0.5, 1},
             {kF16, {8, 32, 32}, {1}, 30, 0.3},
             {kF16, {70000}, {1}, 0, 4},
             {kE4, {600}, {1}, 0, 20}});
  cases.Add("Mean", MeanOfAll, Cases::kAll, ToMean,
            {{kF16, {70000}, {1}, 0.1, 0.01},
             {kF16, {2000}, {1}, 50, 1},
             {kE4, {500}, {1}, 0.1, 0.01},
             {kBF16, {70000}, {1}, 0.1, 0.01}});
  cases.Add("MeanSquaredError", SquaredError, Cases::kAll, ToSquareMean,
            {{kF16, {100}, {100}, 0, 3}, {kE4, {100}, {30}, 0, 3}});
  cases.Add("CrossEntropy", CrossEntropy, Cases::kRow, ToLoss,
            {{kF16, {1}, {512}, 0, 1}, {kE4, {1}, {512}, 0, 1}});
  cases.Add("Softmax", Softmax, Cases::kRow, ToShares,
            {{kE4, {2}, {512}, 0, 0},
             {kE5, {2}, {600}, 0, 3},
             {kF16, {1}, {70000}, 0, 1}});
  cases.Add("MaskedSoftmax", MaskedSoftmax, Cases::kRow, ToShares,
            {{kE4, {2}, {512}, 0, 2}});
  cases.Add("LogSoftmax", LogSoftmax, Cases::kRow, ToLogShares,
            {{kE4, {2}, {600}, 0, 1}});
  const Dims image = {32, 32, 1};
  cases.Add("AvgPool2d", AvgPool, Cases::kRow, ToMean,
            {{kE4, {2}, image, 1, 0.5}, {kF16, {2}, image, 90, 10}});
  cases.Add("GlobalAvgPool2d", GlobalAvgPool, Cases::kRow, ToMean,
            {{kE4, {2}, image, 1, 0.5}});
  return cases;
}

std::string TextOf(const Case& c) {
  return c.name + " " + std::string(Name(c.inputs.dtype)) + " of mean " +
         std::to_string(c.inputs.mean) + ", deviation " +
         std::to_string(c.inputs.sd);
}

// Half of the last place, and what f32 leaves: of the difference from a mean
// that is far from 0, too.
void ExpectNear(const Case& c, double actual, double expected, size_t cell) {
  const Inputs& in = c.inputs;
  double bound = 0.5 * LastPlace(in.dtype, expected);
  bound += 2e-5 * (1e-3 + std::abs(expected));
  if (in.sd > 0) bound += 4e-8 * std::abs(in.mean) / in.sd;
  EXPECT_NEAR(actual, expected, bound) << TextOf(c) << ", cell " << cell;
}

// 0.4 s
TEST(NarrowTest, Values) {
  const Cases cases = AllCases();
  for (const Case& c : cases.list()) {
    const Inputs& in = c.inputs;
    const Cells x = CellsOf(in);
    const std::vector<float> actual =
        ValuesOf(in.batch, in.outputs, {.x = x}, In(in.dtype, c.apply));
    const Cells expected = c.expected(x);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < actual.size(); ++k) {
      ExpectNear(c, actual[k], expected[k], k);
    }
  }
}

// Those of the same block in f32, rounded once. 1 s
TEST(NarrowTest, Gradients) {
  const Cases cases = AllCases();
  for (const Case& c : cases.list()) {
    const Inputs& in = c.inputs;
    const Cells x = CellsOf(in);
    const auto actual = WeightedGradientOf(in.batch, in.outputs, {.x = x},
                                           In(in.dtype, c.apply));
    const auto expected = WeightedGradientOf(in.batch, in.outputs, {.x = x},
                                             In(DType::kF32, c.apply));
    ASSERT_EQ(actual.size(), expected.size());
    bool any = false;
    for (size_t k = 0; k < actual.size(); ++k) {
      any = any || expected[k] != 0;
      ExpectNear(c, actual[k], expected[k], k);
    }
    EXPECT_TRUE(any) << TextOf(c);
  }
}

TEST(NarrowTest, Bits) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    ExpectSameBits({3}, {37}, In(dtype, LayerNorm));
    ExpectSameBits({3}, {4, 5, 17}, In(dtype, BatchNorm));
    ExpectSameBits({5}, {19}, In(dtype, Softmax));
  }
}

}  // namespace
}  // namespace ocannl
