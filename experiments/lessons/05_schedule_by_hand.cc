// SPDX-License-Identifier: Apache-2.0
//
// Lesson 5: a schedule by hand, one legal rewrite at a time.
//
//   bazel run //experiments/lessons:05_schedule_by_hand
//
// `bazel run //ocannl -- run FILE.ll --rewrite=FILE` does the same to any
// program; core/schedule/rewrite/rewrites.def says what each rewrite needs.
#include <iostream>
#include <string>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

constexpr char kProduct[] = R"(
product ():
  in a : f32[6, 100];
  in b : f32[100, 20];
  inout y : f32[6, 20];
  for i1 = 0 to 5 {
    for i2 = 0 to 19 {
      for i3 = 0 to 99 {
        y[i1, i2] := fma(a[i1, i3], b[i3, i2], y[i1, i2]);
      }
    }
  }
)";

// Tiles of 3 rows and 16 columns: the accumulators are registers, and the
// columns of b stand as they are read.
constexpr char kSchedule[] = R"(
reorder i2 i1 i3
column, rest = split i2 16
row = split i1 3
reorder i2 i1 i3 row column
vectorize column
unroll_jam row 3
privatize y i3
pack b i1
)";

absl::StatusOr<NdArray> Run(const LoopProgram& program,
                            const std::string& tier) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier(tier));
  Device device("host", backend);
  Stream stream(&device);
  Context context(&stream);
  for (const Buffer& buffer : program.buffers) {
    if (!IsInput(buffer.role)) continue;
    NdArray values(buffer.dtype, buffer.dims);
    for (int64_t k = 0; k < values.size(); ++k) {
      values.values<float>()[k] = 1.0F / static_cast<float>(k + 3);
    }
    OCANNL_RETURN_IF_ERROR(context.WriteInput(buffer, values));
  }
  OCANNL_ASSIGN_OR_RETURN(Routine routine, context.CompileAndLink(program));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return routine.context().Read("y");
}

absl::Status Lesson() {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program, Parse(kProduct));
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram tiled,
                          rewrite::RunScript(program, kSchedule));
  std::cout << Print(tiled) << "\n";

  // 1. What the schedule means is what it was, to the bit.
  OCANNL_ASSIGN_OR_RETURN(NdArray meant, Run(program, "interp"));
  for (const char* tier : {"interp", "auto"}) {
    OCANNL_ASSIGN_OR_RETURN(NdArray value, Run(tiled, tier));
    std::cout << "on " << tier << ": "
              << (SameBits(value, meant) ? "the same bits" : "other bits")
              << "\n";
  }

  // 2. What would change a sum's order is refused.
  std::cout << rewrite::RunScript(program, "parallel i3").status().message()
            << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("05_schedule_by_hand", ocannl::Lesson, argc, argv);
}
