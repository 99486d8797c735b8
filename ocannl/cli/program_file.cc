// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/program_file.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/onnx/import.h"

namespace ocannl {
namespace {

absl::StatusOr<ProgramFile> ParseFile(const std::string& path,
                                      absl::string_view text) {
  ProgramFile file;
  if (absl::EndsWith(path, ".cd")) {
    OCANNL_ASSIGN_OR_RETURN(file.code, ParseCd(text));
    absl::StatusOr<LoopProgram> program = LowerToRun(*file.code);
    if (absl::IsFailedPrecondition(program.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat(program.status().message(),
                       "; an input is declared as in x : f32[3] on_device "
                       "\"by hand\";"));
    }
    OCANNL_ASSIGN_OR_RETURN(file.program, std::move(program));
    OCANNL_RETURN_IF_ERROR(Verify(file.program));
  } else {
    OCANNL_ASSIGN_OR_RETURN(file.program, ParseVerified(text, VerifyPromises));
  }
  return file;
}

bool IsOnnxFile(absl::string_view path) {
  return absl::EndsWith(path, ".onnx");
}

// --dim=NAME=SIZE. Exporters name dimensions as they like: "batch size".
absl::StatusOr<std::map<std::string, int64_t>> DimsOf(const CommandLine& line) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : line.GetAll("dim")) {
    const size_t at = text.rfind('=');
    int64_t size = 0;
    if (at == 0 || at == std::string::npos ||
        !absl::SimpleAtoi(text.substr(at + 1), &size)) {
      return UserError("--dim=", text, ": write --dim=NAME=SIZE, as in ",
                       "--dim=batch=1");
    }
    dims[text.substr(0, at)] = size;
  }
  return dims;
}

absl::StatusOr<ProgramFile> ReadOnnx(const CommandLine& line,
                                     const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const auto dims, DimsOf(line));
  OCANNL_ASSIGN_OR_RETURN(onnx::ImportedModel net,
                          onnx::ImportFile(UserPath(path), {.dims = dims}));
  ProgramFile file;
  OCANNL_ASSIGN_OR_RETURN(file.code, onnx::ForwardOfFile(net));
  OCANNL_ASSIGN_OR_RETURN(file.program, LowerToRun(*file.code));
  OCANNL_RETURN_IF_ERROR(Verify(file.program));
  return file;
}

}  // namespace

bool IsProgramFile(absl::string_view path) {
  return absl::EndsWith(path, ".ll") || absl::EndsWith(path, ".cd") ||
         IsOnnxFile(path);
}

absl::Status WithSource(const absl::Status& status, absl::string_view text) {
  constexpr size_t kWidth = 78;
  const std::string message(status.message());
  size_t number;
  size_t column;
  if (std::sscanf(message.c_str(), "line %zu, column %zu:", &number, &column) !=
      2) {
    return status;
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (number < 1 || number > lines.size()) return status;
  std::string line = absl::StrCat(lines[number - 1], " ");  // for its end
  if (column < 1 || column > line.size()) return status;
  // The column counts bytes, the caret characters: each becomes one byte.
  size_t at = 0;
  std::string ascii;
  for (size_t k = 0; k < line.size();) {
    if (k < column) at = ascii.size();
    const bool is_print = absl::ascii_isprint(line[k]);
    ascii += is_print ? line[k] : absl::ascii_isspace(line[k]) ? ' ' : '?';
    k += std::max<size_t>(1, CharacterSize(absl::string_view(line).substr(k)));
  }
  line = ascii;
  if (line.size() > kWidth) {
    const size_t first =
        std::min(at - std::min(at, kWidth / 2), line.size() - kWidth);
    const bool goes_on = first + kWidth < line.size();
    line = line.substr(first, kWidth);
    if (first > 0) line.replace(0, 3, "...");
    if (goes_on) line.replace(kWidth - 3, 3, "...");
    at -= first;
  }
  absl::StripTrailingAsciiWhitespace(&line);
  if (line.empty()) return status;
  return absl::Status(status.code(), absl::StrCat(message, "\n  ", line, "\n  ",
                                                  std::string(at, ' '), "^"));
}

absl::StatusOr<ProgramFile> ReadProgram(const CommandLine& line,
                                        const std::string& path) {
  if (IsOnnxFile(path)) return ReadOnnx(line, path);
  if (line.Has("dim")) {
    return UserError("--dim is for FILE.onnx, but ", path, " is another file");
  }
  const absl::StatusOr<std::string> text = ReadText(UserPath(path));
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        text.status().message(),
        IsProgramFile(path)
            ? "; give the path of a .cd or .ll file"
            : "; a program is FILE.cd, FILE.ll or FILE.onnx, and `eval` takes "
              "an expression"));
  }
  OCANNL_RETURN_IF_ERROR(text.status());
  absl::StatusOr<ProgramFile> file = ParseFile(path, *text);
  if (file.ok()) return file;
  return UserError(path, ": ", WithSource(file.status(), *text).message());
}

}  // namespace ocannl
