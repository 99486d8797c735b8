// SPDX-License-Identifier: Apache-2.0
//
// Hands the error of a called function to one's own caller.
//
//   absl::StatusOr<int> Area(const Box& box) {
//     OCANNL_RETURN_IF_ERROR(Validate(box));
//     OCANNL_ASSIGN_OR_RETURN(const int width, Width(box));
//     return width * box.height;
//   }

#ifndef OCANNL_CORE_BASE_STATUS_MACROS_H_
#define OCANNL_CORE_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status that the expression yields, unless it is OK.
#define OCANNL_RETURN_IF_ERROR(...)                                    \
  do {                                                                 \
    absl::Status ocannl_status = (__VA_ARGS__);                        \
    if (ABSL_PREDICT_FALSE(!ocannl_status.ok())) return ocannl_status; \
  } while (false)

// Assigns the value of a StatusOr expression to `lhs`, which may declare a
// variable, or returns its error. Expands to several statements: brace it when
// it is the body of an `if`. A `lhs` with a comma in it does not work.
#define OCANNL_ASSIGN_OR_RETURN(lhs, ...)                                     \
  OCANNL_ASSIGN_OR_RETURN_AS(OCANNL_CONCATENATE(ocannl_status_or_, __LINE__), \
                             lhs, __VA_ARGS__)

#define OCANNL_ASSIGN_OR_RETURN_AS(status_or, lhs, ...) \
  auto status_or = (__VA_ARGS__);                       \
  if (ABSL_PREDICT_FALSE(!status_or.ok())) {            \
    return std::move(status_or).status();               \
  }                                                     \
  lhs = *std::move(status_or)

// Two steps, so that `b` is expanded before it is pasted.
#define OCANNL_CONCATENATE(a, b) OCANNL_PASTE(a, b)
#define OCANNL_PASTE(a, b) a##b

#endif  // OCANNL_CORE_BASE_STATUS_MACROS_H_
