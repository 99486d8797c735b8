// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/driver.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {

absl::Status DriverFunctions::Check(Result result,
                                    absl::string_view what) const {
  if (result == kSuccess) return absl::OkStatus();
  const char* name = nullptr;
  const char* text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  const std::string message =
      absl::StrCat("CUDA, ", what, ": ", text == nullptr ? "error" : text, " (",
                   name == nullptr ? absl::StrCat(result) : name, ")");
  return result == kOutOfMemory ? absl::ResourceExhaustedError(message)
                                : absl::InternalError(message);
}

absl::StatusOr<DriverFunctions> FindDriver() {
  constexpr char kLibrary[] = "libcuda.so.1";
  // The driver has threads of its own, which outlive what uses it.
  auto library = SharedLibrary::Open(kLibrary, /*stays=*/true);
  if (!library.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "no driver of a GPU: ", library.status().message(), "; ", kLibrary,
        " comes with NVIDIA's driver, and is looked for in "
        "the loader's directories and in LD_LIBRARY_PATH"));
  }
  DriverFunctions driver;
  driver.library = *std::move(library);
#define OCANNL_FIND(name, symbol, parameters)                    \
  driver.name = driver.library->Find<Result parameters>(symbol); \
  if (driver.name == nullptr) {                                  \
    return absl::NotFoundError(                                  \
        absl::StrCat(kLibrary, " has no ", symbol,               \
                     ", which drivers have "                     \
                     "since CUDA 12; install a newer one"));     \
  }
  OCANNL_DRIVER_FUNCTIONS(OCANNL_FIND)
#undef OCANNL_FIND
  return driver;
}

absl::StatusOr<int> NumGpus() {
  OCANNL_ASSIGN_OR_RETURN(const DriverFunctions driver, FindDriver());
  OCANNL_RETURN_IF_ERROR(driver.Check(driver.Init(0), "start of the driver"));
  int count = 0;
  OCANNL_RETURN_IF_ERROR(
      driver.Check(driver.DeviceGetCount(&count), "number of GPUs"));
  return count;
}

}  // namespace ocannl::cuda
