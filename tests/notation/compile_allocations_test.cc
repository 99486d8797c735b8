// SPDX-License-Identifier: Apache-2.0
//
// How many allocations StartTraining makes for a parameter of one cell: a
// quarter of the time of compilation is in them, and no other load of the
// machine changes their number. The test takes 0.5 s.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/test_device.h"

static std::atomic<int64_t> num_allocations{0};

void* operator new(std::size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ocannl {
namespace {

// A tree of sums of products of parameters of one cell, and their updates.
int64_t AllocationsOfTraining(int params) {
  const jit::X86Backend backend(jit::Isa::kAvx2, {});
  TestDevice device(&backend);
  train::Model model;
  std::vector<Tensor> terms;
  for (int k = 0; k < params; ++k) {
    const train::Linear linear({&model.graph, absl::StrCat("p", k)},
                               {.outputs = Dims{1}, .bias = false});
    terms.push_back(linear(Data(model.graph, absl::StrCat("x", k),
                                NdArray::Of<float>({1}, {1}),
                                {.rows = {Dims{}, Dims{1}, Dims{}}})));
  }
  for (size_t k = 0; k + 1 < terms.size(); k += 2) {
    terms.push_back(terms[k] + terms[k + 1]);
  }
  const int64_t before = num_allocations;
  CHECK_OK(train::StartTraining(model, terms.back(), Number(model.graph, 0.1),
                                train::Sgd(), device.context));
  return num_allocations - before;
}

TEST(CompileAllocations, OfParametersOfOneCell) {
  if (!jit::IsSupported(jit::Isa::kAvx2)) GTEST_SKIP() << "no AVX2";
  const int64_t few = AllocationsOfTraining(100);
  const int64_t many = AllocationsOfTraining(600);
  EXPECT_LT((many - few) / 500, 375);
}

}  // namespace
}  // namespace ocannl
