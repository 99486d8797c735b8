// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/compile.h"

#include <utility>

#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/lower.h"

namespace ocannl {

absl::StatusOr<LoopProgram> CompileProgram(const Assignments& code,
                                           const PassOptions& options) {
  DefaultFloatEnvironment guard;
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Lower(code));
  return Optimize(std::move(program), options);
}

absl::StatusOr<Routine> ToRoutine(const Context& context,
                                  const Assignments& code,
                                  const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(code, options));
  for (const Array& array : code.arrays) {
    if (array.data == nullptr) continue;
    NdArray data = array.data->Reshaped(array.dims);
    OCANNL_RETURN_IF_ERROR(context.Write(array.name, data));
  }
  return context.CompileAndLink(std::move(program));
}

}  // namespace ocannl
