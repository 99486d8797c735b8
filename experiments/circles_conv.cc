// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/nets.h"
#include "experiments/nets/pictures.h"
#include "experiments/supervised_main.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "circles_conv",
       .what = "Trains LeNet to count the discs in pictures that are drawn by "
               "code.",
       .examples = 12000,
       .options = {.epochs = 15,
                   .rate = 4e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true}},
      [](const CommandLine&, int64_t examples,
         uint32_t seed) -> absl::StatusOr<Task> {
        return Task{.lessons = DrawnCircles(examples, 1000, seed),
                    .net = LeNetOf({.classes = kMostCircles})};
      },
      argc, argv);
}
