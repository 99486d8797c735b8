// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "experiments/nets/image_files.h"
#include "experiments/nets/nets.h"
#include "experiments/supervised_main.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/status_macros.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "digits",
       .what = "Trains a small convolutional network on scanned digits.",
       .options = {.epochs = 30,
                   .rate = 2e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true},
       .flags = {{"data", "",
                  "images, " + ImageEnds() + "; else scikit-learn's"}},
       .other_flags = {DataLimitFlag()}},
      [](const CommandLine& line, int64_t,
         uint32_t seed) -> absl::StatusOr<Task> {
        const std::string data = UserPath(line.GetString("data"));
        OCANNL_ASSIGN_OR_RETURN(const train::DataLimit limit,
                                DataLimitOf(line));
        OCANNL_ASSIGN_OR_RETURN(
            Lessons lessons,
            LoadImages(data.empty() ? kSklearnDigits : data, seed, limit));
        const int64_t classes = lessons.classes;
        return Task{
            .lessons = std::move(lessons),
            .net = SmallConv(
                {.channels = {16, 32}, .hidden = 64, .classes = classes})};
      },
      argc, argv);
}
