// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the notation: 0.5, 2:i64, inf. Without a dtype they adapt to the
// tensors beside them.
#ifndef OCANNL_CORE_NOTATION_NUMBER_H_
#define OCANNL_CORE_NOTATION_NUMBER_H_

#include <cmath>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

// Takes the digits of the number that is next, without the `_` between them:
// 1_000. Error: another token, where `what` stands.
absl::StatusOr<std::string> TakeDigits(Lexer& lexer, absl::string_view what);

// Takes the number that is next, behind the `sign` "" or "-", which is at
// `offset`, and adds it to the graph. Error, at `offset`: its dtype cannot hold
// it.
absl::StatusOr<Tensor> TakeNumber(Lexer& lexer, absl::string_view sign,
                                  size_t offset, Graph& graph,
                                  SourceLocation where);

// Whether it is an integer of at most 2^53: beyond it doubles skip some.
inline bool IsWholeNumber(double value) {
  return std::abs(value) <= 0x1p53 && std::trunc(value) == value;
}

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_NUMBER_H_
