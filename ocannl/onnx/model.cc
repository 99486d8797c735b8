// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/model.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/onnx/wire.h"

namespace ocannl::onnx {
namespace {

// Of graphs in each other.
constexpr int kMostDepth = 64;

// What all messages of a file are read with.
class Reader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<OnnxGraph> ReadGraph(absl::string_view message);

 private:
  absl::Status ReadAttribute(absl::string_view message, Node& node);
  absl::Status ReadAttributeField(const Field& field, Attribute& attribute);
  absl::StatusOr<Node> ReadNode(absl::string_view message);

  std::string folder_;
  int depth_ = 0;
};

double FloatOf(absl::string_view bytes) {
  float value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  return value;
}

absl::Status Reader::ReadAttributeField(const Field& field,
                                        Attribute& attribute) {
  switch (field.number) {
    case 2:
      attribute.number = FloatOf(field.bytes);
      break;
    case 3:
      attribute.whole = static_cast<int64_t>(field.value);
      break;
    case 4:
      attribute.text = std::string(field.bytes);
      break;
    case 5: {
      OCANNL_ASSIGN_OR_RETURN(attribute.tensor,
                              ReadTensor(field.bytes, folder_));
      break;
    }
    case 6: {
      OCANNL_ASSIGN_OR_RETURN(OnnxGraph graph, ReadGraph(field.bytes));
      attribute.graph = std::make_shared<const OnnxGraph>(std::move(graph));
      break;
    }
    case 7:
      for (size_t i = 0; i < field.bytes.size(); i += sizeof(float)) {
        attribute.numbers.push_back(FloatOf(field.bytes.substr(i)));
      }
      break;
    case 8: {
      OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> values, ReadNumbers(field));
      attribute.wholes.insert(attribute.wholes.end(), values.begin(),
                              values.end());
      break;
    }
    case 9:
      attribute.texts.emplace_back(field.bytes);
      break;
    case 20:
      attribute.type = static_cast<int64_t>(field.value);
      break;
  }
  return absl::OkStatus();
}

absl::Status Reader::ReadAttribute(absl::string_view message, Node& node) {
  std::string name;
  Attribute attribute;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 1) name = std::string(field.bytes);
  }
  for (const Field& field : fields) {
    const absl::Status status = ReadAttributeField(field, attribute);
    if (!status.ok()) return ErrorIn(absl::StrCat("attribute ", name), status);
  }
  node.attributes.emplace(std::move(name), std::move(attribute));
  return absl::OkStatus();
}

absl::StatusOr<Node> Reader::ReadNode(absl::string_view message) {
  Node node;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 3) node.name = std::string(field.bytes);
    if (field.number == 4) node.op = std::string(field.bytes);
    if (field.number == 7) node.domain = std::string(field.bytes);
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  for (const Field& field : fields) {
    if (field.number != 5) continue;
    const absl::Status status = ReadAttribute(field.bytes, node);
    if (!status.ok()) {
      return ErrorIn(absl::StrCat("node `", node.name, "` (", node.op, ")"),
                     status);
    }
  }
  return node;
}

// Field `number` of a message, the first of that number.
absl::StatusOr<Field> FieldOf(absl::string_view message, int number) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == number) return field;
  }
  return Field{.number = number};
}

absl::StatusOr<std::vector<Dim>> ReadDims(absl::string_view message,
                                          const std::string& name) {
  std::vector<Dim> dims;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number != 1) continue;
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> parts,
                            ReadFields(field.bytes));
    Dim dim = {.size = std::nullopt, .name = ""};
    for (const Field& part : parts) {
      // A size below 0 is what some exporters write for a free one.
      const auto size = static_cast<int64_t>(part.value);
      if (part.number == 1 && size >= 0) dim.size = size;
      // Paddle writes "?" for each unknown size.
      if (part.number == 2 && part.bytes != "?") {
        dim.name = std::string(part.bytes);
      }
    }
    if (!dim.size && dim.name.empty()) {
      dim.name = absl::StrCat(name, ".", dims.size());
    }
    dims.push_back(std::move(dim));
  }
  return dims;
}

absl::StatusOr<TensorInfo> ReadInfo(absl::string_view message) {
  OCANNL_ASSIGN_OR_RETURN(const Field name, FieldOf(message, 1));
  OCANNL_ASSIGN_OR_RETURN(const Field type, FieldOf(message, 2));
  OCANNL_ASSIGN_OR_RETURN(const Field tensor, FieldOf(type.bytes, 1));
  TensorInfo info = {.name = std::string(name.bytes)};
  if (tensor.bytes.empty()) return info;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields,
                          ReadFields(tensor.bytes));
  for (const Field& field : fields) {
    if (field.number == 1) info.dtype_code = static_cast<int64_t>(field.value);
    if (field.number != 2) continue;
    OCANNL_ASSIGN_OR_RETURN(info.dims, ReadDims(field.bytes, info.name));
  }
  return info;
}

