// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "tests/onnx/wire.h"

namespace ocannl::onnx {
namespace {

constexpr std::pair<int, DType> kOnnxDTypes[] = {
    {1, DType::kF32},  {2, DType::kU8},   {4, DType::kU16},  {6, DType::kI32},
    {7, DType::kI64},  {9, DType::kBool}, {10, DType::kF16}, {11, DType::kF64},
    {12, DType::kU32}, {13, DType::kU64}, {16, DType::kBF16}};

// Appends the elements of a field that is not raw: packed fixed-size numbers
// as they are, the low bytes of each varint.
absl::Status AppendElements(const Field& field, size_t size, bool is_fixed,
                            std::string& elements) {
  if (is_fixed) {
    absl::StrAppend(&elements, field.bytes);
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> numbers, ReadNumbers(field));
  static_assert(std::endian::native == std::endian::little);
  for (uint64_t number : numbers) {
    elements.append(reinterpret_cast<const char*>(&number), size);
  }
  return absl::OkStatus();
}

absl::Status ReadAttribute(absl::string_view message, Node& node) {
  std::string name;
  Attribute attribute;
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    auto number = [](absl::string_view bytes) {
      float value = 0;
      std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
      return value;
    };
    switch (field.number) {
      case 1:
        name = std::string(field.bytes);
        break;
      case 2:
        attribute.number = number(field.bytes);
        break;
      case 3:
        attribute.whole = static_cast<int64_t>(field.value);
        break;
      case 4:
        attribute.text = std::string(field.bytes);
        break;
      case 5: {
        OCANNL_ASSIGN_OR_RETURN(attribute.tensor, ReadTensor(field.bytes));
        break;
      }
      case 7:
        for (size_t i = 0; i < field.bytes.size(); i += sizeof(float)) {
          attribute.numbers.push_back(number(field.bytes.substr(i)));
        }
        break;
      case 8: {
        OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> values,
                                ReadNumbers(field));
        attribute.wholes.insert(attribute.wholes.end(), values.begin(),
                                values.end());
        break;
      }
    }
  }
  node.attributes.emplace(std::move(name), std::move(attribute));
  return absl::OkStatus();
}

absl::StatusOr<Node> ReadNode(absl::string_view message) {
  Node node;
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 1) node.inputs.emplace_back(field.bytes);
    if (field.number == 2) node.outputs.emplace_back(field.bytes);
    if (field.number == 4) node.op = std::string(field.bytes);
    if (field.number != 5) continue;
    OCANNL_RETURN_IF_ERROR(ReadAttribute(field.bytes, node));
  }
  return node;
}

// Field `number` of a message, the first of that number.
absl::StatusOr<Field> FieldOf(absl::string_view message, int number) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == number) return field;
  }
  return Field{.number = number, .value = 0, .bytes = {}};
}

absl::StatusOr<NodeValue> ReadValue(absl::string_view message) {
  OCANNL_ASSIGN_OR_RETURN(Field name, FieldOf(message, 1));
  OCANNL_ASSIGN_OR_RETURN(Field type, FieldOf(message, 2));
  OCANNL_ASSIGN_OR_RETURN(Field tensor, FieldOf(type.bytes, 1));
  NodeValue value = {.name = std::string(name.bytes), .dtype_code = {}};
  if (tensor.bytes.empty()) return value;
  OCANNL_ASSIGN_OR_RETURN(Field dtype, FieldOf(tensor.bytes, 1));
  value.dtype_code = static_cast<int64_t>(dtype.value);
  return value;
}

absl::Status ReadGraph(absl::string_view message, OnnxModel& model) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 1) {
      OCANNL_ASSIGN_OR_RETURN(model.nodes.emplace_back(),
                              ReadNode(field.bytes));
    } else if (field.number == 5) {
      OCANNL_ASSIGN_OR_RETURN(Field name, FieldOf(field.bytes, 8));
      OCANNL_ASSIGN_OR_RETURN(model.initializers[std::string(name.bytes)],
                              ReadTensor(field.bytes));
    } else if (field.number == 11 || field.number == 12) {
      auto& values = field.number == 11 ? model.inputs : model.outputs;
      OCANNL_ASSIGN_OR_RETURN(values.emplace_back(), ReadValue(field.bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DType> DTypeOfCode(int64_t code) {
  for (const auto& [known, dtype] : kOnnxDTypes) {
    if (known == code) return dtype;
  }
  return absl::UnimplementedError(absl::StrCat("elements of type ", code));
}

absl::StatusOr<NdArray> ReadTensor(absl::string_view message) {
  OCANNL_ASSIGN_OR_RETURN(Field code, FieldOf(message, 2));
  OCANNL_ASSIGN_OR_RETURN(DType dtype, DTypeOfCode(code.value));
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  Dims dims;
  std::string elements;
  for (const Field& field : fields) {
    if (field.number == 1) {
      OCANNL_ASSIGN_OR_RETURN(std::vector<uint64_t> sizes, ReadNumbers(field));
      dims.insert(dims.end(), sizes.begin(), sizes.end());
    }
    const bool is_fixed =
        field.number == 4 || field.number == 9 || field.number == 10;
    if (is_fixed || field.number == 5 || field.number == 7 ||
        field.number == 11) {
      OCANNL_RETURN_IF_ERROR(
          AppendElements(field, SizeOf(dtype), is_fixed, elements));
    }
  }
  NdArray array(dtype, dims);
  if (array.bytes() != elements.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an array of ", array.bytes(), " bytes has ",
                     elements.size(), " bytes of elements"));
  }
  // An array of no cells has no memory.
  if (!elements.empty()) {
    std::memcpy(array.data(), elements.data(), elements.size());
  }
  return array;
}

absl::StatusOr<OnnxModel> ReadModel(absl::string_view message) {
  OnnxModel model;
  OCANNL_ASSIGN_OR_RETURN(std::vector<Field> fields, ReadFields(message));
  for (const Field& field : fields) {
    if (field.number == 7) {
      OCANNL_RETURN_IF_ERROR(ReadGraph(field.bytes, model));
    } else if (field.number == 8) {
      OCANNL_ASSIGN_OR_RETURN(Field version, FieldOf(field.bytes, 2));
      model.opset = static_cast<int64_t>(version.value);
    }
  }
  return model;
}

}  // namespace ocannl::onnx
