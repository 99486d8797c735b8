// SPDX-License-Identifier: Apache-2.0
//
// Lesson 6: a program on a GPU: its schedule, its text, its bits.
//
//   bazel run //experiments/lessons:06_on_a_gpu
//
// `bazel run //ocannl -- explain FILE.ll --target=sm_90` shows the same of any
// program, and `run FILE.ll --tier=cuda` runs it. Where there is no GPU, this
// lesson says so, on stderr.
#include <iostream>
#include <string>

#include "experiments/lessons/lesson_main.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

constexpr char kProgram[] = R"(
sums ():
  in x : f32[40, 64];
  out y : f32[40];
  for i1 = 0 to 39 { y[i1] := 0; }
  for i2 = 0 to 39 {
    for i3 = 0 to 63 { y[i2] := fma(x[i2, i3], x[i2, i3], y[i2]); }
  }
)";

absl::StatusOr<NdArray> Run(const LoopProgram& program,
                            const std::string& tier) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, FindTier(tier));
  Device device(tier, backend);
  Stream stream(&device);
  Context context(&stream);
  NdArray x(DType::kF32, {40, 64});
  for (int64_t k = 0; k < x.size(); ++k) {
    x.values<float>()[k] = 1.0F / static_cast<float>(k + 3);
  }
  OCANNL_RETURN_IF_ERROR(context.Write("x", x));
  OCANNL_ASSIGN_OR_RETURN(Routine routine, context.CompileAndLink(program));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return routine.context().Read("y");
}

absl::Status Lesson() {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program, Parse(kProgram));

  // 1. A schedule for a GPU is a program too: `grid` loops are blocks, `thread`
  // loops the threads of one. It is made of rewrites, each of them legal.
  const gpu::GpuSchedule schedule = gpu::PlanGpu(program, gpu::kSm90);
  std::cout << rewrite::Print(schedule.script, program) << "\n"
            << Print(schedule.program) << "\n";

  // 2. So the interpreter runs it, and finds the bits of the program.
  OCANNL_ASSIGN_OR_RETURN(NdArray meant, Run(program, "interp"));
  OCANNL_ASSIGN_OR_RETURN(NdArray scheduled, Run(schedule.program, "interp"));
  std::cout << "the schedule on interp: "
            << (SameBits(scheduled, meant) ? "the same bits" : "other bits")
            << "\n\n";

  // 3. Each `grid` nest is a kernel of CUDA C, in which all rounding is
  // spelled.
  const cuda::KernelText kernels = cuda::WriteKernels(schedule.program);
  for (const cuda::KernelFunction& function : kernels.functions) {
    std::cout << function.text << "\n";
  }
  std::cout << cuda::PrintCalls(schedule.program, kernels) << "\n";

  // 4. And a GPU gives the bits of the interpreter.
  absl::StatusOr<NdArray> on_gpu = Run(program, "cuda");
  std::cerr << "on cuda: "
            << (!on_gpu.ok()               ? on_gpu.status().message()
                : SameBits(*on_gpu, meant) ? "the same bits"
                                           : "other bits")
            << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::LessonMain("06_on_a_gpu", ocannl::Lesson, argc, argv);
}
