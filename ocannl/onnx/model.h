// SPDX-License-Identifier: Apache-2.0
//
// The contents of an ONNX file: a graph of operations with attributes, and
// arrays. The messages and their field numbers are those of onnx.proto.
//
//   OCANNL_ASSIGN_OR_RETURN(onnx::OnnxModel file,
//                           onnx::ReadModelFile("resnet18.onnx"));
//   for (const onnx::TensorInfo& input : file.graph.inputs) {
//     std::cout << input.name << " : " << ToString(input) << "\n";
//   }
#ifndef OCANNL_ONNX_MODEL_H_
#define OCANNL_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl::onnx {

struct OnnxGraph;

struct Attribute {
  double number = 0;
  int64_t whole = 0;
  std::string text = "";
  std::optional<NdArray> tensor = std::nullopt;
  std::shared_ptr<const OnnxGraph> graph = nullptr;  // a branch of If
  std::vector<double> numbers = {};
  std::vector<int64_t> wholes = {};
  std::vector<std::string> texts = {};
  // Which of them it is: AttributeProto.AttributeType. Files of old versions
  // do not say.
  int64_t type = 0;
};

struct Node {
  std::string op;
  std::string domain = "";  // empty: the operators of ONNX itself
  std::string name = "";
  std::vector<std::string> inputs = {};  // an empty name is an input left out
  std::vector<std::string> outputs = {};
  std::map<std::string, Attribute> attributes = {};
};

// A size of an input or output. A free one has no number yet.
struct Dim {
  std::optional<int64_t> size;
  std::string name;  // of a free one; an unnamed one of `x` is "x.0"

  friend bool operator==(const Dim&, const Dim&) = default;
};

// What the file says of an input or an output.
struct TensorInfo {
  std::string name;
  // TensorProto.DataType; none: a sequence, a map or an optional value.
  std::optional<int64_t> dtype_code = std::nullopt;
  std::optional<std::vector<Dim>> dims = std::nullopt;  // none: of unknown rank
};

// "f32[batch, 3, 224, 224]".
std::string ToString(const TensorInfo& info);

struct OnnxGraph {
  std::vector<Node> nodes;  // operands first
  std::map<std::string, NdArray> initializers;
  std::vector<TensorInfo> inputs, outputs;  // inputs without initialisers
};

struct OnnxModel {
  std::map<std::string, int64_t> opsets;  // by domain; "" is that of ONNX
  OnnxGraph graph = {};
  std::string producer = "";  // "pytorch 2.5.0"
  std::map<std::string, std::string> metadata = {};
};

// The dtype that TensorProto.DataType calls `code`. Unimplemented: the engine
// has no such dtype.
absl::StatusOr<DType> DTypeOfCode(int64_t code);
// The code of a dtype of the engine.
int64_t CodeOfDType(DType dtype);

// A TensorProto. `folder` is that of the model, for data in files of their own;
// without one these are an error. Errors: a damaged message; dims and data of
// different sizes; a file outside of `folder`. Unimplemented: a dtype that the
// engine does not have.
absl::StatusOr<NdArray> ReadTensor(absl::string_view message,
                                   const std::string& folder = "");

// The status, with the place in the file in front of the message of an error.
absl::Status ErrorIn(absl::string_view where, const absl::Status& status);

// A ModelProto. Errors: as of ReadTensor, with the name of the array; more than
// 64 graphs in each other; no opset of ONNX.
absl::StatusOr<OnnxModel> ReadModel(absl::string_view message,
                                    const std::string& folder = "");

// The model of an .onnx file. Errors: the system's; as of ReadModel, with the
// path.
absl::StatusOr<OnnxModel> ReadModelFile(const std::string& path);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_MODEL_H_
