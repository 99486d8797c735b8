// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/write_model.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ocannl::onnx {
namespace {

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) {
    text += static_cast<char>(0x80 | (value & 0x7f));
  }
  return text + static_cast<char>(value);
}

std::string FloatField(int field, float value) {
  std::string text = Varint(field << 3 | 5);
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return text;
}

std::string WriteGraph(const OnnxGraph& graph);

std::string WriteAttribute(const std::string& name,
                           const Attribute& attribute) {
  std::string text = BytesField(1, name);
  if (attribute.number != 0) {
    text += FloatField(2, static_cast<float>(attribute.number));
  }
  if (attribute.whole != 0) text += NumberField(3, attribute.whole);
  if (!attribute.text.empty()) text += BytesField(4, attribute.text);
  if (attribute.tensor)
    text += BytesField(5, WriteTensor("", *attribute.tensor));
  if (attribute.graph) text += BytesField(6, WriteGraph(*attribute.graph));
  for (int64_t whole : attribute.wholes) text += NumberField(8, whole);
  return text;
}

std::string WriteNode(const Node& node) {
  std::string text;
  for (const std::string& name : node.inputs) text += BytesField(1, name);
  for (const std::string& name : node.outputs) text += BytesField(2, name);
  text += BytesField(3, node.name) + BytesField(4, node.op);
  for (const auto& [name, attribute] : node.attributes) {
    text += BytesField(5, WriteAttribute(name, attribute));
  }
  return text + BytesField(7, node.domain);
}

std::string WriteInfo(const TensorInfo& info) {
  std::string dims;
  for (const Dim& dim : info.dims.value_or(std::vector<Dim>())) {
    dims += BytesField(
        1, dim.size ? NumberField(1, *dim.size) : BytesField(2, dim.name));
  }
  std::string tensor = NumberField(1, info.dtype_code.value_or(0));
  if (info.dims) tensor += BytesField(2, dims);
  return BytesField(1, info.name) + BytesField(2, BytesField(1, tensor));
}

std::string WriteGraph(const OnnxGraph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) text += BytesField(1, WriteNode(node));
  for (const auto& [name, array] : graph.initializers) {
    text += BytesField(5, WriteTensor(name, array));
  }
  for (const TensorInfo& info : graph.inputs) {
    text += BytesField(11, WriteInfo(info));
  }
  for (const TensorInfo& info : graph.outputs) {
    text += BytesField(12, WriteInfo(info));
  }
  return text;
}

}  // namespace

std::string NumberField(int field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}

std::string BytesField(int field, absl::string_view bytes) {
  return absl::StrCat(Varint(field << 3 | 2), Varint(bytes.size()), bytes);
}

std::string WriteTensor(const std::string& name, const NdArray& array) {
  std::string text;
  for (int64_t size : array.dims()) text += NumberField(1, size);
  text += NumberField(2, CodeOfDType(array.dtype()));
  return text + BytesField(8, name) + BytesField(9, array.AsString());
}

std::string WriteModel(const OnnxModel& model) {
  std::string text = NumberField(1, 8) + BytesField(7, WriteGraph(model.graph));
  for (const auto& [domain, version] : model.opsets) {
    text += BytesField(8, BytesField(1, domain) + NumberField(2, version));
  }
  for (const auto& [key, value] : model.metadata) {
    text += BytesField(14, BytesField(1, key) + BytesField(2, value));
  }
  return text;
}

Attribute TextAttribute(std::string text) {
  Attribute attribute;
  attribute.text = std::move(text);
  return attribute;
}

Attribute WholeAttribute(int64_t whole) {
  Attribute attribute;
  attribute.whole = whole;
  return attribute;
}

Attribute WholesAttribute(std::vector<int64_t> wholes) {
  Attribute attribute;
  attribute.wholes = std::move(wholes);
  return attribute;
}

Attribute NumberAttribute(double number) {
  Attribute attribute;
  attribute.number = number;
  return attribute;
}

Attribute GraphAttribute(OnnxGraph graph) {
  Attribute attribute;
  attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
  return attribute;
}

TensorInfo FloatInfo(const std::string& name, const Dims& dims) {
  TensorInfo info = {.name = name,
                     .dtype_code = CodeOfDType(DType::kF32),
                     .dims = std::vector<Dim>()};
  for (int64_t size : dims) {
    info.dims->push_back(size < 0 ? Dim{std::nullopt, "batch"} : Dim{size, ""});
  }
  return info;
}

}  // namespace ocannl::onnx
