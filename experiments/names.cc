// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/nets/letters.h"
#include "experiments/nets/nets.h"
#include "experiments/supervised_main.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr int64_t kContext = 8;  // letters that the next one depends on
constexpr int kShown = 10;       // names

absl::StatusOr<LetterModel> ModelOf(absl::string_view name) {
  if (name == "bigram") return LetterModel::kBigram;
  if (name == "mlp") return LetterModel::kMlp;
  if (name == "batchnorm") return LetterModel::kBatchNorm;
  if (name == "transformer") return LetterModel::kTransformer;
  return absl::InvalidArgumentError(absl::StrCat(
      "--model=", name, " is none of bigram, mlp, batchnorm, transformer"));
}

// What the names have, and how letters are drawn.
struct Learned {
  std::optional<Alphabet> alphabet;
  train::SampleOptions sample;
};

absl::StatusOr<train::Measures> Show(train::Fitted& trained,
                                     const Learned& learned) {
  Shape shape;
  shape[RowKind::kBatch] = {1};
  shape[RowKind::kOutput] = {kContext};
  size_t width = 0;
  for (int k = 0; k < kShown; ++k) {
    OCANNL_ASSIGN_OR_RETURN(
        const std::string name,
        Write(trained, *learned.alphabet, shape, "", 30, learned.sample, '.'));
    // At most five to a line, and 80 columns.
    const bool begins = k % 5 == 0 || width + 1 + name.size() > 80;
    std::cout << (begins && k > 0 ? "\n" : "") << (begins ? "  " : " ") << name;
    width = begins ? 2 + name.size() : width + 1 + name.size();
  }
  std::cout << "\n";
  return train::Measures{};
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  auto learned = std::make_shared<Learned>();
  return SupervisedMain(
      {.name = "names",
       .what = "Trains a model of the letters of names, and prints names that "
               "it makes up.",
       .options = {.epochs = 5,
                   .batch_size = 64,
                   .rate = 3e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true},
       .flags = {{"model", "transformer", "bigram, mlp, batchnorm or this"},
                 {"data", "",
                  "a list of words, names with capitals; else Debian's"}},
       .other_flags =
           {DataLimitFlag(),
            {"sample", "1",
             "temperature of the letters drawn; ,5: of 5 likeliest"}},
       .show = [=](train::Fitted& trained) { return Show(trained, *learned); }},
      [=](const CommandLine& line, int64_t,
          uint32_t seed) -> absl::StatusOr<Task> {
        const std::string data = UserPath(line.GetString("data"));
        OCANNL_ASSIGN_OR_RETURN(const train::DataLimit limit,
                                DataLimitOf(line));
        OCANNL_ASSIGN_OR_RETURN(const LetterModel model,
                                ModelOf(line.GetString("model")));
        OCANNL_ASSIGN_OR_RETURN(
            const std::vector<std::string> names,
            LoadNames(data.empty() ? kWordList : data, limit));
        OCANNL_ASSIGN_OR_RETURN(learned->sample,
                                ParseSample(line.GetString("sample")));
        const Alphabet& alphabet = learned->alphabet.emplace(
            absl::StrCat(absl::StrJoin(names, ""), "."));
        return Task{.lessons = NameLessons(names, alphabet, kContext, seed),
                    .net = NextLetter(model, alphabet.size(), kContext)};
      },
      argc, argv);
}
