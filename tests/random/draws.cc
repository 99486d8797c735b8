// SPDX-License-Identifier: Apache-2.0
#include "tests/random/draws.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/compile.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

Cells Read(const Context& context, const std::string& name) {
  absl::StatusOr<NdArray> array = context.Read(name);
  CHECK_OK(array);
  const auto cells = array->values<float>();
  return {cells.begin(), cells.end()};
}

}  // namespace

std::vector<Cells> DrawSteps(const MakeDraw& make, const DrawOptions& options,
                             absl::Span<const int64_t> steps) {
  train::Model model;
  model.graph.set_seed(options.seed);
  for (int k = 0; k < options.skipped; ++k) model.graph.NextRandom();
  train::Training training{.step = model.graph.AddStatic("step", std::nullopt)};
  NdArray ones(DType::kF32, {options.cells});
  for (float& cell : ones.values<float>()) cell = 1;
  ShapeSpec row;
  row[RowKind::kOutput] = Dims{options.cells};
  const Tensor x = Data(model.graph, "x", std::move(ones), row);
  // The product is what gives the draw its size.
  const Tensor drawn =
      Named(PointMul(x, InDType(make(x, training), DType::kF32)), "drawn");
  absl::StatusOr<Assignments> code = train::Forward(model, drawn);
  CHECK_OK(code);
  const TestDevice device(*FindTier("x86"));
  absl::StatusOr<Routine> routine = ToRoutine(device.context, *code, {});
  CHECK_OK(routine);
  std::vector<Cells> all;
  for (const int64_t step : steps) {
    const absl::Status set = routine->Set("step", step);
    CHECK(set.ok() || absl::IsNotFound(set)) << set;
    CHECK_OK(routine->Run());
    all.push_back(Read(routine->context(), "drawn"));
  }
  return all;
}

Cells DrawCells(const MakeDraw& make, const DrawOptions& options) {
  return std::move(DrawSteps(make, options, {0})[0]);
}

Cells FirstValue(const Initializer& init, int64_t rows, int64_t columns) {
  train::Model model;
  const Tensor w = train::MakeParam({.graph = &model.graph, .name = ""}, "w",
                                    Dims{rows}, Dims{columns}, init);
  absl::StatusOr<Assignments> code = train::InitParams(model, w);
  CHECK_OK(code);
  const TestDevice device(*FindTier("x86"));
  absl::StatusOr<Routine> routine = ToRoutine(device.context, *code, {});
  CHECK_OK(routine);
  CHECK_OK(routine->Run());
  return Read(routine->context(), w.node().name);
}

Tensor LightUniform(Tensor step, uint32_t ordinal) {
  const Tensor words =
      ThreefryLight(0x60003329, 0x03c3d927, Convert(step, DType::kU32), ordinal,
                    Offsets(*step.graph, DType::kU32), 0);
  return Mul(Convert(Shr(words, 8), DType::kF32), 0x1p-24);
}

MakeDraw Of(decltype(&Uniform) random, DType dtype) {
  return [=](Tensor ones, train::Training&) {
    return random(*ones.graph, {dtype}, SourceLocation::Current());
  };
}

MakeDraw Dropout(double rate) {
  return [=](Tensor ones, train::Training& training) {
    return train::Dropout(ones, rate, &training);
  };
}

MakeDraw Light() {
  return [](Tensor ones, train::Training& training) {
    return LightUniform(EmbedSymbol(*ones.graph, training.step),
                        ones.graph->NextRandom());
  };
}

Cells Standardised(Cells cells) {
  double sum = 0, squares = 0;
  for (const float cell : cells) {
    sum += cell;
    squares += static_cast<double>(cell) * cell;
  }
  const auto size = static_cast<double>(cells.size());
  const double mean = sum / size;
  const double deviation = std::sqrt(squares / size - mean * mean);
  CHECK_GT(deviation, 0);
  for (float& cell : cells) {
    cell = static_cast<float>((cell - mean) / deviation);
  }
  return cells;
}

double Correlation(const Cells& a, const Cells& b, int64_t lag) {
  const int64_t size = static_cast<int64_t>(a.size()) - lag;
  double sum = 0;
  for (int64_t begin = 0; begin < size; begin += 256) {
    float part = 0;
    for (int64_t k = begin; k < std::min(begin + 256, size); ++k) {
      part += a[k] * b[k + lag];
    }
    sum += part;
  }
  return sum / std::sqrt(static_cast<double>(size));
}

}  // namespace ocannl
