// SPDX-License-Identifier: Apache-2.0
//
// Lesson 1: a scalar and its gradient.
//
//   bazel run //experiments/lessons:01_scalar_and_gradient
//
// l = (a * b + c) * f, the gradient of l with respect to each of its
// parameters, and a step that makes l greater.
#include <iostream>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

absl::Status Lesson() {
  // A model has a graph of tensors. {a = 2} is a parameter with its first
  // value; `*.` multiplies element by element.
  train::Model model;
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor parsed,
      ParseTensor(model.graph, "({a = 2} *. {b = -3} + {c = 10}) *. {f = -2}",
                  {}));
  Tensor l = Named(parsed.tensor, "l");

  // The code that computes l and its gradients. An array that is to be read
  // after the run must be kept: others may live in registers only.
  OCANNL_ASSIGN_OR_RETURN(Assignments step, train::GradUpdate(model, l));
  for (const char* name : {"a.grad", "b.grad", "c.grad", "f.grad"}) {
    CHECK(Keep(step, name).ok());
  }
  // p =+ 0.1 * p.grad for every parameter, as text.
  for (Tensor p : train::Parameters(model, l)) {
    OCANNL_ASSIGN_OR_RETURN(
        train::UpdateCode update,
        train::ParseCode(model, "p =+ 0.1 *. p.grad", {{{"p", p}}, {}, {}}));
    Append(step, update.update);
  }
  std::cout << PrintCd(step) << "\n";

  // A routine is code for a device's arrays, which a context has.
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier("interp"));
  Device device("host", backend);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(const Context started,
                          train::RunInit(model, l, {}, Context(&stream)));
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(started, step, {}));
  for (int k = 0; k < 2; ++k) {
    OCANNL_RETURN_IF_ERROR(routine.Run());
    for (const char* name :
         {"l", "a.grad", "b.grad", "c.grad", "f.grad", "a", "b", "c", "f"}) {
      OCANNL_ASSIGN_OR_RETURN(NdArray value, routine.context().Read(name));
      std::cout << name << " =" << PrintValues(value);
    }
    std::cout << "\n";
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("01_scalar_and_gradient", ocannl::Lesson, argc,
                            argv);
}
