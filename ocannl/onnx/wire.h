// SPDX-License-Identifier: Apache-2.0
//
// The wire format of protocol buffers. A message is a sequence of numbered
// fields. A field is a number or a string of bytes, and the bytes may be a
// message again.
#ifndef OCANNL_ONNX_WIRE_H_
#define OCANNL_ONNX_WIRE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl::onnx {

struct Field {
  int number = 0;
  uint64_t value = 0;            // a varint, or the bits of a fixed-size number
  absl::string_view bytes = {};  // of the other kinds; points into the message
  bool is_varint = false;
};

// The fields in order. Errors: a message that ends within a field; a field of a
// deprecated or unknown wire type.
absl::StatusOr<std::vector<Field>> ReadFields(absl::string_view message);

// The varints of a repeated field, packed or not. Error: a varint that does not
// end.
absl::StatusOr<std::vector<uint64_t>> ReadNumbers(const Field& field);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_WIRE_H_
