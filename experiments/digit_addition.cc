// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "experiments/nets/digit_pairs.h"
#include "experiments/nets/image_files.h"
#include "experiments/nets/nets.h"
#include "experiments/supervised_main.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/status_macros.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "digit_addition",
       .what =
           "Trains a network on pairs of scanned digits, told only their sum.",
       .examples = 8000,
       .options = {.epochs = 15,
                   .rate = 1e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true},
       .flags = {{"data", "",
                  "images, " + ImageEnds() + "; else scikit-learn's"},
                 DataLimitFlag()}},
      [](const CommandLine& line, int64_t examples,
         uint32_t seed) -> absl::StatusOr<Task> {
        const std::string data = UserPath(line.GetString("data"));
        OCANNL_ASSIGN_OR_RETURN(const train::DataLimit limit,
                                DataLimitOf(line));
        OCANNL_ASSIGN_OR_RETURN(
            const Lessons digits,
            LoadImages(data.empty() ? kSklearnDigits : data, seed, limit));
        return Task{.lessons = PairsOf(digits, examples, 1000, seed),
                    .net = DigitSum({.channels = {16, 32},
                                     .hidden = 64,
                                     .classes = digits.classes})};
      },
      argc, argv);
}
