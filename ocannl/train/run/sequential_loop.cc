// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/sequential_loop.h"

#include <cstdint>
#include <optional>

#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {

absl::Status SequentialLoop(absl::Span<const StaticRef> statics,
                            absl::FunctionRef<absl::Status()> f) {
  if (statics.empty()) return f();
  StaticRef index = statics[0];
  absl::Span<const StaticRef> inner = statics.subspan(1);
  if (!index.range()) return SequentialLoop(inner, f);
  std::optional<int64_t> before = index.value();
  absl::Status status;
  for (int64_t k = 0; k < *index.range() && status.ok(); ++k) {
    OCANNL_RETURN_IF_ERROR(index.Set(k));
    status = SequentialLoop(inner, f);
  }
  if (before) OCANNL_RETURN_IF_ERROR(index.Set(*before));
  return status;
}

}  // namespace ocannl::train
