// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/declaration.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/notation/array.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/number.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/open_dtype.h"

namespace ocannl {
namespace {

constexpr double kMaxSize = 0x1p40;

// Indexed by RowKind.
constexpr std::array<absl::string_view, 3> kRowLetters = {"b", "o", "i"};
constexpr std::array<absl::string_view, 3> kRowWords = {
    "batch_dims", "output_dims", "input_dims"};

std::string RowText(RowKind kind, const std::optional<Dims>& dims) {
  absl::string_view letter = kRowLetters[static_cast<int>(kind)];
  if (!dims) return absl::StrCat("no ", letter);
  return absl::StrCat(letter, "=[", absl::StrJoin(*dims, ", "), "]");
}

}  // namespace

absl::Status TakeRow(Lexer& lexer, const Names& names, ShapeSpec& spec) {
  const Token letter = lexer.peek();
  std::optional<RowKind> kind;
  for (RowKind k : kRowKinds) {
    if (lexer.Accept(kRowLetters[static_cast<int>(k)]) ||
        lexer.Accept(kRowWords[static_cast<int>(k)])) {
      kind = k;
    }
  }
  if (!kind) return lexer.ExpectedError("a row, i=[...] or o=[...]");
  if (spec[*kind]) {
    return lexer.ErrorAt(letter, "the row `", letter.text,
                         "` is given twice; write it once");
  }
  OCANNL_RETURN_IF_ERROR(lexer.Expect("="));
  OCANNL_RETURN_IF_ERROR(lexer.Expect("["));
  std::vector<std::string> bases;
  OCANNL_ASSIGN_OR_RETURN(spec[*kind], TakeSizes(lexer, names, &bases));
  const bool any =
      absl::c_any_of(bases, [](const auto& basis) { return !basis.empty(); });
  if (any) spec.bases.Mutable()[static_cast<int>(*kind)] = std::move(bases);
  return absl::OkStatus();
}

namespace {

absl::Status CheckAgrees(const Lexer& lexer, const TensorNode& parameter,
                         const Declaration& again) {
  std::string error;
  for (RowKind kind : kRowKinds) {
    const auto k = static_cast<int>(kind);
    if (again.spec[kind] && again.spec.bases[k] != parameter.spec->bases[k]) {
      error = absl::StrCat("other bases in ", kRowLetters[k]);
    }
  }
  for (RowKind kind : kRowKinds) {
    const std::optional<Dims>& dims = again.spec[kind];
    if (!dims || dims == parameter.spec[kind]) continue;
    error = absl::StrCat(RowText(kind, dims), " where it had ",
                         RowText(kind, parameter.spec[kind]));
  }
  if (again.init) error = "a first value";
  if (again.dtype.value_or(parameter.dtype) != parameter.dtype) {
    error = absl::StrCat(Name(*again.dtype), " where it was ",
                         Name(parameter.dtype));
  }
  if (error.empty()) return absl::OkStatus();
  absl::string_view name = again.name.text;
  return lexer.ErrorAt(again.name.offset, "parameter `", name,
                       "` is declared again, with ", error,
                       "; say it the first time and write {", name, "} here");
}

}  // namespace

absl::StatusOr<int64_t> TakeSize(Lexer& lexer, const Names& names) {
  const size_t offset = lexer.peek().offset;
  double size = 0;
  if (lexer.Accept("!..") || lexer.peek().kind == Token::kName) {
    OCANNL_ASSIGN_OR_RETURN(size, TakeNamedNumber(lexer, names, true));
  } else {
    OCANNL_ASSIGN_OR_RETURN(std::string digits,
                            TakeDigits(lexer, "an axis size"));
    if (!absl::SimpleAtod(digits, &size)) size = 0;
  }
  if (size >= 1 && size <= kMaxSize && size == static_cast<int64_t>(size)) {
    return static_cast<int64_t>(size);
  }
  return lexer.ErrorAt(offset, "an axis size is a whole number from 1 to 2^40");
}

absl::StatusOr<Dims> TakeSizes(Lexer& lexer, const Names& names,
                               std::vector<std::string>* bases) {
  Dims dims;
  while (!IsNext(lexer, "]")) {
    OCANNL_ASSIGN_OR_RETURN(int64_t size, TakeSize(lexer, names));
    dims.push_back(size);
    if (bases != nullptr) {
      const bool has_basis = lexer.peek().kind == Token::kName;
      bases->emplace_back(has_basis ? lexer.Next().text : "");
    }
    if (!lexer.Accept(",") && !lexer.Accept(";")) break;
  }
  OCANNL_RETURN_IF_ERROR(TakeClosing(lexer, "`,`", "]"));
  return dims;
}

absl::StatusOr<Declaration> ParseDeclaration(Lexer& lexer, const Names& names,
                                             BracketTable& brackets) {
  const Lexer start = lexer;
  OCANNL_RETURN_IF_ERROR(lexer.Expect("{"));
  OCANNL_ASSIGN_OR_RETURN(Token name, TakeName(lexer, "a parameter's name"));
  Declaration declaration = {.name = name, .dtype = {}, .init = {}, .spec = {}};
  if (FindFunction(name.text) != nullptr) {
    return lexer.ErrorAt(name, "`", name.text,
                         "` is a function; give the parameter "
                         "another name");
  }
  bool of_blocks = false;
  if (lexer.Accept(":") && !(of_blocks = lexer.Accept("uint4x32"))) {
    OCANNL_ASSIGN_OR_RETURN(declaration.dtype, TakeDType(lexer));
  }
  if (lexer.Accept("=")) {
    declaration.init = lexer;
    lexer = brackets.FirstElementEnd(start);
  }
  while (lexer.Accept(";")) {
    OCANNL_RETURN_IF_ERROR(TakeRow(lexer, names, declaration.spec));
  }
  OCANNL_RETURN_IF_ERROR(TakeClosing(lexer, "`;`", "}"));
  if (of_blocks) {
    declaration.dtype = DType::kU32;
    std::optional<Dims>& row = declaration.spec[RowKind::kOutput];
    if (!row) row.emplace();
    row->push_back(4);
    auto& bases =
        declaration.spec.bases.Mutable()[static_cast<int>(RowKind::kOutput)];
    if (!bases.empty()) bases.emplace_back();
  }
  return declaration;
}

absl::StatusOr<Tensor> ParameterTable::Declare(
    const Lexer& lexer, Scope& scope, const Declaration& declaration,
    absl::FunctionRef<absl::StatusOr<Tensor>(Tensor parameter)> first_value) {
  const absl::string_view name = declaration.name.text;
  const size_t offset = declaration.name.offset;
  if (scope.IsBound(name)) {
    return lexer.ErrorAt(offset, "`", name,
                         "` is what a `let` names; give the parameter another "
                         "name");
  }
  if (const std::optional<Tensor> known = scope.FindDeclared(name)) {
    // The body of a function declares it each time.
    if (offsets_.contains(offset) || scope.is_trial()) return *known;
    if (declaration.dtype) {
      DecideDType(graph_, known->id, *declaration.dtype);
    }
    OCANNL_RETURN_IF_ERROR(CheckAgrees(lexer, known->node(), declaration));
    return *known;
  }
  if (scope.names().tensors.contains(name)) {
    return lexer.ErrorAt(offset, "the names have a tensor `", name,
                         "` already; write ", name,
                         " for it, or give the parameter another name");
  }
  absl::Status error;
  Initializer init = DefaultInit;
  if (declaration.init) {
    init = [&](Tensor parameter) {
      absl::StatusOr<Tensor> value = first_value(parameter);
      error = value.status();
      return value.ok() ? *value : ErrorTensor(graph_, error, where_);
    };
  }
  const Tensor parameter = Param(graph_, std::string(name), declaration.spec,
                                 declaration.dtype, init, where_);
  OCANNL_RETURN_IF_ERROR(error);
  if (!scope.is_trial()) {
    OCANNL_RETURN_IF_ERROR(CheckNoError(lexer, offset, parameter));
    const auto& source = std::get<ParamSource>(parameter.node().source);
    if (source.init) {
      OCANNL_RETURN_IF_ERROR(
          CheckNoError(lexer, offset, Tensor{&graph_, *source.init}));
    }
  }
  scope.Declare(std::string(name), parameter);
  list_.push_back(parameter);
  offsets_.insert(offset);
  return parameter;
}

}  // namespace ocannl
