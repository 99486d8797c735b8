// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/dtype_flag.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace ocannl {

// Those that ComputeDType makes f32.
constexpr char kNetworkDTypes[] = "f32, bf16, f16, f8e4m3 or f8e5m2";

Flag DTypeFlag() {
  return {"dtype", "f32", absl::StrCat(kNetworkDTypes, "; parameters are f32")};
}

absl::StatusOr<DType> DTypeOf(const CommandLine& line) {
  const std::string text = line.GetString("dtype");
  const std::optional<DType> dtype = FindDType(text);
  if (dtype && ComputeDType(*dtype) == DType::kF32) return *dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("--dtype=", text, " is no float of 32 bits or fewer; take ",
                   kNetworkDTypes));
}

}  // namespace ocannl
