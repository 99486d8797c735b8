// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gcc_backend.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/codegen/c_text.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;

class GccExecutable : public Executable {
 public:
  explicit GccExecutable(Library code)
      : code_(std::move(code)),
        run_(code_->Find<void(std::byte* const*, const int64_t*)>("run")) {}

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    run_(buffers.data(), statics.data());
  }

 private:
  Library code_;
  void (*run_)(std::byte* const*, const int64_t*);
};

// What a device has of its own, in front of the text. Coroutines as in the
// manual page of makecontext(3).
constexpr absl::string_view kDevice = R"(
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#define __fadd_rn(a, b) ((float)(a) + (float)(b))
#define __fsub_rn(a, b) ((float)(a) - (float)(b))
#define __fmul_rn(a, b) ((float)(a) * (float)(b))
#define __fdiv_rn(a, b) ((float)(a) / (float)(b))
#define __dadd_rn(a, b) ((double)(a) + (double)(b))
#define __dsub_rn(a, b) ((double)(a) - (double)(b))
#define __dmul_rn(a, b) ((double)(a) * (double)(b))
#define __ddiv_rn(a, b) ((double)(a) / (double)(b))
#define __fmaf_rn(a, b, c) __builtin_fmaf(a, b, c)
#define __fma_rn(a, b, c) __builtin_fma(a, b, c)
#define __fsqrt_rn(a) __builtin_sqrtf(a)
#define __dsqrt_rn(a) __builtin_sqrt(a)
struct Index { unsigned x; };
static Index threadIdx, blockIdx;
extern "C" { __attribute__((aligned(64))) unsigned char shared[1 << 18]; }

namespace device {
constexpr unsigned kMostThreads = 1024, kStack = 1 << 16;
struct Thread {
  ucontext_t context;
  char* stack;
  bool done;
} threads[kMostThreads];
ucontext_t scheduler;
Thread* running;
unsigned run;
void (*kernel)(char* const*, const long*);
char* const* buffers;
const long* statics;

void Body() {
  kernel(buffers, statics);
  running->done = true;
  swapcontext(&running->context, &scheduler);
}

// A permutation of the numbers below `count`: up, down, Fisher-Yates.
void Permute(unsigned count, unsigned* order) {
  for (unsigned k = 0; k < count; ++k) {
    order[k] = run % 3 == 1 ? count - 1 - k : k;
  }
  for (unsigned k = count; run % 3 == 2 && k > 1; --k) {
    const unsigned other = rand() % k, last = order[k - 1];
    order[k - 1] = order[other];
    order[other] = last;
  }
}

void Launch(void (*what)(char* const*, const long*), unsigned blocks,
            unsigned count) {
  kernel = what;
  unsigned* const order = (unsigned*)malloc(blocks * sizeof(unsigned));
  Permute(blocks, order);
  for (unsigned b = 0; b < blocks; ++b) {
    blockIdx.x = order[b];
    memset(shared, 0xff, sizeof shared);
    for (unsigned k = 0; k < count; ++k) {
      Thread& thread = threads[k];
      if (!thread.stack) thread.stack = (char*)malloc(kStack);
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack;
      thread.context.uc_stack.ss_size = kStack;
      makecontext(&thread.context, Body, 0);
      thread.done = false;
    }
    // From one barrier to the next. Threads leave a kernel together.
    do {
      unsigned turns[kMostThreads];
      Permute(count, turns);
      for (unsigned k = 0; k < count; ++k) {
        running = &threads[turns[k]];
        threadIdx.x = turns[k];
        swapcontext(&scheduler, &running->context);
      }
      for (unsigned k = 0; k < count; ++k) {
        if (threads[k].done != threads[0].done) __builtin_trap();
      }
    } while (!threads[0].done);
  }
  free(order);
}
}  // namespace device

static void __syncthreads() {
  device::Thread* const me = device::running;
  swapcontext(&me->context, &device::scheduler);
}
)";

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> GccBackend::Compile(
    const LoopProgram& program) const {
  OCANNL_ASSIGN_OR_RETURN(Library code,
                          CompileC(text_(program),
                                   {"-O1", "-march=native", "-ffp-contract=off",
                                    "-fno-strict-aliasing", "-lstdc++", "-lm"},
                                   language_));
  return std::make_unique<GccExecutable>(std::move(code));
}

std::string EmulatedText(const LoopProgram& program) {
  const cuda::KernelText kernels = cuda::WriteKernels(program);
  std::string text = absl::StrCat(kDevice, kernels.text);
  std::string run;
  for (const cuda::Kernel& kernel : kernels.kernels) {
    absl::StrAppend(&text, "static void call_", kernel.name,
                    "(char* const* buffers, const long* statics) {\n  ",
                    kernel.name, "(");
    const char* comma = "";
    for (BufferId id : kernel.buffers) {
      absl::StrAppend(&text, std::exchange(comma, ", "), "(",
                      CType(program.buffers[id].dtype), "*)buffers[", id.index,
                      "]");
    }
    for (size_t k = 0; k < program.statics.size(); ++k) {
      absl::StrAppend(&text, std::exchange(comma, ", "), "statics[", k, "]");
    }
    absl::StrAppend(&text, ");\n}\n");
    absl::StrAppend(&run, "  device::Launch(call_", kernel.name, ", ",
                    kernel.blocks, ", ", kernel.threads, ");\n");
  }
  return absl::StrCat(text,
                      "extern \"C\" void run(char* const* buffers, const long* "
                      "statics) {\n  device::buffers = buffers;\n"
                      "  device::statics = statics;\n",
                      run, "  ++device::run;\n}\n");
}

const Backend& PlainC() {
  static const auto* backend = new GccBackend(
      "c", "c", [](const LoopProgram& program) { return CText(program); });
  return *backend;
}

const Backend& EmulatedScheduledCuda() {
  static const auto* backend = new GccBackend(
      "cuda-emulated-scheduled", "c++", [](const LoopProgram& program) {
        return EmulatedText(gpu::ScheduleGpu(program, gpu::kTinyGpu));
      });
  return *backend;
}

const Backend& EmulatedCuda() {
  static const auto* backend =
      new GccBackend("cuda-emulated", "c++", EmulatedText);
  return *backend;
}

}  // namespace ocannl
