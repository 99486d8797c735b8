// SPDX-License-Identifier: Apache-2.0
//
// Checks of numbers that users give as options. The errors name the option, its
// value and its range.
#ifndef OCANNL_TRAIN_OPTION_CHECK_H_
#define OCANNL_TRAIN_OPTION_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ocannl::train {

absl::Status CheckAboveZero(absl::string_view option, double value);
absl::Status CheckNotNegative(absl::string_view option, double value);
// In [0, 1).
absl::Status CheckFraction(absl::string_view option, double value);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_OPTION_CHECK_H_
