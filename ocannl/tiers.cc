// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers.h"

#include "absl/strings/str_cat.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl {

absl::StatusOr<const Backend*> FindTier(absl::string_view name) {
  static const auto* interp = new interp::InterpBackend();
  if (name == "interp" || name == "auto") return interp;
  if (name == "all") {
    return absl::UnimplementedError(
        "tier all compares the tiers bit by bit, but this binary has only the "
        "interpreter; use --tier=interp");
  }
  if (name == "x86" || name == "cuda") {
    return absl::UnimplementedError(absl::StrCat(
        "tier ", name, " is not part of this binary, which has only the ",
        "interpreter; use --tier=interp"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "no tier ", name, "; the tiers are interp, x86, cuda, auto and all"));
}

}  // namespace ocannl
