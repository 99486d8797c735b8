// SPDX-License-Identifier: Apache-2.0
//
// MetricsLog: the course of a training as JSON lines.
//
//   {"epoch":2,"step":160,"loss":0.0625,"rate":0.05,"seconds":1.5,"accuracy":1}
//
// One object for each epoch, whole on the disk when the next epoch begins. A
// number that is not finite is null, as JSON has none.
#ifndef OCANNL_TRAIN_FIT_METRICS_LOG_H_
#define OCANNL_TRAIN_FIT_METRICS_LOG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/open_file.h"

namespace ocannl::train {

// Numbers by name: {"accuracy", 0.99}.
using Measures = std::vector<std::pair<std::string, double>>;

struct EpochMetrics {
  int64_t epoch;           // from 1
  int64_t step;            // how many are done
  double loss;             // the mean of the steps of the epoch
  double rate;             // of learning, in the last of them
  double seconds;          // since the training began, of this run
  Measures measures = {};  // of the tests, if they were run after the epoch
};

class MetricsLog {
 public:
  // Replaces the file `path`; of a training that goes on after `epochs` whole
  // epochs, what is there of these stays. Errors name the path, or the
  // `option` that gave it, and the reason.
  static absl::StatusOr<MetricsLog> Open(const std::string& path,
                                         int64_t epochs,
                                         absl::string_view option = "log");

  // Writes a line at once. Error: the system's.
  absl::Status Write(const EpochMetrics& metrics) const;

 private:
  explicit MetricsLog(OpenFile file) : file_(std::move(file)) {}

  OpenFile file_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_METRICS_LOG_H_
