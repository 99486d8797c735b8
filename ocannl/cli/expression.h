// SPDX-License-Identifier: Apache-2.0
//
// An expression of the command line with its inputs: what eval and explain
// have in common.
#ifndef OCANNL_CLI_EXPRESSION_H_
#define OCANNL_CLI_EXPRESSION_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/graph/model.h"

namespace ocannl {

struct Expression {
  train::Model model;
  TensorId result;
  // Second names that --let gives to what has one.
  std::map<std::string, std::string> other_names;
  std::vector<TensorId> gradients_of;  // whose gradients are asked for
  // The inputs among those, which are parameters of the graph.
  std::vector<std::pair<std::string, NdArray>> values;
  Assignments code;  // forward and, if gradients are asked for, backward
};

// The expression `text` under the flags of `line`, kExpressionFlags among them.
// Errors: of the notation, of shapes, of the inputs.
absl::StatusOr<std::unique_ptr<Expression>> BuildExpression(
    const CommandLine& line, const std::string& text);

}  // namespace ocannl

#endif  // OCANNL_CLI_EXPRESSION_H_
