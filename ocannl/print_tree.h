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

#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// A line for each tensor, operands below and indented, to `max_depth` levels of
// them. What stands above with its operands is named, and they are not
// repeated.
std::string TensorTree(Tensor root, int max_depth = 9);

}  // namespace ocannl

#endif  // OCANNL_PRINT_TREE_H_
