// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/run_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/open_file.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/ops/print.h"

namespace ocannl::interp {
namespace {

// x[2, 0]{=0.5}
std::string WithValue(const RunState& run, const LeafValue& leaf) {
  const std::optional<Constant> value = run.Read(leaf);
  return absl::StrCat(TextOf(run, leaf),
                      "{=", value ? PrintConstant(*value) : "unset", "}");
}

// A local that is declared has no value before.
std::string Target(const RunState& run, const Stmt& stmt) {
  return std::holds_alternative<DeclareLocal>(stmt)
             ? TextOf(run, TargetOf(run.program(), stmt))
             : WithValue(run, TargetOf(run.program(), stmt));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunLog>> RunLog::Open(const std::string& path,
                                                     int64_t most_lines) {
  OCANNL_ASSIGN_OR_RETURN(const OpenFile opened,
                          OpenFile::OpenOutput(path, O_TRUNC));
  const int fd = fcntl(opened.fd(), F_DUPFD_CLOEXEC, 0);  // the stream's own
  std::FILE* const file = fd < 0 ? nullptr : fdopen(fd, "wb");
  if (file == nullptr) {
    const absl::Status failed = SystemError("open", path);
    if (fd >= 0) close(fd);
    return failed;
  }
  return std::unique_ptr<RunLog>(new RunLog(path, file, most_lines));
}

RunLog::~RunLog() { std::fclose(file_); }

void RunLog::Write(absl::FunctionRef<std::string()> text) {
  if (++lines_ > most_lines_) return;
  std::fputs((text() + "\n").c_str(), file_);
}

void RunLog::ShowStatement(const RunState& run, const Stmt& stmt) {
  if (std::exchange(last_, &stmt) == &stmt) return;
  Write([&] {
    std::string text = PrintStmt(run.program(), stmt, /*depth=*/0);
    text.pop_back();  // the end of the line
    return absl::StrCat("# ", text);
  });
}

absl::Status RunLog::Starts(const RunState& run) {
  const LoopProgram& program = run.program();
  lines_ = 0;
  last_ = nullptr;
  Write([&] {
    std::vector<std::string> statics;
    for (size_t k = 0; k < program.statics.size(); ++k) {
      statics.push_back(
          absl::StrCat(program.statics[k].name, " = ", run.statics()[k]));
    }
    return absl::StrCat(program.name, " (", absl::StrJoin(statics, ", "), "):");
  });
  for (const Buffer& buffer : program.buffers) {
    Write([&] {
      return absl::StrCat("  ", WordOf(buffer.role), " ", buffer.name, " : ",
                          Name(buffer.dtype), "[",
                          absl::StrJoin(buffer.dims, ", "), "];");
    });
  }
  return absl::OkStatus();
}

absl::Status RunLog::Meets(const RunState& run, const Stmt& stmt) {
  if (const auto* comment = std::get_if<Comment>(&stmt)) {
    last_ = &stmt;
    Write([&] { return absl::StrCat("COMMENT: ", comment->text); });
    return absl::OkStatus();
  }
  ShowStatement(run, stmt);
  Write([&] {
    const Buffer& zeroed =
        run.program().buffers[std::get<ZeroOut>(stmt).buffer];
    return absl::StrCat(zeroed.name, ": ", NumElements(zeroed.dims),
                        " cells = 0");
  });
  return absl::OkStatus();
}

absl::Status RunLog::Stores(const RunState& run, const Stmt& stmt,
                            const Constant& result) {
  ShowStatement(run, stmt);
  Write([&] {
    const LoopProgram& program = run.program();
    return absl::StrCat(
        Target(run, stmt), " = ", PrintConstant(result), " = ",
        PrintExpr(program.exprs, *ValueOf(stmt), [&](const Leaf& leaf) {
          return WithValue(run, program.At(leaf));
        }));
  });
  return absl::OkStatus();
}

absl::Status RunLog::Ends() {
  if (lines_ > most_lines_) {
    std::fprintf(file_, "... and %lld more lines\n",
                 static_cast<long long>(lines_ - most_lines_));
  }
  std::fputs("\n", file_);
  const bool failed_before = std::ferror(file_) != 0;
  if (std::fflush(file_) == 0 && !failed_before) return absl::OkStatus();
  // What errno says may be about something else by now.
  return absl::ErrnoToStatus(failed_before ? EIO : errno,
                             absl::StrCat("cannot write ", path_));
}

}  // namespace ocannl::interp
