// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/nets.h"
#include "experiments/nets/pictures.h"
#include "experiments/supervised_main.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "cifar_conv",
       .what = "Trains a convolutional network on colour pictures, of the size "
               "of CIFAR's, that are drawn by code.",
       .examples = 2000,
       .options = {.epochs = 3, .batch_size = 20, .rate = 0.005}},
      [](const CommandLine&, int64_t examples,
         uint32_t seed) -> absl::StatusOr<Task> {
        return Task{.lessons = DrawnPatterns(examples, 500, seed),
                    .net = CifarConv()};
      },
      argc, argv);
}
