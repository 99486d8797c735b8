// SPDX-License-Identifier: Apache-2.0
//
// The flags of train::Fit: what is trained, saved, logged and gone on from; and
// its result.
#ifndef EXPERIMENTS_SUPPORT_FIT_FLAGS_H_
#define EXPERIMENTS_SUPPORT_FIT_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/train/data/data_limit.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {

// --dtype, of what the network computes in. Error: it is not a float of 32 bits
// or fewer.
absl::StatusOr<DType> DTypeOf(const CommandLine& line);

// --log.
Flag LogFlag();

// --verbose, true or false, or 2 for a line a batch: it says to tell `what`.
Flag VerboseFlag(absl::string_view what);
// 0, 1 or 2. Error: it is none of the three.
absl::StatusOr<int> VerbosityOf(const CommandLine& line);

// --dtype, --plot_dir and --explain; --load, --save, --epochs_now,
// --checkpoints and the interval between them; --log.
std::vector<Flag> FitFlags();

// The options of FitFlags, and of --epochs, --seed, --dtype and --verbose.
// Errors: values out of range.
absl::Status SetFitOptions(const CommandLine& line, train::FitOptions& options);

// --data_limit, of experiments that read files of others.
Flag DataLimitFlag();
absl::StatusOr<train::DataLimit> DataLimitOf(const CommandLine& line);

// The flags of these names, as the line gives them: `data` names examples.
std::vector<train::FitSetting> SettingsOf(const CommandLine& line,
                                          absl::Span<const std::string> names);

// Tells what each experiment tells of a training, and then `measures`, in the
// last line of stdout: RESULT and a JSON object. Before it --explain and after
// it --tier_report, of the loops that the steps ran in.
absl::Status TellResult(const CommandLine& line,
                        const train::FitOptions& options,
                        const train::Fitted& fitted,
                        const train::Measures& measures);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_FIT_FLAGS_H_
