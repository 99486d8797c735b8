// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "experiments/nets/reversals.h"
#include "experiments/supervised_main.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr int64_t kTests = 500;
constexpr int64_t kShown = 3;

// What is taught, for those who show what was learned.
struct Learned {
  std::unique_ptr<Reverser> reverser;
  Examples tests;
};

// Row `row` of the letters, of which there are `step` numbers a place.
std::string Letters(const NdArray& letters, int64_t row, int64_t step) {
  const int64_t length = letters.dims()[1];
  std::string text;
  for (int64_t t = 0; t < length; ++t) {
    text += static_cast<char>(
        'a' + letters.values<int32_t>()[(row * length + t) * step]);
  }
  return text;
}

absl::StatusOr<train::Measures> Show(train::Fitted& trained,
                                     const Learned& learned) {
  const Examples& tests = learned.tests;
  auto reverse = [&](Reverser::How how) {
    return learned.reverser->Reverse(trained, tests.inputs, how);
  };
  OCANNL_ASSIGN_OR_RETURN(const Reverser::Reversals cached,
                          reverse(Reverser::kCached));
  OCANNL_ASSIGN_OR_RETURN(const Reverser::Reversals whole,
                          reverse(Reverser::kWhole));
  int64_t right = 0, same = 0;
  for (int64_t k = 0; k < kTests; ++k) {
    const std::string text = Letters(cached.letters, k, 1);
    right += text == Letters(tests.classes, k, 1) ? 1 : 0;
    same += text == Letters(whole.letters, k, 1) ? 1 : 0;
    if (k < kShown) {
      std::cout << "  " << Letters(tests.inputs, k, 2) << " -> " << text
                << "\n";
    }
  }
  std::cout << absl::StrFormat(
      "Of %d sequences, %d are reversed; %d are the same without the cache, "
      "which\ntakes %.3g s, not %.3g s.\n",
      kTests, right, same, whole.seconds, cached.seconds);
  return train::Measures{
      {"reversed", static_cast<double>(right) / kTests},
      {"same_without_cache", static_cast<double>(same) / kTests},
      {"seconds_with_cache", cached.seconds},
      {"seconds_without_cache", whole.seconds}};
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  using namespace ocannl;  // NOLINT
  auto learned = std::make_shared<Learned>();
  return SupervisedMain(
      {.name = "reverse",
       .what = "Trains a transformer to reverse sequences, and decodes them "
               "with a cache.",
       .examples = 4000,
       .options = {.epochs = 6,
                   .batch_size = 50,
                   .rate = 3e-3,
                   .weight_decay = 1e-2,
                   .adamw = true,
                   .shuffle = true},
       .flags = {{"length", "16", "letters of a sequence"},
                 {"letters", "10", "different ones"},
                 {"size", "48", "of the vector of a letter, in each block"}},
       .show = [=](train::Fitted& trained) { return Show(trained, *learned); }},
      [=](const CommandLine& line, int64_t examples,
          uint32_t seed) -> absl::StatusOr<Task> {
        ReverserOptions options;
        OCANNL_ASSIGN_OR_RETURN(options.length, line.GetInt("length", 2, 4096));
        OCANNL_ASSIGN_OR_RETURN(options.letters, line.GetInt("letters", 2, 26));
        OCANNL_ASSIGN_OR_RETURN(options.size, line.GetInt("size", 4, 16384));
        learned->reverser = std::make_unique<Reverser>(options);
        Lessons lessons =
            learned->reverser->MakeLessons(examples, kTests, seed);
        learned->tests = lessons.test;
        return Task{.lessons = std::move(lessons),
                    .net = learned->reverser->MakeTransformer()};
      },
      argc, argv);
}
