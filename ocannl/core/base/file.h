// SPDX-License-Identifier: Apache-2.0
//
// Whole files as strings.
//
//   OCANNL_RETURN_IF_ERROR(WriteFile("loss.svg", SvgLinePlot(loss)));
#ifndef OCANNL_CORE_BASE_FILE_H_
#define OCANNL_CORE_BASE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// The bytes of the file. Errors name the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Replaces the file. Errors name the path and the system's reason.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Makes the directory, and those above it, unless it is there. Errors likewise.
absl::Status MakeDirectory(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_FILE_H_
