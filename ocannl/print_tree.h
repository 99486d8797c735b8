// SPDX-License-Identifier: Apache-2.0
//
// What a tensor is computed from, as a tree for people.
//
//   loss = relu(h) ++ "...|... => 0"
//     relu(h)
//       h = w * x
//         w: parameter
//         x: data
#ifndef OCANNL_PRINT_TREE_H_
#define OCANNL_PRINT_TREE_H_

#include <string>

#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// A line for each tensor, operands below and indented, to `max_depth` levels of
// them. What stands above with its operands is named, and they are not
// repeated.
std::string TensorTree(Tensor root, int max_depth = 9);

struct TreeOptions {
  int max_depth = 9;
  bool values = true;
  bool gradients = false;
};

// The same with the values that `context` has of each tensor, and their
// gradients, as PrintValues writes them, below its line. "-" stands for what it
// does not have: Forward keeps the value of its tensor, and SetMemoryMode and
// GradOptions::keep_gradients keep more.
//
//   w: parameter
//     value: 3 4
//     gradient: 1 2
std::string TensorTree(Tensor root, const Context& context,
                       const TreeOptions& options = {});

}  // namespace ocannl

#endif  // OCANNL_PRINT_TREE_H_
