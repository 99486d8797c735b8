// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "experiments/nets/nets.h"
#include "experiments/nets/sentences.h"
#include "experiments/supervised_main.h"
#include "ocannl/core/base/status_macros.h"

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  return SupervisedMain(
      {.name = "gpt2_mini",
       .what = "Trains transformer blocks, letter by letter, on a small "
               "grammar's sentences.",
       .examples = 2000,
       .options = {.epochs = 3, .batch_size = 10},
       .flags = {{"length", "64", "letters of a sequence"},
                 {"layers", "4", "transformer blocks"},
                 {"size", "128", "of a letter's vector: 32 to a head"}}},
      [](const CommandLine& line, int64_t examples,
         uint32_t seed) -> absl::StatusOr<Task> {
        Gpt2MiniOptions options{.vocabulary = kLetters, .length = 0};
        OCANNL_ASSIGN_OR_RETURN(options.length, line.GetInt("length", 1, 4096));
        OCANNL_ASSIGN_OR_RETURN(options.layers, line.GetInt("layers", 1, 96));
        OCANNL_ASSIGN_OR_RETURN(options.size, line.GetInt("size", 1, 16384));
        options.heads = std::max<int64_t>(options.size / 32, 1);
        return Task{
            .lessons = LetterLessons(examples, 200, options.length, seed),
            .net = Gpt2Mini(options)};
      },
      argc, argv);
}
