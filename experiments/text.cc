// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "experiments/nets/letters.h"
#include "experiments/nets/nets.h"
#include "experiments/supervised_main.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr int64_t kShown = 400;  // letters

// What the texts have, for those who show what was learned of them.
struct Learned {
  std::optional<Alphabet> alphabet;
  std::string prompt;  // as long as the sequences
};

absl::StatusOr<train::Measures> Show(train::Fitted& trained,
                                     const Learned& learned) {
  Shape shape;
  shape[RowKind::kBatch] = {1, static_cast<int64_t>(learned.prompt.size())};
  OCANNL_ASSIGN_OR_RETURN(
      const std::string text,
      Write(trained, *learned.alphabet, shape, learned.prompt, kShown));
  std::cout << text << "\n";
  return train::Measures{};
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  auto learned = std::make_shared<Learned>();
  return SupervisedMain(
      {.name = "text",
       .what = "Trains a transformer on Debian's licences, and prints what it "
               "writes.",
       .examples = 8000,
       .options = {.epochs = 6,
                   .batch_size = 16,
                   .rate = 3e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true},
       .flags = {{"data", "",
                  "a folder of texts, --data_limit MiB; else the licences"},
                 {"length", "64", "letters of a sequence"},
                 {"size", "96", "of the vector of a letter, in each block"}},
       // The help of --data tells of it: that of all fits a terminal.
       .other_flags = {{"data_limit", "0", ""}},
       .show = [=](train::Fitted& trained) { return Show(trained, *learned); }},
      [=](const CommandLine& line, int64_t examples,
          uint32_t seed) -> absl::StatusOr<Task> {
        const std::string data = UserPath(line.GetString("data"));
        OCANNL_ASSIGN_OR_RETURN(const train::DataLimit limit,
                                DataLimitOf(line));
        OCANNL_ASSIGN_OR_RETURN(
            const std::string text,
            LoadTexts(data.empty() ? kLicences : data, limit));
        learned->alphabet.emplace(text);
        Gpt2MiniOptions options{
            .vocabulary = learned->alphabet->size(), .length = 0, .layers = 3};
        OCANNL_ASSIGN_OR_RETURN(options.length, line.GetInt("length", 1, 4096));
        OCANNL_ASSIGN_OR_RETURN(options.size, line.GetInt("size", 4, 16384));
        learned->prompt = text.substr(0, options.length);
        OCANNL_ASSIGN_OR_RETURN(Lessons lessons,
                                TextLessons(text, *learned->alphabet, examples,
                                            options.length, seed));
        return Task{.lessons = std::move(lessons), .net = Gpt2Mini(options)};
      },
      argc, argv);
}
