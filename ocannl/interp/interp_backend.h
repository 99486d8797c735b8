// SPDX-License-Identifier: Apache-2.0
//
// The interpreter: LoopProgram -> Executable, in microseconds. It defines what
// a LoopProgram computes; every other back end must give the same bits.
//
//   auto executable = interp::InterpBackend().Compile(program);
//   (*executable)->Run({x.data(), z.data()}, {/*i1=*/7});
#ifndef OCANNL_INTERP_INTERP_BACKEND_H_
#define OCANNL_INTERP_INTERP_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl::interp {

class InterpBackend : public Backend {
 public:
  absl::string_view name() const override { return "interp"; }

  // `program` must be one that Verify accepts. Never an error.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_INTERP_BACKEND_H_
