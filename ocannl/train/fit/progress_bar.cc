// SPDX-License-Identifier: Apache-2.0
//
// Eight block characters of growing width give a bar eight steps per cell.

#include "ocannl/train/fit/progress_bar.h"

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"

namespace ocannl::train {

std::string ProgressBar(absl::string_view label, int64_t done, int64_t total,
                        int width) {
  CHECK(total > 0 && done >= 0 && done <= total) << done << " of " << total;
  static constexpr absl::string_view kEighths[8] = {"",  "▏", "▎", "▍",
                                                    "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(done * 8 * width / total);
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) absl::StrAppend(&bar, "█");
  absl::StrAppend(&bar, kEighths[eighths % 8]);
  const int used = (eighths + 7) / 8;
  const int digits = static_cast<int>(absl::StrCat(total).size());
  return absl::StrFormat("%s %*d/%d ▕%s%*s▏%4d%%", label, digits, done, total,
                         bar, width - used, "", done * 100 / total);
}

std::string TimeLeft(int64_t done, int64_t total, double seconds) {
  if (done == 0 || seconds <= 0) return "";
  const double rate = static_cast<double>(done) / seconds;
  const auto left =
      static_cast<int64_t>(std::ceil(static_cast<double>(total - done) / rate));
  const std::string minutes =
      left < 3600 ? absl::StrCat(left / 60)
                  : absl::StrFormat("%d:%02d", left / 3600, left / 60 % 60);
  return absl::StrFormat("%.*f/s, %s:%02d left", rate < 10 ? 2 : 0, rate,
                         minutes, left % 60);
}

void ShowProgress(absl::string_view bar) {
  if (!isatty(STDERR_FILENO)) return;
  // Back to the first column, and after the bar clear what a longer one left.
  absl::FPrintF(stderr, "\r%s\x1b[K", bar);
  std::fflush(stderr);
}

}  // namespace ocannl::train
