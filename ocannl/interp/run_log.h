// SPDX-License-Identifier: Apache-2.0
//
// RunLog: what each statement of a run did, as text. Of the example in loop.h:
//
//   dot (i1 = 7):
//     in x : f32[80, 4];
//     in y : f32[4];
//     out z : f32[1];
//   COMMENT: z =: x * y
//   # zero_out z;
//   z: 1 cells = 0
//   # z[0] := fma(x[i1, i2], y[i2], z[0]);
//   z[0]{=0} = 1.5 = fma(x[7, 0]{=3}, y[0]{=0.5}, z[0]{=0})
//   z[0]{=1.5} = 2 = fma(x[7, 1]{=2}, y[1]{=0.25}, z[0]{=1.5})
//
// A statement follows a `#` if another statement came before it. `{=unset}` is
// a cell of an `out`, temp or private buffer that this run has not written: its
// value is undefined and may differ in each run. Nothing else in the log
// differs: it has no addresses and no times.
#ifndef OCANNL_INTERP_RUN_LOG_H_
#define OCANNL_INTERP_RUN_LOG_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/interp/observer.h"

namespace ocannl::interp {

class RunLog : public RunObserver {
 public:
  // Replaces the file `path`, which has all of a run when it ended. Of each run
  // only the first `most_lines` are written, and the number of the others.
  // Errors, here and of the runs, name the path and the system's reason.
  static absl::StatusOr<std::unique_ptr<RunLog>> Open(const std::string& path,
                                                      int64_t most_lines);
  ~RunLog() override;

  absl::Status Starts(const RunState& run) override;
  absl::Status Meets(const RunState& run, const Stmt& stmt) override;
  absl::Status Stores(const RunState& run, const Stmt& stmt,
                      const Constant& result) override;
  absl::Status Ends() override;

 private:
  RunLog(std::string path, std::FILE* file, int64_t most_lines)
      : path_(std::move(path)), file_(file), most_lines_(most_lines) {}

  // `text` is asked for only where there is room for it.
  void Write(absl::FunctionRef<std::string()> text);
  void ShowStatement(const RunState& run, const Stmt& stmt);

  const std::string path_;
  std::FILE* const file_;
  const int64_t most_lines_;
  // Of the run.
  int64_t lines_ = 0;
  const Stmt* last_ = nullptr;  // that was shown
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_RUN_LOG_H_
