// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "tests/eager/primitive_cases.h"

namespace ocannl::train {
namespace {

Numbers MatMul(const Numbers& a, const Numbers& b, int m, int k, int n) {
  Numbers c(m * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int p = 0; p < k; ++p) c[i * n + j] += a[i * k + p] * b[p * n + j];
    }
  }
  return c;
}

// Groups of `width` neighbours, scaled by gamma[k] and shifted by beta[k],
// where k is the cell's place in the group or the group's number.
Numbers Normal(const Args& args, int width, bool by_group) {
  Numbers y = args[0];
  for (size_t i = 0; i < y.size(); i += width) {
    double mean = 0, variance = 0;
    for (int k = 0; k < width; ++k) mean += y[i + k] / width;
    for (int k = 0; k < width; ++k) {
      variance += std::pow(y[i + k] - mean, 2) / width;
    }
    for (int k = 0; k < width; ++k) {
      const size_t g = by_group ? i / width : k;
      y[i + k] = args[1][g] * (y[i + k] - mean) / std::sqrt(variance + 1e-6) +
                 args[2][g];
    }
  }
  return y;
}

// The windows of a 1,5,4 image, 3 x 2 with strides 2 and 1 and a padding of 1:
// 3 x 5 of them.
Numbers Pooled(const Numbers& x, double start, bool pads,
               const std::function<double(double, double)>& f) {
  Numbers y;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 5; ++j) {
      double sum = start;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 2; ++b) {
          const int r = 2 * i + a - 1, c = j + b - 1;
          const bool inside = r >= 0 && r < 5 && c >= 0 && c < 4;
          if (inside || pads) sum = f(sum, inside ? x[r * 4 + c] : 0);
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

const Windows& PoolWindows() {
  static const auto* windows = new Windows{{3, 2}, {2, 1}, {1, 1}};
  return *windows;
}

// x 2,4,4 and w 3,2,3,3 and b 3, stride 2, padding 1: 3,2,2.
Numbers Convolved(const Args& args) {
  Numbers y;
  for (int o = 0; o < 3; ++o) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        double sum = args[1][o];
        for (int c = 0; c < 2; ++c) {
          for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 3; ++b) {
              const int r = 2 * i + a - 1, s = 2 * j + b - 1;
              if (r < 0 || s < 0 || r > 3 || s > 3) continue;
              sum += args[0][((o * 2 + c) * 3 + a) * 3 + b] *
                     args[2][(c * 4 + r) * 4 + s];
            }
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

// x 2,2,3 and w 2,1,3,3 and b 1, stride 2, padding 1: 1,3,5.
Numbers Transposed(const Args& args) {
  Numbers y(15, args[1][0]);
  for (int c = 0; c < 2; ++c) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int a = 0; a < 3; ++a) {
          for (int b = 0; b < 3; ++b) {
            const int r = 2 * i + a - 1, s = 2 * j + b - 1;
            if (r < 0 || s < 0 || r > 2 || s > 4) continue;
            y[r * 5 + s] +=
                args[0][(c * 3 + a) * 3 + b] * args[2][(c * 2 + i) * 3 + j];
          }
        }
      }
    }
  }
  return y;
}

// Two heads of size 2 over three places of four numbers; where `hides`, place
// s sees t <= s only.
Numbers Attended(const Args& args, bool hides) {
  const Numbers q = MatMul(args[4], args[0], 3, 4, 4);
  const Numbers k = MatMul(args[4], args[1], 3, 4, 4);
  const Numbers v = MatMul(args[4], args[2], 3, 4, 4);
  Numbers found(12);
  for (int h = 0; h < 2; ++h) {
    for (int s = 0; s < 3; ++s) {
      Numbers weights;
      const int seen = hides ? s + 1 : 3;
      for (int t = 0; t < seen; ++t) {
        double score = 0;
        for (int e = 0; e < 2; ++e) {
          score += q[s * 4 + h * 2 + e] * k[t * 4 + h * 2 + e];
        }
        weights.push_back(score / std::sqrt(2.));
      }
      weights = Softmaxed(weights, seen);
      for (int t = 0; t < seen; ++t) {
        for (int e = 0; e < 2; ++e) {
          found[s * 4 + h * 2 + e] += weights[t] * v[t * 4 + h * 2 + e];
        }
      }
    }
  }
  return MatMul(found, args[3], 3, 4, 4);
}

}  // namespace

std::vector<Case> SumCases() {
  return {
      {"Sum",
       {{2, 3}},
       [](Ops& ops, auto args) { return ops.Sum(args[0]); },
       [](const Args& args) {
         double sum = 0;
         for (double a : args[0]) sum += a;
         return Numbers{sum};
       }},
      {"ReduceSum",
       {{2, 3}},
       [](Ops& ops, auto args) { return ops.ReduceSum(args[0], 0); },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{x[0] + x[3], x[1] + x[4], x[2] + x[5]};
       }},
      {"ReduceMean",
       {{2, 3}},
       [](Ops& ops, auto args) { return ops.ReduceMean(args[0], 1); },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{(x[0] + x[1] + x[2]) / 3, (x[3] + x[4] + x[5]) / 3};
       }},
  };
}

