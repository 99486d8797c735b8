// SPDX-License-Identifier: Apache-2.0
//
// Reads how .cd text declares an array:
//
//   w : f32[3, 2] on_device "a parameter";
//   c : f32[2] materialized "a literal" = [1, -0.5];
#ifndef OCANNL_CORE_CD_DECLARATION_H_
#define OCANNL_CORE_CD_DECLARATION_H_

#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/loop/loop_lexer.h"

namespace ocannl {

// The array `name`, from behind the `:` to before the `;`. Errors: other text;
// sizes without cells or of more than 2^62 bytes; more or fewer numbers than
// cells.
absl::StatusOr<Array> TakeDeclaration(LoopLexer& in, const Token& name);

// -0.5, inf, nan, true. Error: what `dtype` cannot hold.
absl::StatusOr<Constant> TakeConstant(LoopLexer& in, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_CD_DECLARATION_H_
