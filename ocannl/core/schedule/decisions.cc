// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/decisions.h"

namespace ocannl {

absl::string_view Name(Decision decision) {
  switch (decision) {
#define OCANNL_CASE(name, text) \
  case Decision::k##name:       \
    return text;
    OCANNL_DECISIONS(OCANNL_CASE)
#undef OCANNL_CASE
  }
  __builtin_unreachable();
}

}  // namespace ocannl
