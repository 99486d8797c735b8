// SPDX-License-Identifier: Apache-2.0
//
// What the names in a text mean, and how a text that uses them wrongly is told.
#ifndef OCANNL_CORE_NOTATION_SCOPE_H_
#define OCANNL_CORE_NOTATION_SCOPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// `text` with blanks for all but its line ends.
std::string Blanks(absl::string_view text);

// `text` with blanks for its comments (* *), which nest. Error: an open one.
absl::StatusOr<std::string> WithoutComments(absl::string_view text);

// Whether the next token is that symbol.
bool IsNext(const Lexer& lexer, absl::string_view symbol);

// Whether next is what a spec's name stands for, "i" = 3, maybe without the
// quotes.
bool AtNameRule(Lexer lexer);

// Whether the token is a name in quotes.
bool IsQuotedName(const Token& token);

// Takes `bracket`, or fails: it expected `before` or `bracket`.
absl::Status TakeClosing(Lexer& lexer, absl::string_view before,
                         absl::string_view bracket);

absl::StatusOr<Token> TakeName(Lexer& lexer, absl::string_view what);
absl::StatusOr<DType> TakeDType(Lexer& lexer);

// Takes the name of a number and gives its value, which is a whole number if
// it must be `whole`.
absl::StatusOr<double> TakeNamedNumber(Lexer& lexer, const Names& names,
                                       bool whole);

// Error: `tensor`, maybe of the operator `symbol`, at `offset`, is one that the
// graph made of an error (ErrorSource).
absl::Status CheckNoError(const Lexer& lexer, size_t offset, Tensor tensor,
                          absl::string_view symbol = "");

// What the arguments of a function stand for.
using Arguments = std::vector<std::pair<std::string, Tensor>>;

// Names and their tensors; the name of a function has none.
using Bindings = std::vector<std::pair<std::string, std::optional<Tensor>>>;

class Scope {
 public:
  // Both must outlive the scope.
  Scope(Graph& graph, const Names& names) : graph_(graph), names_(names) {}

  const Names& names() const { return names_; }

  // From here on `name`, of a parameter or a size, is `tensor`.
  void Declare(std::string name, Tensor tensor);
  std::optional<Tensor> FindDeclared(absl::string_view name) const;

  // From here on `name` is `tensor`, or the name of a function, which hides any
  // tensors, until the scope of the name ends.
  void Bind(std::string name, std::optional<Tensor> tensor) {
    bound_.emplace_back(std::move(name), tensor);
  }
  size_t num_bound() const { return bound_.size(); }
  // The names that were bound after the first `count` are no longer there.
  void Unbind(size_t count) { bound_.resize(count); }
  // For reading a function's body: leaves the first `count` names and the
  // arguments. `Leave` of the result restores the names.
  Bindings Enter(size_t count, const Arguments& arguments);
  void Leave(Bindings bound) { bound_ = std::move(bound); }
  // Whether `name` is bound, but not to the parameter of that name.
  bool IsBound(absl::string_view name) const;

  // From here on each of `arguments` is `any`, and errors of the graph do not
  // count.
  void StartTrial(const std::vector<std::string>& arguments, Tensor any) {
    for (const auto& name : arguments) Bind(name, any);
    is_trial_ = true;
  }
  bool is_trial() const { return is_trial_; }

  // The last binding, else the declaration in the text, else the tensor in the
  // names; FindInGraph: another tensor of the graph that has this name.
  std::optional<Tensor> FindGiven(absl::string_view name) const;
  std::optional<Tensor> FindInGraph(absl::string_view name) const;
  bool Has(absl::string_view name) const {
    return FindGiven(name) || FindInGraph(name);
  }

  // In a value of statements, the number that `name` is: p or p_t.
  std::optional<Tensor> FindNumber(absl::string_view name,
                                   SourceLocation where) const;

  // The tensor `name`; if it is none, a new placeholder.
  Tensor Placeholder(absl::string_view name, SourceLocation where);

  // Takes the name of a static index and gives its number.
  absl::StatusOr<int32_t> TakeStatic(Lexer& lexer) const;

  // The error for the name of no tensor, which stands at `name`; as the name
  // of a function if `is_call`.
  absl::Status Unknown(const Lexer& lexer, const Token& name,
                       bool is_call) const;

 private:
  std::optional<int32_t> FindStatic(absl::string_view name) const;

  Graph& graph_;
  const Names& names_;
  absl::flat_hash_map<std::string, Tensor> declared_;
  Bindings bound_;
  bool is_trial_ = false;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_SCOPE_H_
