// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/params_hash.h"

#include <xxhash.h>

#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/number.h"

namespace ocannl::train {
namespace {

void MakeNansEqual(NdArray& array) {
  VisitDType(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T> || kIsNarrow<T>) {
      for (T& value : array.values<T>()) {
        if (!std::isnan(static_cast<double>(value))) continue;
        value = number::Convert<T>(std::numeric_limits<double>::quiet_NaN());
      }
    }
  });
}

}  // namespace

absl::StatusOr<std::string> ParamsHash(const Context& context,
                                       absl::Span<const Tensor> parameters) {
  auto free = [](XXH64_state_t* state) { XXH64_freeState(state); };
  std::unique_ptr<XXH64_state_t, decltype(free)> state(XXH64_createState(),
                                                       free);
  CHECK(state != nullptr);
  XXH64_reset(state.get(), 0);
  for (Tensor p : parameters) {
    OCANNL_ASSIGN_OR_RETURN(NdArray array, context.Read(p.node().name));
    MakeNansEqual(array);
    std::string head = absl::StrCat(p.node().name, ":", Name(array.dtype()),
                                    "[", absl::StrJoin(array.dims(), ","), "]");
    XXH64_update(state.get(), head.data(), head.size());
    XXH64_update(state.get(), array.data(), array.bytes());
  }
  return absl::StrFormat("%016x", XXH64_digest(state.get()));
}

}  // namespace ocannl::train
