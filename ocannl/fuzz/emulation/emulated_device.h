// SPDX-License-Identifier: Apache-2.0
//
// What CUDA C has of a device, as C++ for the processor: stands in front of the
// text of kernels (cuda/kernel_text.h). Threads of a block are coroutines that
// switch at __syncthreads(), as in the manual page of makecontext(3).
#ifndef OCANNL_FUZZ_EMULATION_EMULATED_DEVICE_H_
#define OCANNL_FUZZ_EMULATION_EMULATED_DEVICE_H_

#include "absl/strings/string_view.h"

namespace ocannl::fuzz {

// After it the text has
//   extern "C" void launch(void (*kernel)(), const long* arguments,
//                          unsigned num_arguments, unsigned blocks,
//                          unsigned threads, unsigned order);
// which runs blocks one after the other, and them and their threads in an
// order: 0 ascending, 1 descending, 2 shuffled. Shared memory holds NaNs at
// first. There is room for 512 arguments at `arguments`.
inline constexpr absl::string_view kEmulatedDevice = R"(
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
// A thread of a GPU has at most 512 KiB of local memory (CUDA C++ Programming
// Guide, technical specifications per compute capability).
constexpr unsigned kMostThreads = 1024, kStack = (512 << 10) + (64 << 10);
struct Thread {
  ucontext_t context;
  char* stack;
  bool done;
} threads[kMostThreads];
ucontext_t scheduler;
Thread* running;
unsigned order_of_turns;
void (*kernel)();
const long* arguments;
unsigned num_arguments;

// As <utility> has it, which takes a quarter of the time to compile.
template <size_t... k> struct Numbers {};
template <size_t n> using Below = Numbers<__integer_pack(n)...>;

// More arguments than it has do not disturb a function of the System V ABI.
template <size_t... k> void Call(Numbers<k...>) {
  ((void (*)(decltype(0L * k)...))kernel)(arguments[k]...);
}

void Body() {
  num_arguments <= 64 ? Call(Below<64>()) : Call(Below<512>());
  running->done = true;
  swapcontext(&running->context, &scheduler);
}

// Behind a page that nobody may touch, so that a stack too small is seen.
char* MakeStack() {
  constexpr unsigned kPage = 4096;
  void* const pages = mmap(0, kPage + kStack, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages, kPage, PROT_NONE)) abort();
  return (char*)pages + kPage;
}

// A permutation of the numbers below `count`: up, down, Fisher-Yates.
void Permute(unsigned count, unsigned* order) {
  for (unsigned k = 0; k < count; ++k) {
    order[k] = order_of_turns == 1 ? count - 1 - k : k;
  }
  for (unsigned k = count; order_of_turns == 2 && k > 1; --k) {
    const unsigned other = rand() % k, last = order[k - 1];
    order[k - 1] = order[other];
    order[other] = last;
  }
}

void RunBlock(unsigned block, unsigned count) {
  blockIdx.x = block;
  memset(shared, 0xff, sizeof shared);
  for (unsigned k = 0; k < count; ++k) {
    Thread& thread = threads[k];
    if (!thread.stack) thread.stack = MakeStack();
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
}  // namespace device

extern "C" void launch(void (*kernel)(), const long* arguments,
                       unsigned num_arguments, unsigned blocks,
                       unsigned threads, unsigned order_of_turns) {
  device::kernel = kernel;
  device::arguments = arguments;
  device::num_arguments = num_arguments;
  device::order_of_turns = order_of_turns;
  unsigned* const order = (unsigned*)malloc(blocks * sizeof(unsigned));
  device::Permute(blocks, order);
  for (unsigned k = 0; k < blocks; ++k) device::RunBlock(order[k], threads);
  free(order);
}

static void __syncthreads() {
  device::Thread* const me = device::running;
  swapcontext(&me->context, &device::scheduler);
}
)";

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_EMULATION_EMULATED_DEVICE_H_
