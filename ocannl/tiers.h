// SPDX-License-Identifier: Apache-2.0
//
// The tiers of this binary by name, as flags choose them.
#ifndef OCANNL_TIERS_H_
#define OCANNL_TIERS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

// The backend of tier `name`: "interp", or "auto" for the best there is. It
// lives as long as the program. Error: a tier that is unknown or not in this
// binary; the message says which and why.
absl::StatusOr<const Backend*> FindTier(absl::string_view name);

}  // namespace ocannl

#endif  // OCANNL_TIERS_H_
