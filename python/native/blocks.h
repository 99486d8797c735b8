// SPDX-License-Identifier: Apache-2.0
//
// Block: what an expression applies to its operands.
#ifndef PYTHON_NATIVE_BLOCKS_H_
#define PYTHON_NATIVE_BLOCKS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ocannl/ocannl.h"
#include "python/native/session.h"

namespace ocannl::python {

struct Block {
  using Apply = std::function<Tensor(const std::vector<Tensor>&,
                                     train::Training*, SourceLocation)>;

  SessionPtr session;
  Apply apply;
  // Of a language model of sequences of `length`: the logits after one token.
  std::function<Tensor(Tensor token, train::Decoding&)> next = nullptr;
  int64_t length = 0;

  // In training or in predictions.
  Node operator()(const std::vector<Node>& operands, bool training,
                  const UserLine& where) const {
    train::Training* const in =
        training ? &session->training : train::kInference;
    const Node result = Checked(session, apply(TensorsOf(operands), in, where));
    session->updated_with.resize(session->training.updates.size(),
                                 result.tensor.id);
    return result;
  }
};

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_BLOCKS_H_
