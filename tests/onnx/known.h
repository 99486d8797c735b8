// SPDX-License-Identifier: Apache-2.0
//
// What the rules know: of each operation the inputs, the attributes and, where
// these are words or choices, their values.
#ifndef TESTS_ONNX_KNOWN_H_
#define TESTS_ONNX_KNOWN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tests/onnx/model.h"

namespace ocannl::onnx {

// Error, Unimplemented: no rule for the operation, or the node has an input, an
// attribute or a value of one that its rule does not know, or it is of an older
// version, where it means something else.
absl::Status CheckKnown(const Node& node, int64_t opset);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_KNOWN_H_
