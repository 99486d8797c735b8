// SPDX-License-Identifier: Apache-2.0
//
// What a declaration of a parameter says, before any of it is built.
//
//   w: f64 = normal(); i=[2]; o=[3, n] }
#ifndef OCANNL_CORE_NOTATION_DECLARATION_H_
#define OCANNL_CORE_NOTATION_DECLARATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

struct Declaration {
  Token name;
  std::optional<DType> dtype;
  std::optional<Lexer> init;  // stands where the first value starts
  ShapeSpec spec;
};

// Takes an axis size: 16, or the name of a number.
absl::StatusOr<int64_t> TakeSize(Lexer& lexer, const Names& names);

// Takes axis sizes after their `[`, with its `]`. If `bases` are given, a size
// may have one behind it: [28, 28, 3 rgb].
absl::StatusOr<Dims> TakeSizes(Lexer& lexer, const Names& names,
                               std::vector<std::string>* bases = nullptr);

// Reads a declaration after its `{`, with its `}`. The first value is skipped,
// because the rows, which stand after it, must be known first.
absl::StatusOr<Declaration> ParseDeclaration(Lexer& lexer, const Names& names);

// Whether `again`, of the same name as `parameter`, says nothing else of it.
absl::Status CheckAgrees(const Lexer& lexer, const TensorNode& parameter,
                         const Declaration& again);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_DECLARATION_H_
