// SPDX-License-Identifier: Apache-2.0
//
// The flags of train::Fit: what is trained, saved, logged and gone on from.
#ifndef EXPERIMENTS_SUPPORT_FIT_FLAGS_H_
#define EXPERIMENTS_SUPPORT_FIT_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {

// --dtype, of what the network computes in. Error: it is not a float of 32 bits
// or fewer.
Flag DTypeFlag();
absl::StatusOr<DType> DTypeOf(const CommandLine& line);

// --log.
Flag LogFlag();

// --load, --save, --epochs_now, --checkpoints with its own and the interval
// between them; --log.
const std::vector<Flag>& SavingFlags();

// The options of SavingFlags, and of --epochs, --seed, --dtype and --verbose.
// Errors: values out of range.
absl::Status SetFitOptions(const CommandLine& line, train::FitOptions& options);

// The flags of these names, as the line gives them.
std::vector<train::FitSetting> SettingsOf(const CommandLine& line,
                                          absl::Span<const std::string> names);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_FIT_FLAGS_H_
