// SPDX-License-Identifier: Apache-2.0
#include "tests/support/run_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/test_device.h"

namespace ocannl {

Arrays FillInputs(const LoopProgram& program) {
  Arrays inputs;
  for (const Buffer& buffer : program.buffers) {
    if (!IsInput(buffer.role)) continue;
    NdArray array(buffer.dtype, buffer.dims);
    VisitDType(buffer.dtype, [&](auto zero) {
      using T = decltype(zero);
      for (int64_t k = 0; k < array.size(); ++k) {
        double value = static_cast<double>((k * 7 + 3) % 11 - 5) * 0.3;
        array.values<T>()[k] = number::Convert<T>(value);
      }
    });
    inputs.emplace(buffer.name, std::move(array));
  }
  return inputs;
}

absl::StatusOr<RunResult> RunProgram(const LoopProgram& program,
                                     const Arrays& inputs) {
  return RunProgram(program, inputs, interp::InterpBackend());
}

absl::StatusOr<RunResult> RunProgram(const LoopProgram& program,
                                     const Arrays& inputs,
                                     const Backend& backend) {
  TestDevice host(&backend);
  for (const Buffer& buffer : program.buffers) {
    auto given = inputs.find(buffer.name);
    if (given == inputs.end()) continue;
    OCANNL_RETURN_IF_ERROR(host.context.WriteInput(buffer, given->second));
  }
  OCANNL_ASSIGN_OR_RETURN(Routine routine,
                          host.context.CompileAndLink(program));
  for (const StaticIndex& index : program.statics) {
    int64_t value = index.range == kUnranged ? 3 : index.range / 2;
    OCANNL_RETURN_IF_ERROR(routine.Set(index.name, value));
  }
  OCANNL_RETURN_IF_ERROR(routine.Run());
  RunResult result;
  for (const Buffer& buffer : program.buffers) {
    if (!IsResult(buffer.role)) continue;
    OCANNL_ASSIGN_OR_RETURN(NdArray array, host.context.Read(buffer.name));
    result.emplace(buffer.name, std::move(array));
  }
  return result;
}

std::string Difference(const RunResult& a, const RunResult& b) {
  for (const auto& [name, array] : a) {
    auto other = b.find(name);
    if (other == b.end()) return absl::StrCat(name, " is missing");
    if (array.size() != other->second.size()) {
      return absl::StrCat(name, " has another number of cells");
    }
    if (SameBits(array, other->second.Reshaped(array.dims()))) continue;
    for (int64_t k = 0; k < array.size(); ++k) {
      double x = array.AsDouble(k);
      double y = other->second.AsDouble(k);
      if (x != y) return absl::StrCat(name, ", cell ", k, ": ", x, " and ", y);
    }
    return absl::StrCat(name, " differs in the sign of a zero or a NaN");
  }
  return "";
}

}  // namespace ocannl
