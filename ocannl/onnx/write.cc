// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/write.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"

namespace ocannl::onnx {
namespace {

// The version of the format: that of opset 20 (ONNX 1.15).
constexpr int kIrVersion = 9;

// AttributeProto.AttributeType.
enum Type : int64_t {
  kNumber = 1,
  kWhole,
  kText,
  kTensor,
  kGraph,
  kWholes = 7
};

// Arrays may have less than 2 GiB, and the rest of a file takes some of it.
constexpr int64_t kMostBytes = (int64_t{1} << 31) - (int64_t{1} << 24);

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
  if (attribute.type == kNumber) {
    text += FloatField(2, static_cast<float>(attribute.number));
  }
  if (attribute.type == kWhole) text += NumberField(3, attribute.whole);
  if (attribute.type == kText) text += BytesField(4, attribute.text);
  if (attribute.tensor) {
    text += BytesField(5, WriteTensor("", *attribute.tensor));
  }
  if (attribute.graph) text += BytesField(6, WriteGraph(*attribute.graph));
  for (double number : attribute.numbers) {
    text += FloatField(7, static_cast<float>(number));
  }
  for (int64_t whole : attribute.wholes) text += NumberField(8, whole);
  for (const std::string& each : attribute.texts) text += BytesField(9, each);
  return text + NumberField(20, attribute.type);
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
  text += BytesField(2, "graph");
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

absl::Status CheckName(absl::string_view name) {
  for (absl::string_view rest = name; !rest.empty();) {
    const size_t bytes = CharacterSize(rest);
    if (bytes == 0) {
      return UserError("the name `", absl::CHexEscape(name),
                       "` is not UTF-8, as names of ONNX are; give another");
    }
    rest.remove_prefix(bytes);
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(const OnnxGraph& graph) {
  int64_t bytes = 0;
  for (const auto& [name, array] : graph.initializers) {
    OCANNL_RETURN_IF_ERROR(CheckName(name));
    bytes += static_cast<int64_t>(array.bytes());
  }
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.outputs) {
      OCANNL_RETURN_IF_ERROR(CheckName(name));
    }
  }
  for (const auto* infos : {&graph.inputs, &graph.outputs}) {
    for (const TensorInfo& info : *infos) {
      OCANNL_RETURN_IF_ERROR(CheckName(info.name));
      for (const Dim& dim : info.dims.value_or(std::vector<Dim>())) {
        OCANNL_RETURN_IF_ERROR(CheckName(dim.name));
      }
    }
  }
  if (bytes <= kMostBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the arrays have ", bytes, " bytes, but an ONNX file has less than 2 ",
      "GiB; save them as .safetensors"));
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
  std::string text = NumberField(1, kIrVersion) +
                     BytesField(2, model.producer) +
                     BytesField(7, WriteGraph(model.graph));
  for (const auto& [domain, version] : model.opsets) {
    text += BytesField(8, BytesField(1, domain) + NumberField(2, version));
  }
  for (const auto& [key, value] : model.metadata) {
    text += BytesField(14, BytesField(1, key) + BytesField(2, value));
  }
  return text;
}

absl::Status WriteModelFile(const std::string& path, const OnnxModel& model) {
  OCANNL_RETURN_IF_ERROR(CheckWritable(model.graph));
  return ReplaceFile(path, [&](const std::string& other) {
    return WriteFile(other, WriteModel(model));
  });
}

Attribute TextAttribute(std::string text) {
  return {.text = std::move(text), .type = kText};
}

Attribute WholeAttribute(int64_t whole) {
  return {.whole = whole, .type = kWhole};
}

Attribute WholesAttribute(std::vector<int64_t> wholes) {
  return {.wholes = std::move(wholes), .type = kWholes};
}

Attribute NumberAttribute(double number) {
  return {.number = number, .type = kNumber};
}

Attribute TensorAttribute(NdArray tensor) {
  return {.tensor = std::move(tensor), .type = kTensor};
}

Attribute GraphAttribute(OnnxGraph graph) {
  return {.graph = std::make_shared<const OnnxGraph>(std::move(graph)),
          .type = kGraph};
}

}  // namespace ocannl::onnx
