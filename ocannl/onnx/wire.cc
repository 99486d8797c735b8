// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/wire.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::onnx {
namespace {

absl::Status EndsEarly() {
  return absl::InvalidArgumentError("the message ends within a field");
}

absl::StatusOr<uint64_t> TakeVarint(absl::string_view& text) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const uint8_t byte = text[0];
    text.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return EndsEarly();
}

absl::StatusOr<absl::string_view> TakeBytes(absl::string_view& text,
                                            uint64_t size) {
  if (size > text.size()) return EndsEarly();
  absl::string_view bytes = text.substr(0, size);
  text.remove_prefix(size);
  return bytes;
}

uint64_t LittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

}  // namespace

absl::StatusOr<std::vector<Field>> ReadFields(absl::string_view message) {
  std::vector<Field> fields;
  while (!message.empty()) {
    OCANNL_ASSIGN_OR_RETURN(uint64_t key, TakeVarint(message));
    Field field = {.number = static_cast<int>(key >> 3)};
    switch (key & 7) {
      case 0: {
        OCANNL_ASSIGN_OR_RETURN(field.value, TakeVarint(message));
        field.is_varint = true;
        break;
      }
      case 1:
      case 5: {
        OCANNL_ASSIGN_OR_RETURN(field.bytes,
                                TakeBytes(message, (key & 7) == 1 ? 8 : 4));
        field.value = LittleEndian(field.bytes);
        break;
      }
      case 2: {
        OCANNL_ASSIGN_OR_RETURN(uint64_t size, TakeVarint(message));
        OCANNL_ASSIGN_OR_RETURN(field.bytes, TakeBytes(message, size));
        break;
      }
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("a field of wire type ", key & 7));
    }
    fields.push_back(field);
  }
  return fields;
}

absl::StatusOr<std::vector<uint64_t>> ReadNumbers(const Field& field) {
  if (field.is_varint) return std::vector<uint64_t>{field.value};
  std::vector<uint64_t> numbers;
  for (absl::string_view rest = field.bytes; !rest.empty();) {
    OCANNL_ASSIGN_OR_RETURN(numbers.emplace_back(), TakeVarint(rest));
  }
  return numbers;
}

}  // namespace ocannl::onnx
