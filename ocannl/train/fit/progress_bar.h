// SPDX-License-Identifier: Apache-2.0
//
// A bar that fills on one line of a terminal while a loop runs.
//
//   for (int epoch = 0; epoch < epochs; ++epoch) {
//     ShowProgress(ProgressBar("epoch", epoch, epochs, /*width=*/40));
//     ...
//   }
//   ShowProgress("");

#ifndef OCANNL_TRAIN_FIT_PROGRESS_BAR_H_
#define OCANNL_TRAIN_FIT_PROGRESS_BAR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ocannl::train {

// "epoch 46/80 ▕██████████▌       ▏  57%", with `width` cells between the
// marks. All bars of one loop have the same length; 100% means that all is
// done. Needs 0 <= done <= total, 0 < total.
std::string ProgressBar(absl::string_view label, int64_t done, int64_t total,
                        int width);

// "4.20/s, 1:05 left", where `done` of `total` took `seconds`; "" where nothing
// is known yet.
std::string TimeLeft(int64_t done, int64_t total, double seconds);

// Writes `bar` over the line where the last one stands, or clears that line if
// it is empty. Does nothing unless stderr is a terminal, so logs stay clean.
void ShowProgress(absl::string_view bar);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_PROGRESS_BAR_H_