absl::StatusOr<OnnxGraph> Reader::ReadGraph(absl::string_view message) {
  if (depth_ == kMostDepth) {
    return UserError("there are more than ", kMostDepth,
                     " graphs in each other");
  }
  ++depth_;
  OnnxGraph graph;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 1) {
      OCANNL_ASSIGN_OR_RETURN(graph.nodes.emplace_back(),
                              ReadNode(field.bytes));
    } else if (field.number == 5) {
      OCANNL_ASSIGN_OR_RETURN(const Field name, FieldOf(field.bytes, 8));
      absl::StatusOr<NdArray> array = ReadTensor(field.bytes, folder_);
      if (!array.ok()) {
        return ErrorIn(absl::StrCat("initializer `", name.bytes, "`"),
                       array.status());
      }
      graph.initializers.insert_or_assign(std::string(name.bytes),
                                          *std::move(array));
    } else if (field.number == 11 || field.number == 12) {
      auto& infos = field.number == 11 ? graph.inputs : graph.outputs;
      OCANNL_ASSIGN_OR_RETURN(infos.emplace_back(), ReadInfo(field.bytes));
    } else if (field.number == 15) {
      return absl::UnimplementedError("a sparse initializer");
    }
  }
  // Models of old versions list initialisers as inputs that have a default.
  std::erase_if(graph.inputs, [&](const TensorInfo& info) {
    return graph.initializers.contains(info.name);
  });
  --depth_;
  return graph;
}

absl::Status ReadOpset(absl::string_view message, OnnxModel& model) {
  OCANNL_ASSIGN_OR_RETURN(const Field domain, FieldOf(message, 1));
  OCANNL_ASSIGN_OR_RETURN(const Field version, FieldOf(message, 2));
  std::string name(domain.bytes);
  if (name == "ai.onnx") name.clear();
  model.opsets[name] = static_cast<int64_t>(version.value);
  return absl::OkStatus();
}

}  // namespace

std::string ToString(const TensorInfo& info) {
  if (!info.dtype_code) return "not a tensor";
  const absl::StatusOr<DType> dtype = DTypeOfCode(*info.dtype_code);
  const std::string name(dtype.ok() ? Name(*dtype)
                                    : absl::string_view("unknown"));
  if (!info.dims) return name;
  auto print = [](std::string* out, const Dim& dim) {
    absl::StrAppend(out, dim.size ? absl::StrCat(*dim.size) : dim.name);
  };
  return absl::StrCat(name, "[", absl::StrJoin(*info.dims, ", ", print), "]");
}

absl::StatusOr<OnnxModel> ReadModel(absl::string_view message,
                                    const std::string& folder) {
  OnnxModel model;
  Reader reader(folder);
  std::string version;
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 2) model.producer = std::string(field.bytes);
    if (field.number == 3) version = std::string(field.bytes);
    if (field.number == 7) {
      OCANNL_ASSIGN_OR_RETURN(model.graph, reader.ReadGraph(field.bytes));
    } else if (field.number == 8) {
      OCANNL_RETURN_IF_ERROR(ReadOpset(field.bytes, model));
    } else if (field.number == 14) {
      OCANNL_ASSIGN_OR_RETURN(const Field key, FieldOf(field.bytes, 1));
      OCANNL_ASSIGN_OR_RETURN(const Field value, FieldOf(field.bytes, 2));
      model.metadata[std::string(key.bytes)] = std::string(value.bytes);
    }
  }
  if (!version.empty()) absl::StrAppend(&model.producer, " ", version);
  if (model.opsets.empty()) {
    return UserError(
        "the model names no version of its operators; it is not an ONNX model, "
        "or it is damaged");
  }
  return model;
}

absl::Status ErrorIn(absl::string_view where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(where, ": ", status.message()));
}

absl::StatusOr<OnnxModel> ReadModelFile(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  std::string folder = std::filesystem::path(path).parent_path().string();
  absl::StatusOr<OnnxModel> model =
      ReadModel(bytes, folder.empty() ? "." : folder);
  if (!model.ok()) return ErrorIn(path, model.status());
  return model;
}

}  // namespace ocannl::onnx
