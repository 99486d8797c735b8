// SPDX-License-Identifier: Apache-2.0
//
// Expressions of scalars as nodes of an ONNX file.
#ifndef OCANNL_ONNX_EXPORT_TERM_H_
#define OCANNL_ONNX_EXPORT_TERM_H_

#include "absl/types/span.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/onnx/export/file_graph.h"

namespace ocannl::onnx {

// The value of `root`, of whose leaves number k is leaves[k], computed with the
// dtypes of the expression. Values broadcast. Operations that ONNX does not
// have are written with those that it has. Refusal: an operation for which
// there are none, such as a random number.
FileValue WriteTerm(ExprPool& pool, ExprId root,
                    absl::Span<const FileValue> leaves, FileGraph& to);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_TERM_H_
