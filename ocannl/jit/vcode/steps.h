// SPDX-License-Identifier: Apache-2.0
//
// Steps: an expression as a list of nodes, operands before their users.
//
//   exp(x) + x   ->   x, ...(the primitives of exp)..., +
#ifndef OCANNL_JIT_VCODE_STEPS_H_
#define OCANNL_JIT_VCODE_STEPS_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::jit {

struct Step {
  ExprNode node;
  absl::InlinedVector<int, 3> args = {};  // numbers of earlier steps
};

// Makes each list once. The program must outlive it.
class Steps {
 public:
  explicit Steps(LoopProgram* program) : program_(program) {}

  // The last step is `root`. Derived ops are expanded.
  const std::vector<Step>& Of(ExprId root);

 private:
  LoopProgram* program_;
  absl::node_hash_map<ExprId, std::vector<Step>> steps_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_STEPS_H_
