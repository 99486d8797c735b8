// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/sentences.h"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

using Words = std::vector<absl::string_view>;

// The places of a sentence; each word is followed by a blank.
const std::vector<Words>& Places() {
  static const auto* places = [] {
    const Words articles = {"the", "a"};
    const Words adjectives = {"small", "red", "old", "wise"};
    const Words nouns = {"owl", "fox", "boat", "mill", "queen", "river"};
    const Words verbs = {"sees", "finds", "likes", "leaves"};
    return new std::vector<Words>{articles, adjectives, nouns, verbs,
                                  articles, adjectives, nouns};
  }();
  return *places;
}

Examples SequencesOf(absl::string_view text, int64_t count, int64_t length) {
  Examples examples{.inputs = NdArray(DType::kI32, {count, length}),
                    .classes = NdArray(DType::kI32, {count, length})};
  for (int64_t k = 0; k < count * length; ++k) {
    examples.inputs.values<int32_t>()[k] = LetterNumber(text[k]);
    examples.classes.values<int32_t>()[k] = LetterNumber(text[k + 1]);
  }
  return examples;
}

}  // namespace

std::string Sentences(int64_t length, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  while (static_cast<int64_t>(text.size()) < length) {
    const char* before = text.empty() ? "" : " ";
    for (const Words& words : Places()) {
      absl::StrAppend(&text, before, words[random() % words.size()]);
      before = " ";
    }
    absl::StrAppend(&text, ".");
  }
  return text;
}

double NatsOfLetter() {
  double nats = 0;
  double letters = 1;  // the full stop
  for (const Words& words : Places()) {
    const auto count = static_cast<double>(words.size());
    nats += std::log(count);
    for (absl::string_view word : words) {
      letters += static_cast<double>(word.size() + 1) / count;
    }
  }
  return nats / letters;
}

int32_t LetterNumber(char letter) {
  if (letter == ' ') return 26;
  if (letter == '.') return 27;
  CHECK(letter >= 'a' && letter <= 'z') << letter;
  return letter - 'a';
}

Lessons LetterLessons(int64_t train_count, int64_t test_count, int64_t length,
                      uint32_t seed) {
  const int64_t train = train_count * length, test = test_count * length;
  const std::string text = Sentences(train + test + 1, seed);
  const absl::string_view rest(text);
  return {.train = SequencesOf(text, train_count, length),
          .test = SequencesOf(rest.substr(train), test_count, length),
          .classes = kLetters};
}

}  // namespace ocannl
