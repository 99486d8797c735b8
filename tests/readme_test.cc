// SPDX-License-Identifier: Apache-2.0
//
// The model of README.md, as it stands there.
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/train/model.h"
#include "ocannl/train/sgd.h"

namespace ocannl {
namespace {

TEST(ReadmeTest, TheModelLearns) {
  train::Model model;
  ShapeSpec points;
  points[RowKind::kOutput] = Dims{2};
  points[RowKind::kInput] = Dims{};
  ShapeSpec labels = points;
  labels[RowKind::kOutput] = Dims{1};
  Tensor x = Data(model.graph, "x",
                  NdArray::Of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), points);
  Tensor y = Data(model.graph, "y", NdArray::Of<float>({4, 1}, {-1, 1, 1, -1}),
                  labels);
  Names names{.tensors = {{"x", x}, {"y", y}}, .statics = {}, .numbers = {}};
  auto loss = ParseTensor(model.graph, R"(
    relu (1 - (y *. ({w2} * relu ({b; o=[16]} + ({w1} * x)))))
    ++ "...|... => 0")",
                          names)
                  ->tensor;
  Tensor rate = Number(model.graph, 0.05);

  Assignments init = *train::InitParams(model, loss);
  Assignments grad = *train::GradUpdate(model, loss);
  train::UpdateCode sgd = *train::SgdUpdate(model, loss, rate, {});

  interp::InterpBackend backend;
  Device device("host", &backend);
  Stream stream(&device);
  Routine start = *ToRoutine(Context(&stream), init, {});
  CHECK_OK(start.Run());
  Routine step = *ToRoutine(start.context(),
                            train::Sequence("step", {grad, sgd.update}), {});
  CHECK_OK(step.Run());
  double first = step.context().Read(loss.node().name)->AsDouble(0);
  for (int k = 0; k < 200; ++k) CHECK_OK(step.Run());
  double last = step.context().Read(loss.node().name)->AsDouble(0);
  EXPECT_GT(first, 2);
  EXPECT_LT(last, 0.5);
}

}  // namespace
}  // namespace ocannl
