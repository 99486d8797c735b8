// SPDX-License-Identifier: Apache-2.0
//
// How much memory StartTraining takes at once, and how often it allocates some:
// of each parameter of one cell, where tables, names and indices are all. The
// test takes 0.5 s.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "absl/base/config.h"
#include "experiments/bench/programs.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/test_device.h"

// The bytes of C++ objects, with what malloc adds, and how many were made.
static size_t live_bytes = 0;
static size_t most_bytes = 0;
static size_t allocations = 0;

void* operator new(size_t size) {
  void* memory = std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory) + sizeof(size_t);
  most_bytes = std::max(most_bytes, live_bytes);
  ++allocations;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  live_bytes -= malloc_usable_size(memory) + sizeof(size_t);
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace ocannl {
namespace {

// Starts the training of `params` parameters of one cell each. Returns how many
// allocations StartTraining makes.
size_t Start(int params) {
  train::Model model;
  const Tensor loss = ManyParameters(model.graph, params);
  TestDevice host(*FindTier("x86-avx2"));
  const Tensor rate = Number(model.graph, 0.01);
  const size_t before = allocations;
  CHECK_OK(train::StartTraining(model, loss, rate, train::Sgd(), host.context));
  return allocations - before;
}

TEST(StartMemory, ParametersOfOneCell) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "malloc is that of the sanitizer";
#endif
  Start(1);  // tables that are made once
  constexpr int kParams = 2000;
  const size_t before = live_bytes;
  most_bytes = live_bytes;
  allocations = 0;
  const size_t of_training = Start(kParams);
  // 7,947 bytes, 247 allocations, 201 of StartTraining, when this was written.
  EXPECT_LT((most_bytes - before) / kParams, 8'050u);
  EXPECT_LT(allocations / kParams, 256u);
  EXPECT_LT(of_training / kParams, 208u);
}

}  // namespace
}  // namespace ocannl
