// SPDX-License-Identifier: Apache-2.0
//
// BUILD compiles this file twice. It gives Eigen's namespace another name each
// time, and the object that is defined here.
#include "experiments/bench/peers/eigen_kernels.h"

#include "Eigen/Dense"

namespace ocannl {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Matrix<float, 1, Eigen::Dynamic>;
using Table =
    Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Numbers = Eigen::Array<float, Eigen::Dynamic, 1>;

namespace {

// A name of its own in each compilation.
inline constexpr int kMostLayers = 8;

void Gemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b,
          float* c) {
  Eigen::Map<Matrix>(c, m, n).noalias() =
      Eigen::Map<const Matrix>(a, m, k) * Eigen::Map<const Matrix>(b, k, n);
}

Eigen::Map<const Numbers> AllOf(int64_t rows, int64_t columns, const float* x) {
  return {x, rows * columns};
}

Eigen::Map<const Table> TableOf(int64_t rows, int64_t columns, const float* x) {
  return {x, rows, columns};
}

#define OCANNL_MAP(name, value)                                        \
  void name(int64_t rows, int64_t columns, const float* p, float* q) { \
    Eigen::Map<const Numbers> x = AllOf(rows, columns, p);             \
    Eigen::Map<Numbers>(q, rows * columns) = value;                    \
  }
OCANNL_MAP(Scale, x * 1.5f)
OCANNL_MAP(Relu, x.max(0.f))
OCANNL_MAP(Exp, x.exp())
OCANNL_MAP(Log, x.log())
OCANNL_MAP(Tanh, x.tanh())
OCANNL_MAP(Sigmoid, x.logistic())
OCANNL_MAP(Sin, x.sin())
OCANNL_MAP(Cos, x.cos())
OCANNL_MAP(Sqrt, x.sqrt())
#undef OCANNL_MAP

void Sum(int64_t rows, int64_t columns, const float* x, float* y) {
  *y = AllOf(rows, columns, x).sum();
}

void Greatest(int64_t rows, int64_t columns, const float* x, float* y) {
  *y = AllOf(rows, columns, x).maxCoeff();
}

void RowSums(int64_t rows, int64_t columns, const float* x, float* y) {
  Eigen::Map<Numbers>(y, rows) = TableOf(rows, columns, x).rowwise().sum();
}

void ColumnSums(int64_t rows, int64_t columns, const float* x, float* y) {
  Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>(y, columns) =
      TableOf(rows, columns, x).colwise().sum();
}

void Softmax(int64_t rows, int64_t columns, const float* x, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    Eigen::Map<const Numbers> from(x + row * columns, columns);
    Eigen::Map<Numbers> to(y + row * columns, columns);
    to = (from - from.maxCoeff()).exp();
    to *= 1 / to.sum();
  }
}

void LayerNorm(int64_t rows, int64_t columns, const float* x, float* y) {
  auto n = static_cast<float>(columns);
  for (int64_t row = 0; row < rows; ++row) {
    Eigen::Map<const Numbers> from(x + row * columns, columns);
    Eigen::Map<Numbers> to(y + row * columns, columns);
    to = from - from.sum() / n;
    to *= 1 / Eigen::numext::sqrt(to.square().sum() / n + 1e-5f);
  }
}

constexpr EigenKernels::Function kFunctions[] = {
    {"scale", Scale},
    {"relu", Relu},
    {"exp", Exp},
    {"log", Log},
    {"tanh", Tanh},
    {"sigmoid", Sigmoid},
    {"sin", Sin},
    {"cos", Cos},
    {"sqrt", Sqrt},
    {"sum", Sum},
    {"max", Greatest},
    {"row_sums", RowSums},
    {"column_sums", ColumnSums},
    {"softmax", Softmax},
    {"layer_norm", LayerNorm},
    {nullptr, nullptr},
};

struct Mlp {
  int layers;
  float rate;
  Eigen::Map<const Matrix> x, y;
  Matrix w[kMostLayers], out[kMostLayers], d_out[kMostLayers], d_w;
  Row b[kMostLayers];
};

EigenMlp* NewMlp(int layers, const int64_t* sizes, int64_t batch, float rate,
                 const float* x, const float* y, const float* const* w,
                 const float* const* b) {
  auto* mlp = new Mlp{.layers = layers,
                      .rate = rate,
                      .x = {x, batch, sizes[0]},
                      .y = {y, batch, sizes[layers]},
                      .w = {},
                      .out = {},
                      .d_out = {},
                      .d_w = {},
                      .b = {}};
  for (int l = 0; l < layers; ++l) {
    mlp->w[l] = Eigen::Map<const Matrix>(w[l], sizes[l + 1], sizes[l]);
    if (l + 1 < layers) mlp->b[l] = Eigen::Map<const Row>(b[l], sizes[l + 1]);
  }
  return reinterpret_cast<EigenMlp*>(mlp);
}

void DeleteMlp(EigenMlp* mlp) { delete reinterpret_cast<Mlp*>(mlp); }

float MlpStep(EigenMlp* opaque) {
  Mlp& mlp = *reinterpret_cast<Mlp*>(opaque);
  int last = mlp.layers - 1;
  for (int l = 0; l <= last; ++l) {
    if (l == 0) {
      mlp.out[l].noalias() = mlp.x * mlp.w[l].transpose();
    } else {
      mlp.out[l].noalias() = mlp.out[l - 1] * mlp.w[l].transpose();
    }
    if (l == last) break;
    mlp.out[l].rowwise() += mlp.b[l];
    mlp.out[l] = mlp.out[l].cwiseMax(0.f);
  }
  auto batch = static_cast<float>(mlp.x.rows());
  mlp.d_out[last] = mlp.out[last] - mlp.y;
  float loss = mlp.d_out[last].squaredNorm() / batch;
  mlp.d_out[last] *= 2 / batch;
  for (int l = last; l >= 0; --l) {
    if (l > 0) {
      mlp.d_out[l - 1].noalias() = mlp.d_out[l] * mlp.w[l];
      mlp.d_out[l - 1] =
          (mlp.out[l - 1].array() > 0.f).select(mlp.d_out[l - 1], 0.f);
      mlp.d_w.noalias() = mlp.d_out[l].transpose() * mlp.out[l - 1];
    } else {
      mlp.d_w.noalias() = mlp.d_out[l].transpose() * mlp.x;
    }
    mlp.w[l] -= mlp.rate * mlp.d_w;
    if (l < last) mlp.b[l] -= mlp.rate * mlp.d_out[l].colwise().sum();
  }
  return loss;
}

}  // namespace

extern const EigenKernels OCANNL_EIGEN_KERNELS = {
    .gemm = Gemm,
    .functions = kFunctions,
    .new_mlp = NewMlp,
    .delete_mlp = DeleteMlp,
    .mlp_step = MlpStep,
};

}  // namespace ocannl
