// SPDX-License-Identifier: Apache-2.0
//
// The functions of the notation, each of them made of the operations of
// ops.def, of conversions and of what core/tensor composes of them.
//
//   relu(x)  max(a, b)  f64(x)  bits_u32(x)  uniform1()  kaiming(normal(), 2)
//   normal_at(counter)  uniform_f16()  normal1_at_f64(counter)
//   type_as(x, y): x in the dtype of y; widen(x): a narrow float as f32
//   gather("v, d; b| => b|d", table, ids)  stack("...|i, ...", x, y)
#ifndef OCANNL_CORE_NOTATION_FUNCTION_H_
#define OCANNL_CORE_NOTATION_FUNCTION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// A function and what it is given.
struct FunctionCall {
  Graph* graph;
  std::string spec;  // of the functions that take one
  std::vector<Arg> args;
  std::optional<Tensor> parameter;  // which the call initialises
  SourceLocation where;
};

struct Function {
  std::string name;
  int min_args;
  int max_args;
  std::function<absl::StatusOr<Tensor>(const FunctionCall&)> apply;
  // An example of the spec that stands, in quotes, before the arguments; empty:
  // it takes none.
  std::string spec = "";
  // The spec if none is given; empty: one must be.
  std::string default_spec = "";

  bool takes_spec() const { return !spec.empty(); }
  bool needs_spec() const { return takes_spec() && default_spec.empty(); }
};

// The function of that name, or null.
const Function* FindFunction(absl::string_view name);

std::vector<std::string> FunctionNames();

// How it is called: "max(a, b)", "argmax(\"..., i\", a)".
std::string FunctionExample(const Function& function);

// Whether it takes so many arguments, and a spec if there is one.
bool TakesSoMany(const Function& function, const FunctionCall& call);

// The function of the arguments. Errors, without their place: a wrong number
// of arguments, or what the function itself finds wrong. An error node may be
// the result, too.
absl::StatusOr<Tensor> CallFunction(const Function& function,
                                    const FunctionCall& call);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_FUNCTION_H_
