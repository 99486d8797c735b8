// SPDX-License-Identifier: Apache-2.0
//
// CallScope: a function that makes several nodes, for which errors name the
// call and not a line of the function:
//
//   Tensor Softmax(absl::string_view spec, Tensor x, SourceLocation where) {
//     CallScope call("Softmax", spec, {x}, where);
//     Tensor e = Exp(x - EinMax1(spec, x));
//     return call.Of(e / Einsum1(spec, e));
//   }
//
// Errors name the call:
//
//   shape error in `exp(...)` in `Softmax("i => 0", x)` (user.cc:7): ...
//     x : 4|3
#ifndef OCANNL_TRAIN_BLOCKS_CALL_H_
#define OCANNL_TRAIN_BLOCKS_CALL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// While it lives, nodes that are added to the graph of `args` are a part of the
// call, or of the outermost call if calls nest. There is at least one of
// `args`.
class CallScope {
 public:
  CallScope(absl::string_view function, absl::string_view spec,
            absl::Span<const Tensor> args, SourceLocation where);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // `x`, an argument, or an error if it is not of floats.
  Tensor OfFloats(Tensor x, SourceLocation where) const;

  // The result of the call, which errors write as the call from now on, unless
  // it has a name or was there before.
  Tensor Of(Tensor result) const;

 private:
  Graph* graph_;
  std::string text_;
  int32_t first_;  // of its nodes
  std::shared_ptr<const CallNote> outer_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_CALL_H_
