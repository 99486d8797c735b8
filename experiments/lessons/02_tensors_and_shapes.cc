// SPDX-License-Identifier: Apache-2.0
//
// Lesson 2: tensors and shapes.
//
//   bazel run //experiments/lessons:02_tensors_and_shapes
//
// A shape has three rows of axes, written batch|input->output. Nobody writes
// the shapes of parameters: they follow from how they are used.
#include <iostream>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

absl::Status Lesson() {
  train::Model model;
  Names names;

  // A list is a row of outputs, a tuple one of inputs: [(1, 2, 3); (4, 5, 6)]
  // takes 3 inputs to 2 outputs. Data from the host says which rows it has;
  // the open one, here the batch, takes what is left.
  ShapeSpec points;
  points[RowKind::kOutput] = Dims{2};
  points[RowKind::kInput] = Dims{};
  names.tensors.emplace(
      "x", Data(model.graph, "x",
                NdArray::Of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}), points));

  // `*` is the product of tensors: the inputs of w1 are the outputs of x. The
  // bias says its outputs, 5, which nothing else does; all that depends on it
  // follows.
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor parsed,
      ParseTensor(model.graph,
                  "{w2 = 1; o=[1]} * relu ({b1 = 0; o=[5]} + {w1 = 0.5} * x)",
                  names));
  Tensor y = Named(parsed.tensor, "y");
  OCANNL_RETURN_IF_ERROR(InferShapes(model.graph, {y.id}, model.shapes));
  std::cout << ExplainShapes(model.graph, model.shapes, "lesson").text << "\n";

  // Sizes that do not fit are told with the operation, both shapes, and where
  // each comes from. The graph stays as it was: only what is built on the wrong
  // node is wrong.
  names.tensors.emplace("y", y);
  for (const char* text :
       {"{v; o=[2]; i=[3]} * x", "x + [1; 2; 3]", "x + {u"}) {
    auto wrong = ParseTensor(model.graph, text, names);
    absl::Status status = wrong.status();
    if (wrong.ok()) {
      status = InferShapes(model.graph, {wrong->tensor.id}, model.shapes);
    }
    std::cout << text << "\n  " << status.message() << "\n";
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("02_tensors_and_shapes", ocannl::Lesson, argc,
                            argv);
}
