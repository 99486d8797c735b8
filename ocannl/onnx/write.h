// SPDX-License-Identifier: Apache-2.0
//
// Writes ONNX files.
//
//   onnx::OnnxModel file = {.opsets = {{"", 20}}};
//   file.graph.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
//   OCANNL_RETURN_IF_ERROR(onnx::WriteModelFile("relu.onnx", file));
#ifndef OCANNL_ONNX_WRITE_H_
#define OCANNL_ONNX_WRITE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// A field of a message: a varint, or bytes.
std::string NumberField(int field, uint64_t value);
std::string BytesField(int field, absl::string_view bytes);

// A TensorProto with raw data.
std::string WriteTensor(const std::string& name, const NdArray& array);

// A ModelProto that ReadModel reads back.
std::string WriteModel(const OnnxModel& model);

// Replaces the file. Errors: the system's, with the path; arrays of 2 GiB or
// more, which no protocol buffer has; a name of an array that is not UTF-8, as
// strings of protocol buffers are.
absl::Status WriteModelFile(const std::string& path, const OnnxModel& model);

// Attributes with one value.
Attribute TextAttribute(std::string text);
Attribute WholeAttribute(int64_t whole);
Attribute WholesAttribute(std::vector<int64_t> wholes);
Attribute NumberAttribute(double number);
Attribute TensorAttribute(NdArray tensor);
Attribute GraphAttribute(OnnxGraph graph);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_WRITE_H_
