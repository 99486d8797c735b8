// SPDX-License-Identifier: Apache-2.0
//
// ErrorText: what all errors of one inference show, around what ShapeErrors
// says is wrong: the operation, the shapes as far as they are known, and what
// else determines them.
#ifndef OCANNL_CORE_SHAPE_ERROR_TEXT_H_
#define OCANNL_CORE_SHAPE_ERROR_TEXT_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// What is known of a row: nothing, or its sizes, of which 0 is unknown.
using KnownRow = std::function<std::optional<Dims>(RowRef)>;

// What a message calls the tensor: its name, or the text that made it.
std::string Label(const TensorNode& node);

// "2,?,3", or "empty".
std::string DimsText(const Dims& dims);

class ErrorText {
 public:
  ErrorText(const Graph& graph, const Rules& rules, KnownRow row)
      : graph_(graph), rules_(rules), row_(std::move(row)) {}

 protected:
  std::string RowText(RowRef row) const;
  std::string RowWithName(RowRef row) const;
  // With the shapes of `tensors`, and what else determines `rows`.
  absl::Status Error(TensorId node, const std::string& contradiction,
                     absl::Span<const TensorId> tensors,
                     absl::Span<const RowRef> rows,
                     const std::string& hint) const;

  const Graph& graph_;
  const Rules& rules_;
  KnownRow row_;

 private:
  std::string ShapeText(TensorId id) const;
  std::string PlaceText(TensorId node, TensorId tensor) const;
  std::string Origins(TensorId node, absl::Span<const RowRef> rows) const;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_ERROR_TEXT_H_
