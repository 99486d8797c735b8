// SPDX-License-Identifier: Apache-2.0
//
// Lesson 3: einsum, which says by names which axes go together.
//
//   bazel run //experiments/lessons:03_einsum
//
// Axes of one name are one axis; those that the result leaves out are summed,
// or their greatest taken. ocannl/core/tensor/einsum/einsum.h has the whole
// notation.
#include <iostream>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

absl::Status Lesson() {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier("interp"));
  for (const char* text : {
           // Sums of rows, of everything; the greatest of each column.
           "[[1; 2; 3]; [4; 5; 6]] ++ \"ij => i\"",
           "[[1; 2; 3]; [4; 5; 6]] ++ \"...|... => 0\"",
           "[[1; 5; 3]; [4; 2; 6]] @^^ \"ij => j\"",
           // A transposition, a diagonal, one row.
           "[[1; 2; 3]; [4; 5; 6]] ++ \"ij => ji\"",
           "[[1; 2]; [3; 4]] ++ \"ii => i\"",
           "[[1; 2; 3]; [4; 5; 6]] ++ \"1j => j\"",
           // Products of matrices and of vectors, an outer product.
           "[[1; 2]; [3; 4]] +* \"ij; jk => ik\" [[5; 6]; [7; 8]]",
           "[1; 2; 3] +* \"i; i => 0\" [4; 5; 6]",
           "[1; 2; 3] +* \"i; j => ij\" [10; 20]",
           // Indices can be computed: a convolution, every other element, sums
           // of windows, two vectors side by side.
           "[1; 2; 3; 4; 5] +* \"o<+k; k => o\" [1; 0; -1]",
           "[1; 2; 3; 4; 5; 6] ++ \"2*i => i\"",
           "[1; 2; 3; 4; 5] ++ \"o=+k => o\" [\"k\" = 3]",
           "[1; 2] ++^ \"a; b => a^b\" [3; 4; 5]",
       }) {
    train::Model model;
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed,
                            ParseTensor(model.graph, text, {}));
    Tensor result = Named(parsed.tensor, "result");
    OCANNL_ASSIGN_OR_RETURN(Assignments code, train::Forward(model, result));
    Device device("host", backend);
    Stream stream(&device);
    OCANNL_ASSIGN_OR_RETURN(Routine routine,
                            ToRoutine(Context(&stream), code, {}));
    OCANNL_RETURN_IF_ERROR(routine.Run());
    OCANNL_ASSIGN_OR_RETURN(NdArray value, routine.context().Read("result"));
    std::cout << text << "\n" << PrintValues(value);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("03_einsum", ocannl::Lesson, argc, argv);
}
