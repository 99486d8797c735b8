// SPDX-License-Identifier: Apache-2.0
//
// TreeBackend: a second opinion on the interpreter, slow and simple. It walks
// the program's tree and computes each value with what constants are folded
// with; it shares neither registers, nor strides, nor slots with interp/.
#ifndef OCANNL_FUZZ_TREE_BACKEND_H_
#define OCANNL_FUZZ_TREE_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl::fuzz {

class TreeBackend : public Backend {
 public:
  absl::string_view name() const override { return "tree"; }

  // `program` must be one that Verify accepts. Never an error.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_TREE_BACKEND_H_
