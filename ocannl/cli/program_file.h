// SPDX-License-Identifier: Apache-2.0
//
// Programs from disk, and errors about texts with the line that they are about.
#ifndef OCANNL_CLI_PROGRAM_FILE_H_
#define OCANNL_CLI_PROGRAM_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// An error "line 2, column 5: ..." about `text`, with that line behind it, cut
// where it is wider than a terminal, and a caret below the place. Others stay.
absl::Status WithSource(const absl::Status& status, absl::string_view text);

// What a file has: a program, or the code that one is made of.
struct ProgramFile {
  LoopProgram program;
  std::optional<Assignments> code = std::nullopt;  // not of FILE.ll
};

// The contents of FILE.ll, FILE.cd or FILE.onnx, valid. The free dimensions of
// the latter have the sizes of --dim. Errors name the file.
absl::StatusOr<ProgramFile> ReadProgram(const CommandLine& line,
                                        const std::string& path);

// Whether `path` names such a file.
bool IsProgramFile(absl::string_view path);

}  // namespace ocannl

#endif  // OCANNL_CLI_PROGRAM_FILE_H_