std::vector<Case> ProductCases() {
  return {
      {"Matmul",
       {{2, 3}, {3, 2}},
       [](Ops& ops, auto args) { return ops.Matmul(args[0], args[1]); },
       [](const Args& args) { return MatMul(args[0], args[1], 2, 3, 2); }},
      {"Bmm",
       {{2, 1, 2}, {2, 2, 1}},
       [](Ops& ops, auto args) { return ops.Bmm(args[0], args[1]); },
       [](const Args& args) {
         const Numbers &a = args[0], &b = args[1];
         return Numbers{a[0] * b[0] + a[1] * b[1], a[2] * b[2] + a[3] * b[3]};
       }},
      {"Linear",
       {{2, 3}, {2}, {3}},
       [](Ops& ops, auto args) {
         return ops.Linear(args[0], args[1], args[2]);
       },
       [](const Args& args) {
         Numbers y = MatMul(args[0], args[2], 2, 3, 1);
         return Numbers{y[0] + args[1][0], y[1] + args[1][1]};
       }},
      {"LinearOfABatch",
       {{1, 2}, {1}, {3, 2}},
       [](Ops& ops, auto args) {
         return ops.Linear(args[0], args[1], args[2]);
       },
       [](const Args& args) {
         const Numbers &w = args[0], &x = args[2];
         Numbers y;
         for (int i = 0; i < 3; ++i) {
           y.push_back(w[0] * x[2 * i] + w[1] * x[2 * i + 1] + args[1][0]);
         }
         return y;
       }},
  };
}

std::vector<Case> LayerCases() {
  return {
      {"LayerNorm",
       {{2, 3}, {3}, {3}},
       [](Ops& ops, auto args) {
         return ops.LayerNorm(args[0], args[1], args[2]);
       },
       [](const Args& args) { return Normal(args, 3, false); }},
      {"BatchnormChannelFirst",
       {{2, 2, 3}, {2}, {2}},
       [](Ops& ops, auto args) {
         return ops.BatchnormChannelFirst(args[0], args[1], args[2]);
       },
       [](const Args& args) { return Normal(args, 6, true); }},
      {"MultiHeadAttention",
       {{4, 4}, {4, 4}, {4, 4}, {4, 4}, {3, 4}},
       [](Ops& ops, auto args) {
         return ops.MultiHeadAttention(args[0], args[1], args[2], args[3],
                                       args[4], 2);
       },
       [](const Args& args) { return Attended(args, false); }},
      {"MultiHeadAttentionWithMask",
       {{4, 4}, {4, 4}, {4, 4}, {4, 4}, {3, 4}},
       [](Ops& ops, auto args) {
         NdArray mask(DType::kBool, {3, 3});
         for (int s = 0; s < 3; ++s) {
           for (int t = 0; t <= s; ++t) mask.values<bool>()[3 * s + t] = true;
         }
         const Ref seen =
             ops.Const(std::make_shared<const NdArray>(std::move(mask)));
         return ops.MultiHeadAttention(args[0], args[1], args[2], args[3],
                                       args[4], 2, seen);
       },
       [](const Args& args) { return Attended(args, true); }},
  };
}

static std::vector<Case> RoundedPoolingCases() {
  return {
      {"MaxPoolRoundedUp",
       {{1, 5}},
       [](Ops& ops, auto args) {
         return ops.MaxPool(args[0],
                            {.kernel = {2}, .stride = {2}, .ceil = true});
       },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{std::max(x[0], x[1]), std::max(x[2], x[3]), x[4]};
       }},
      {"AvgPoolRoundedUp",
       {{1, 4}},
       [](Ops& ops, auto args) {
         return ops.AvgPool(
             args[0],
             {.kernel = {3}, .stride = {2}, .padding = {1}, .ceil = true});
       },
       // The last window has a cell and one of padding; beyond is nothing.
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{(x[0] + x[1]) / 3, (x[1] + x[2] + x[3]) / 3, x[3] / 2};
       }},
      {"AvgPoolOfCellsOnly",
       {{1, 2, 4}},
       [](Ops& ops, auto args) {
         return ops.AvgPool(args[0], {.kernel = {2, 3},
                                      .stride = {1, 2},
                                      .padding = {0, 1},
                                      .padding_after = {1, 0},
                                      .count_padding = false});
       },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{(x[0] + x[1] + x[4] + x[5]) / 4,
                        (x[1] + x[2] + x[3] + x[5] + x[6] + x[7]) / 6,
                        (x[4] + x[5]) / 2, (x[5] + x[6] + x[7]) / 3};
       }},
      {"SmoothMaxPoolRoundedUp",
       {{1, 3}},
       [](Ops& ops, auto args) {
         return ops.SmoothMaxPool(
             args[0], {.kernel = {2}, .stride = {2}, .ceil = true}, 3);
       },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{std::log(std::exp(3 * x[0]) + std::exp(3 * x[1])) / 3,
                        x[2]};
       }},
  };
}

