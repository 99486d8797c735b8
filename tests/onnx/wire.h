// SPDX-License-Identifier: Apache-2.0
//
// The wire format of protocol buffers: a message is a sequence of numbered
// fields, each a number or a string of bytes, which may be a message again.
#ifndef TESTS_ONNX_WIRE_H_
#define TESTS_ONNX_WIRE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl::onnx {

struct Field {
  int number;
  uint64_t value;           // a varint, or the bits of a fixed-size number
  absl::string_view bytes;  // of everything else; lies in the message
};

// Errors: a message that ends too early, or what no one writes any more.
absl::StatusOr<std::vector<Field>> ReadFields(absl::string_view message);

// The numbers of a repeated field: packed ones in `bytes`, else `value`.
absl::StatusOr<std::vector<uint64_t>> ReadNumbers(const Field& field);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_WIRE_H_
