// SPDX-License-Identifier: Apache-2.0
//
// Lesson 4: look inside. Every stage is text that can be read, edited and run.
//
//   bazel run //experiments/lessons:04_look_inside
//
// `bazel run //ocannl -- explain EXPR` shows the same and machine code too.
#include <iostream>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

absl::Status Lesson() {
  train::Model model;
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor parsed,
      ParseTensor(model.graph,
                  "relu ([(1, -2); (3, 4)] * [5; 6] + [10; -10]) ++ \"i => 0\"",
                  {}));
  Tensor y = Named(parsed.tensor, "y");

  // 1. Shapes.
  OCANNL_ASSIGN_OR_RETURN(Assignments code, train::Forward(model, y));
  std::cout << ExplainShapes(model.graph, model.shapes, "lesson").text << "\n";

  // 2. Assignments; 3. loops, as lowering writes them and after each pass that
  // changed them.
  OCANNL_ASSIGN_OR_RETURN(Explanation explanation, ExplainCode(code, {}));
  for (const StageText& stage : explanation.stages) {
    std::cout << "--- " << stage.stage << "\n" << stage.text << "\n";
  }

  // 4. The last text, read back and run: y is what it was.
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                          Parse(Print(explanation.program)));
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier("interp"));
  Device device("host", backend);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(Routine routine,
                          ToRoutine(Context(&stream), code, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  OCANNL_ASSIGN_OR_RETURN(Routine again,
                          routine.context().CompileAndLink(program));
  OCANNL_RETURN_IF_ERROR(again.Run());
  OCANNL_ASSIGN_OR_RETURN(NdArray value, again.context().Read("y"));
  std::cout << "y =" << PrintValues(value);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("04_look_inside", ocannl::Lesson, argc, argv);
}
