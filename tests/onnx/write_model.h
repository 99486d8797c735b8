// SPDX-License-Identifier: Apache-2.0
//
// Writes ONNX models, for tests of the reader.
//
//   OnnxModel model = {.opsets = {{"", 17}}};
//   model.graph.nodes = {{.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}};
//   std::string file = WriteModel(model);
#ifndef TESTS_ONNX_WRITE_MODEL_H_
#define TESTS_ONNX_WRITE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

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

// Attributes with one value.
Attribute TextAttribute(std::string text);
Attribute WholeAttribute(int64_t whole);
Attribute WholesAttribute(std::vector<int64_t> wholes);
Attribute NumberAttribute(double number);
Attribute GraphAttribute(OnnxGraph graph);

// An input or output of f32 with these dims; a dim below 0 is free, and called
// "batch".
TensorInfo FloatInfo(const std::string& name, const Dims& dims);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_WRITE_MODEL_H_
