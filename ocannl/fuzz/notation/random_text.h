// SPDX-License-Identifier: Apache-2.0
//
// Random texts of the notation: einsums that are right, einsums with changed
// specs and shapes, expressions of its grammar, and texts with changed bytes.
#ifndef OCANNL_FUZZ_NOTATION_RANDOM_TEXT_H_
#define OCANNL_FUZZ_NOTATION_RANDOM_TEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl::fuzz {

// What a text is that is one einsum of x0, x1, ...
struct TextEinsum {
  std::string spec;
  std::optional<Op> op = {};
  Op accum = Op::kAdd;
  std::map<std::string, int64_t> sizes = {};  // that stand behind the spec
  bool is_right = false;                      // made to fit
};

// `let v3 = text in`
struct TextLet {
  std::string name;
  std::string text;
  Shape shape;
  DType dtype;
};

struct RandomText {
  std::string text;
  std::vector<Shape> operands;  // of x0, x1, ...; at least one
  std::optional<TextEinsum> einsum = {};
  std::vector<TextLet> lets = {};  // of a graph, whose value is the last one
  bool lets_fit = true;            // made to; a part of them may not
};

// The text of the graph.
std::string TextOf(const std::vector<TextLet>& lets);

// The text of the einsum.
std::string TextOf(const TextEinsum& einsum, size_t num_operands);

// `corpus` is what is changed byte by byte, beside what is built in.
RandomText MakeText(uint64_t seed, absl::Span<const std::string> corpus);

// The texts that are built in.
absl::Span<const char* const> BuiltInTexts();

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_RANDOM_TEXT_H_
