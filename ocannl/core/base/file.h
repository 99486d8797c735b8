// SPDX-License-Identifier: Apache-2.0
//
// Whole files as strings.
//
//   OCANNL_RETURN_IF_ERROR(WriteFile("loss.svg", SvgLinePlot(loss)));
#ifndef OCANNL_CORE_BASE_FILE_H_
#define OCANNL_CORE_BASE_FILE_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// NotFound, unless `path` is an ordinary file: pipes and devices may never end.
// The message asks for `what`: "a .npy file".
absl::Status CheckOrdinaryFile(const std::string& path, absl::string_view what);

// The bytes of the file. Errors name the path and the system's reason.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Replaces the file. Errors name the path and the system's reason.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// What a replaced file survives.
enum class Survives { kKill, kPowerLoss };

// Replaces the file by the one that `write` writes over an empty file beside
// it, whose path it is given. The file is the old one or the new one, whole,
// whenever somebody looks; it stays the old one on an error. Errors name the
// path and the system's reason.
absl::Status ReplaceFile(
    const std::string& path, Survives survives,
    absl::FunctionRef<absl::Status(const std::string& other)> write);

// Makes the directory, and those above it, unless it is there. Errors likewise.
absl::Status MakeDirectory(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_FILE_H_
