// SPDX-License-Identifier: Apache-2.0
//
// Whole files as strings.
//
//   OCANNL_RETURN_IF_ERROR(WriteFile("loss.svg", SvgLinePlot(loss)));
#ifndef OCANNL_CORE_BASE_FILE_H_
#define OCANNL_CORE_BASE_FILE_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// NotFound, unless `path` is an ordinary file: pipes and devices may never end.
// The message asks for `what`: "a .npy file".
absl::Status CheckOrdinaryFile(const std::string& path, absl::string_view what);

// The bytes of an ordinary file, or of a pipe that a shell has opened, such as
// /dev/stdin, up to kMostTextBytes. Errors name the path and the system's
// reason, or what it is: what may never come or never end is not read.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Likewise what people write, and no more than kMostTextBytes of it: a program,
// a script.
inline constexpr size_t kMostTextBytes = size_t{1} << 24;
absl::StatusOr<std::string> ReadText(const std::string& path);

// Replaces the file. Errors name the path and the system's reason, or what it
// is, unless it is an ordinary file.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Likewise the file `name` of the directory. For names that the user has not
// given: a link of that name, which somebody else may have put there, is an
// error.
absl::Status WriteFileIn(const std::string& directory, const std::string& name,
                         absl::string_view contents);

// Replaces the file by the one that `write` makes in a directory beside it,
// whose path it is given. The file is the old one or the new one, whole,
// whenever somebody looks, and after a loss of power; it stays the old one on
// an error. What such calls of processes that were killed have left is deleted.
// Errors name the path and the system's reason.
absl::Status ReplaceFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(const std::string& other)> write);

// Whether ReplaceFile can begin. Errors: as of it; what is at `path` is no
// ordinary file.
absl::Status CheckReplaceable(const std::string& path);

// Makes the directory, and those above it, unless it is there. Errors likewise.
absl::Status MakeDirectory(const std::string& path);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_FILE_H_
