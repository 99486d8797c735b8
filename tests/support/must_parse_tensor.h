// SPDX-License-Identifier: Apache-2.0
//
// Expressions of tests: their text is right, or the test ends.
#ifndef TESTS_SUPPORT_MUST_PARSE_TENSOR_H_
#define TESTS_SUPPORT_MUST_PARSE_TENSOR_H_

#include <string>

#include "ocannl/core/base/check.h"
#include "ocannl/core/notation/parse.h"

namespace ocannl {

// Its parameters are in `names` for what is parsed next.
inline Tensor MustParseTensor(Graph& graph, const std::string& text,
                              Names& names) {
  auto parsed = ParseTensor(graph, text, names);
  CHECK_OK(parsed) << text;
  for (Tensor p : parsed->parameters) names.tensors.emplace(p.node().name, p);
  return parsed->tensor;
}

inline Tensor MustParseTensor(Graph& graph, const std::string& text) {
  Names names;
  return MustParseTensor(graph, text, names);
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_MUST_PARSE_TENSOR_H_
