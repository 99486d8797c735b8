// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/option_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/number_text.h"

namespace ocannl::train {
namespace {

absl::Status Check(bool fits, absl::string_view option, double value,
                   absl::string_view range) {
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is ", NumberText(value), "; it must be ", range));
}

}  // namespace

absl::Status CheckAboveZero(absl::string_view option, double value) {
  return Check(value > 0 && std::isfinite(value), option, value,
               "finite and above 0");
}

absl::Status CheckNotNegative(absl::string_view option, double value) {
  return Check(value >= 0 && std::isfinite(value), option, value,
               "finite and not negative");
}

absl::Status CheckFraction(absl::string_view option, double value) {
  return Check(value >= 0 && value < 1, option, value, "in [0, 1)");
}

absl::Status CheckGiven(absl::string_view function,
                        absl::Span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (argument.is_given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", argument.name, " is null; ", function, " needs it"));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
