// SPDX-License-Identifier: Apache-2.0
//
// The primitives of ops.def as expressions of C, with the bits of
// core/ops/number.h.
//
//   CApply(CDialect::kC, Op::kAdd, kF32, kF32, {"a", "b"})      "a + b"
//   CApply(CDialect::kCuda, Op::kAdd, kF32, kF32, {"a", "b"})   "__fadd_rn(a,
//   b)"
#ifndef OCANNL_CORE_CODEGEN_C_EXPRESSION_H_
#define OCANNL_CORE_CODEGEN_C_EXPRESSION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

enum class CDialect {
  kC,     // C11 with GCC's statement expressions and -ffp-contract=off
  kCuda,  // CUDA C++ of a device without any header, and --fmad=false
};

// `text`, after the types and functions that expressions in it need.
std::string WithPrelude(CDialect dialect, absl::string_view text);

// Of a cell in memory: "f32_t"; "u16_t" for f16 and bf16, "u8_t" for f8.
std::string CType(DType dtype);

std::string CConstant(const Constant& constant);

// The primitive `op` of operands of type `from` (of a select, the last two);
// each argument is a name. Arithmetic is never of narrow floats.
std::string CApply(CDialect dialect, Op op, DType to, DType from,
                   const std::vector<std::string>& args);

}  // namespace ocannl

#endif  // OCANNL_CORE_CODEGEN_C_EXPRESSION_H_