std::vector<Case> PoolingCases() {
  std::vector<Case> cases = {
      {"MaxPool",
       {{1, 5, 4}},
       [](Ops& ops, auto args) { return ops.MaxPool(args[0], PoolWindows()); },
       [](const Args& args) {
         return Pooled(args[0], -1e9, false,
                       [](double a, double b) { return std::max(a, b); });
       }},
      {"AvgPool",
       {{1, 5, 4}},
       [](Ops& ops, auto args) { return ops.AvgPool(args[0], PoolWindows()); },
       [](const Args& args) {
         return Map(
             Pooled(args[0], 0, true, [](double a, double b) { return a + b; }),
             [](double a) { return a / 6; });
       }},
      {"SmoothMaxPool",
       {{1, 5, 4}},
       [](Ops& ops, auto args) {
         return ops.SmoothMaxPool(args[0], PoolWindows(), 3);
       },
       [](const Args& args) {
         return Map(
             Pooled(args[0], 0, true,
                    [](double a, double b) { return a + std::exp(3 * b); }),
             [](double a) { return std::log(a) / 3; });
       }},
      // The last row and column are in no window.
      Moved(
          "MaxPool2dDropsTheRest", {1, 3, 3},
          [](Ops& ops, Ref x) { return ops.MaxPool2d(ops.Scale(x, 1), 2, 2); },
          {4}),
      {"AvgPool2d",
       {{1, 2, 2}},
       [](Ops& ops, auto args) { return ops.AvgPool2d(args[0], 2, 2); },
       [](const Args& args) {
         const Numbers& x = args[0];
         return Numbers{(x[0] + x[1] + x[2] + x[3]) / 4};
       }},
  };
  for (Case& test : RoundedPoolingCases()) cases.push_back(std::move(test));
  return cases;
}

std::vector<Case> ConvolutionCases() {
  return {
      {"Conv2d",
       {{3, 2, 3, 3}, {3}, {2, 4, 4}},
       [](Ops& ops, auto args) {
         return ops.Conv2d(args[0], args[1], args[2], 2, 1);
       },
       Convolved},
      {"ConvOfOneAxis",
       {{1, 1, 2}, {1}, {1, 3}},
       [](Ops& ops, auto args) { return ops.Conv(args[0], args[1], args[2]); },
       [](const Args& args) {
         const Numbers &w = args[0], &x = args[2];
         return Numbers{w[0] * x[0] + w[1] * x[1] + args[1][0],
                        w[0] * x[1] + w[1] * x[2] + args[1][0]};
       }},
      {"ConvOfPaddingAlone",  // in the only window
       {{1, 1, 1}, {1}, {1, 1}},
       [](Ops& ops, auto a) {
         return ops.Conv(a[0], a[1], a[2], {.stride = {3}, .padding = {1}});
       },
       [](const Args& args) { return Numbers{args[1][0]}; }},
      {"ConvWithOtherPaddingAfter",
       {{1, 1, 2}, {1}, {1, 4}},
       [](Ops& ops, auto args) {
         return ops.Conv(
             args[0], args[1], args[2],
             {.padding = {0}, .padding_after = {1}, .dilation = {2}});
       },
       [](const Args& args) {
         const Numbers &w = args[0], &x = args[2];
         return Numbers{w[0] * x[0] + w[1] * x[2] + args[1][0],
                        w[0] * x[1] + w[1] * x[3] + args[1][0],
                        w[0] * x[2] + args[1][0]};
       }},
      // nn.ConvTranspose1d(kernel 3, stride 2, padding 1, output_padding 1).
      {"ConvTransposeThatDoubles",
       {{1, 1, 3}, {1}, {1, 2}},
       [](Ops& ops, auto args) {
         return ops.ConvTranspose(
             args[0], args[1], args[2],
             {.stride = {2}, .padding = {1}, .padding_after = {0}});
       },
       [](const Args& args) {
         const Numbers &w = args[0], &x = args[2];
         const double b = args[1][0];
         return Numbers{w[1] * x[0] + b, w[2] * x[0] + w[0] * x[1] + b,
                        w[1] * x[1] + b, w[2] * x[1] + b};
       }},
      {"ConvTranspose2d",
       {{2, 1, 3, 3}, {1}, {2, 2, 3}},
       [](Ops& ops, auto args) {
         return ops.ConvTranspose2d(args[0], args[1], args[2], 2, 1);
       },
       Transposed},
  };
}

}  // namespace ocannl::train
