// SPDX-License-Identifier: Apache-2.0
//
// What the tests of shapes share: tensors of a shape written as text, and
// projections as text.
//
//   Tensor x = Zeros(graph, "x", "2|3->4");
//   ToString(projections)   ->   "4,2 : 0 1 <- 1 0"
#ifndef OCANNL_CORE_SHAPE_TEST_TENSORS_H_
#define OCANNL_CORE_SHAPE_TEST_TENSORS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

inline Dims ParseDims(absl::string_view text) {
  Dims dims;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int64_t size;
    CHECK(absl::SimpleAtoi(part, &size));
    dims.push_back(size);
  }
  return dims;
}

inline Shape ParseShape(absl::string_view text) {
  Shape shape;
  std::vector<absl::string_view> parts = absl::StrSplit(text, '|');
  if (parts.size() == 2) shape[RowKind::kBatch] = ParseDims(parts[0]);
  parts = absl::StrSplit(parts.back(), "->");
  if (parts.size() == 2) shape[RowKind::kInput] = ParseDims(parts[0]);
  shape[RowKind::kOutput] = ParseDims(parts.back());
  return shape;
}

// All rows given.
inline ShapeSpec Exactly(absl::string_view text) {
  return SpecOf(ParseShape(text));
}

inline ShapeSpec WithOutput(Dims dims) {
  ShapeSpec spec;
  spec[RowKind::kOutput] = std::move(dims);
  return spec;
}

inline SourceLocation At(int line) {
  return {.file = "a/mlp.cc", .line = line};
}

inline Tensor Zeros(Graph& graph, std::string name, absl::string_view shape) {
  NdArray array(DType::kF32, ParseShape(shape).dims());
  return Data(graph, std::move(name), std::move(array), Exactly(shape), At(1));
}

inline Tensor Weights(Graph& graph, std::string name, ShapeSpec spec) {
  return Param(graph, std::move(name), std::move(spec), DType::kF32, nullptr,
               At(2));
}

// "2|3->4", or the message of the error.
inline std::string InferText(Tensor tensor) {
  Shapes shapes;
  absl::Status status = InferShapes(*tensor.graph, {tensor.id}, shapes);
  if (!status.ok()) return std::string(status.message());
  return ToString(shapes.at(tensor.id));
}

inline std::string ToString(const Indices& indices) {
  return absl::StrJoin(indices, " ", [](std::string* out, const Affine& index) {
    if (index.is_constant()) {
      absl::StrAppend(out, "=", index.offset());
      return;
    }
    Symbol symbol = index.terms()[0].symbol;
    absl::StrAppend(out, symbol.kind == Symbol::kStatic ? "s" : "",
                    symbol.number);
  });
}

// The extents, then the loop of each axis: "=2" is position 2, "s0" a static
// index.
inline std::string ToString(const Projections& projections) {
  std::string text = absl::StrCat(absl::StrJoin(projections.extents, ","),
                                  " : ", ToString(projections.lhs));
  for (const Indices& operand : projections.operands) {
    absl::StrAppend(&text, " <- ", ToString(operand));
  }
  return text;
}

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_TEST_TENSORS_H_
