// SPDX-License-Identifier: Apache-2.0
//
// BlockEvaluator: an expression on many numbers at once, for tests.
//
//   BlockEvaluator evaluator(pool, Exp(x).id());
//   evaluator.leaf<float>(0)[i] = ...;           // kBlock numbers per leaf
//   const float* y = evaluator.Run<float>();     // kBlock results
//
// Each primitive is a loop over a block, so the cost of choosing it is shared.
#ifndef TESTS_SUPPORT_BLOCK_EVALUATOR_H_
#define TESTS_SUPPORT_BLOCK_EVALUATOR_H_

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

class BlockEvaluator {
 public:
  static constexpr int kBlock = 256;

  // Expands `root`; a leaf's number is its name.
  BlockEvaluator(ExprPool& pool, ExprId root);

  // The values of leaf `id`, to be filled before Run.
  template <class T>
  T* leaf(int id) {
    return reinterpret_cast<T*>(leaves_.at(id));
  }

  // The values of the root, until the next Run.
  template <class T>
  const T* Run() {
    for (const Step& step : steps_) RunStep(step);
    return reinterpret_cast<const T*>(root_);
  }

  // How many primitives each value costs, bit casts included.
  int num_steps() const { return static_cast<int>(steps_.size()); }

 private:
  struct alignas(64) Block {
    std::byte bytes[kBlock * 8];
  };
  using Place = std::byte*;

  struct Step {
    Op op;
    DType operand;  // the type of the last operand
    DType result;
    Place out;
    Place args[3];
  };

  static void RunStep(const Step& step);

  Place NewPlace(bool lasting);
  Place CompileNode(const ExprPool& pool, ExprId id,
                    const absl::flat_hash_map<ExprId, Place>& places);

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Place> free_;
  std::map<int, Place> leaves_;
  std::vector<Step> steps_;
  Place root_ = nullptr;
};

}  // namespace ocannl

#endif  // TESTS_SUPPORT_BLOCK_EVALUATOR_H_
