// SPDX-License-Identifier: Apache-2.0
//
// Declarations of parameters: what one says, and the parameters of a text.
//
//   w: f64 = normal(); i=[2]; o=[3, n] }
//   key: uint4x32; o=[2] }                  u32; o=[2, 4]
#ifndef OCANNL_CORE_NOTATION_DECLARATION_H_
#define OCANNL_CORE_NOTATION_DECLARATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

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

// Takes a row, o=[3, 4] or output_dims=[3, 4], and adds it to `spec`. Error:
// `spec` has that row.
absl::Status TakeRow(Lexer& lexer, const Names& names, ShapeSpec& spec);

// Reads a declaration with its braces. The first value is skipped, because the
// rows, which stand after it, must be known first.
absl::StatusOr<Declaration> ParseDeclaration(Lexer& lexer, const Names& names,
                                             BracketTable& brackets);

// The parameters that a text declares.
class ParameterTable {
 public:
  // The graph must outlive it.
  ParameterTable(Graph& graph, SourceLocation where)
      : graph_(graph), where_(where) {}

  // The parameter of `declaration`, which `scope` has from here on. If it says
  // a first value, `first_value` reads that, once the parameter is there.
  // Errors: those of the graph and of `first_value`; the names have a tensor of
  // that name; the parameter is there, and this says something else of it.
  absl::StatusOr<Tensor> Declare(
      const Lexer& lexer, Scope& scope, const Declaration& declaration,
      absl::FunctionRef<absl::StatusOr<Tensor>(Tensor parameter)> first_value);

  // In the order of the text.
  const std::vector<Tensor>& list() const { return list_; }

 private:
  Graph& graph_;
  SourceLocation where_;
  std::vector<Tensor> list_;
  absl::flat_hash_set<size_t> offsets_;  // of their declarations
};

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_DECLARATION_H_
