// SPDX-License-Identifier: Apache-2.0
//
// What an ONNX file says: a graph of operations that have attributes, and
// arrays. The messages and their field numbers are those of onnx.proto.
#ifndef TESTS_ONNX_MODEL_H_
#define TESTS_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl::onnx {

// Of a graph, a type or a string in the place of a tensor nothing is kept.
struct Attribute {
  double number = 0;
  int64_t whole = 0;
  std::string text;
  std::optional<NdArray> tensor;
  std::vector<double> numbers;
  std::vector<int64_t> wholes;
};

struct Node {
  std::string op;
  std::vector<std::string> inputs;  // "" is left out
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;
};

// What goes in or comes out. Without a dtype it is no tensor.
struct NodeValue {
  std::string name;
  std::optional<int64_t> dtype_code;
};

struct OnnxModel {
  int64_t opset = 0;
  std::vector<Node> nodes;  // operands first
  std::map<std::string, NdArray> initializers;
  std::vector<NodeValue> inputs, outputs;
};

// The dtype that TensorProto.DataType calls `code`. Error, Unimplemented: no
// dtype of ours.
absl::StatusOr<DType> DTypeOfCode(int64_t code);

// Errors: not such a message; Unimplemented: an array of a dtype that is not
// ours.
absl::StatusOr<NdArray> ReadTensor(absl::string_view message);
absl::StatusOr<OnnxModel> ReadModel(absl::string_view message);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_MODEL_H_
