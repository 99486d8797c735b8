// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/nets.h"
#include "experiments/nets/pictures.h"
#include "experiments/supervised_main.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "lenet",
       .what = "Trains LeNet on digits that are drawn by code.",
       .examples = 4000,
       .options = {.epochs = 5}},
      [](const CommandLine&, int64_t examples,
         uint32_t seed) -> absl::StatusOr<Task> {
        return Task{.lessons = DrawnDigits(examples, 1000, seed),
                    .net = LeNetOf()};
      },
      argc, argv);
}
