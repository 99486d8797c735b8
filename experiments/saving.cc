// SPDX-License-Identifier: Apache-2.0
#include "experiments/saving.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/train/checkpoint/checkpoint.h"

namespace ocannl {

const std::vector<Flag>& SavingFlags() {
  static const auto* flags = new std::vector<Flag>{
      {"load", "", "the parameters to start from, a file of --save"},
      {"save", "",
       "where to keep the trained parameters: a file .npz, which NumPy "
       "reads, or .safetensors; Ctrl-C ends the training and keeps them too"}};
  return *flags;
}

absl::StatusOr<History> TrainAndSave(
    const CommandLine& line, Routine& step,
    absl::FunctionRef<absl::StatusOr<History>()> train) {
  const std::vector<Array> state = train::StateArrays({&step.program()});
  const std::string load = UserPath(line.GetString("load"));
  const std::string save = UserPath(line.GetString("save"));
  std::optional<StopSignals> signals;
  if (!save.empty()) {
    OCANNL_RETURN_IF_ERROR(train::CheckSavable(save));
    signals.emplace();
  }
  if (!load.empty()) {
    OCANNL_RETURN_IF_ERROR(train::RestoreParams(load, state, step.context()));
  }
  absl::StatusOr<History> history = train();
  const bool stopped = absl::IsCancelled(history.status());
  if (save.empty() || (!history.ok() && !stopped)) return history;
  OCANNL_RETURN_IF_ERROR(train::SaveParams(save, state, step.context()));
  if (!stopped) return history;
  return absl::CancelledError(absl::StrCat(history.status().message(), "; ",
                                           save, " has what was trained"));
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  return absl::IsCancelled(status) ? 128 + StopSignals::received() : 1;
}

}  // namespace ocannl
