// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_kernels.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/emulation/emulated_device.h"

namespace ocannl::emulation {
namespace {

// A thread of a GPU has at most 512 KiB of local memory (CUDA C++ Programming
// Guide, technical specifications per compute capability).
constexpr size_t kStackBytes = (512 << 10) + (64 << 10);
constexpr size_t kMostThreads = 1024, kMostArguments = 512;
constexpr size_t kSharedBytes = 1 << 18;

// Threads of a block are coroutines that switch at __syncthreads(), as in the
// manual page of makecontext(3).
struct GpuThread {
  ucontext_t context;
  char* stack;
  bool is_done;
};

// What runs a block at a time (a multiprocessor of a GPU).
struct Processor {
  GpuThread threads[kMostThreads];
  GpuThread* running;
  ucontext_t scheduler;
  void (*kernel)();
  long arguments[kMostArguments];
} processor;

// More arguments than it has do not disturb a function of the System V ABI.
template <size_t... k>
[[gnu::always_inline]] inline void CallWith(std::index_sequence<k...>) {
  reinterpret_cast<void (*)(decltype(0L * k)...)>(processor.kernel)(
      processor.arguments[k]...);
}

// Sanitizers would take what these enter for what the scheduler leaves.
#define ON_A_STACK_OF_ITS_OWN \
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]]

ON_A_STACK_OF_ITS_OWN void Barrier() {
  swapcontext(&processor.running->context, &processor.scheduler);
}

ON_A_STACK_OF_ITS_OWN void RunThread() {
  CallWith(std::make_index_sequence<kMostArguments>());
  processor.running->is_done = true;
  Barrier();
}

// Behind a page that nobody may touch, so that a stack too small is seen.
char* MakeStack() {
  constexpr size_t kPage = 4096;
  void* const pages = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(pages != MAP_FAILED);
  CHECK_EQ(mprotect(pages, kPage, PROT_NONE), 0);
  return static_cast<char*>(pages) + kPage;
}

// The order in which blocks and threads have their turns.
enum Order { kAscending, kDescending, kShuffled };
constexpr unsigned kOrders = 3;

// A permutation of the numbers below `count`.
std::vector<unsigned> Permutation(unsigned count, unsigned order) {
  std::vector<unsigned> all(count);
  for (unsigned k = 0; k < count; ++k) {
    all[k] = order == kDescending ? count - 1 - k : k;
  }
  for (unsigned k = count; order == kShuffled && k > 1; --k) {  // Fisher-Yates
    std::swap(all[k - 1], all[static_cast<unsigned>(std::rand()) % k]);
  }
  return all;
}

// From one barrier to the next. Threads leave a kernel together.
void RunBlock(unsigned* thread_index, unsigned count, unsigned order) {
  CHECK_LE(count, kMostThreads);
  GpuThread* const threads = processor.threads;
  for (unsigned k = 0; k < count; ++k) {
    GpuThread& thread = threads[k];
    if (thread.stack == nullptr) thread.stack = MakeStack();
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack;
    thread.context.uc_stack.ss_size = kStackBytes;
    makecontext(&thread.context, RunThread, 0);
    thread.is_done = false;
  }
  do {
    for (unsigned k : Permutation(count, order)) {
      processor.running = &threads[k];
      *thread_index = k;
      swapcontext(&processor.scheduler, &threads[k].context);
    }
    for (unsigned k = 0; k < count; ++k) {
      CHECK_EQ(threads[k].is_done, threads[0].is_done);
    }
  } while (!threads[0].is_done);
}

}  // namespace

void Call::Run() const {
  const SharedLibrary& code = *function.code;
  auto* const block_index = code.Find<unsigned>("blockIdx");
  auto* const shared = code.Find<unsigned char>("shared");
  *code.Find<void (*)()>("barrier") = Barrier;
  processor.kernel = function.kernel;
  CHECK_LE(arguments.size(), kMostArguments);
  for (size_t k = 0; k < arguments.size(); ++k) {
    processor.arguments[k] = reinterpret_cast<long>(HostAddress(arguments[k]));
  }
  const unsigned order = (*function.runs)++ % kOrders;
  for (unsigned block : Permutation(blocks, order)) {
    *block_index = block;
    std::memset(shared, 0xff, kSharedBytes);  // NaNs
    RunBlock(code.Find<unsigned>("threadIdx"), threads, order);
  }
}

void RunGraph(absl::Span<const Call> calls, std::mt19937& random) {
  std::vector<bool> done(calls.size(), false);
  for (size_t rest = calls.size(); rest > 0; --rest) {
    std::vector<size_t> ready;
    for (size_t k = 0; k < calls.size(); ++k) {
      bool waits = done[k];
      for (size_t other : calls[k].after) waits = waits || !done[other];
      if (!waits) ready.push_back(k);
    }
    const size_t next = ready[random() % ready.size()];
    calls[next].Run();
    done[next] = true;
  }
}

absl::StatusOr<Library> CompileKernels(const std::string& text) {
  static auto* compiled = new std::map<std::string, Library>();
  Library& library = (*compiled)[text];
  if (library != nullptr) return library;
  auto code = CompileC(absl::StrCat(kEmulatedDevice, text),
                       {"-O1", "-march=native", "-ffp-contract=off",
                        "-fno-strict-aliasing", "-lm"},
                       "c++");
  if (code.ok()) library = *code;
  return code;
}

}  // namespace ocannl::emulation
