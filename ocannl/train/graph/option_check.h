// SPDX-License-Identifier: Apache-2.0
//
// Checks of what users give: numbers as options, of which the errors name the
// option, its value and its range, and arguments that must not be null.
#ifndef OCANNL_TRAIN_GRAPH_OPTION_CHECK_H_
#define OCANNL_TRAIN_GRAPH_OPTION_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl::train {

absl::Status CheckAboveZero(absl::string_view option, double value);
absl::Status CheckNotNegative(absl::string_view option, double value);
// In [0, 1).
absl::Status CheckFraction(absl::string_view option, double value);

// An argument of a function, and whether the caller gave one.
struct Argument {
  absl::string_view name;
  bool is_given;
};

//   OCANNL_RETURN_IF_ERROR(
//       CheckGiven("Train", {{"backend", backend != nullptr}}));
//
// Error: "the backend is null; Train needs it".
absl::Status CheckGiven(absl::string_view function,
                        absl::Span<const Argument> arguments);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_OPTION_CHECK_H_
