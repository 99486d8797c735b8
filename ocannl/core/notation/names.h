// SPDX-License-Identifier: Apache-2.0
//
// What C++ gives to a text by name.
//
//   ParseTensor(graph, "w *. x", {.tensors = {{"x", x}}});
#ifndef OCANNL_CORE_NOTATION_NAMES_H_
#define OCANNL_CORE_NOTATION_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// What to do about a name that is unknown, for messages; $0 is the name.
struct NameFixes {
  std::string tensor = "put it into the names, or declare a parameter: {$0}";
  std::string function = "the operations are in ocannl/core/ops/ops.def";
  std::string static_index = "add it to the graph";
  std::string number = "put it into the names";
};

// Names for a text to use. The graph's own names need not be here.
struct Names {
  absl::flat_hash_map<std::string, Tensor> tensors = {};   // x
  absl::flat_hash_map<std::string, int32_t> statics = {};  // @| i, !@i
  // !.lr, !..n, o=[n], and the strides and dilations of specs: "n*i => i"
  absl::flat_hash_map<std::string, double> numbers = {};
  // for p in params do ..., of statements
  absl::flat_hash_map<std::string, std::vector<Tensor>> lists = {};
  NameFixes fixes = {};
  // The text is a value of statements: operations have names there
  // (operations.h), and a number needs no !.: p and p_t are the number p.
  bool is_code = false;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_NAMES_H_
