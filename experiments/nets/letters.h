// SPDX-License-Identifier: Apache-2.0
//
// Text as lessons for models that predict the next letter, and what such
// models write.
#ifndef EXPERIMENTS_NETS_LETTERS_H_
#define EXPERIMENTS_NETS_LETTERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/nets/supervised.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/train/data/data_limit.h"
#include "ocannl/train/decode/sample.h"

namespace ocannl {

// The letters of a text, in the order of their codes; their places are their
// numbers.
class Alphabet {
 public:
  explicit Alphabet(absl::string_view text);

  int64_t size() const { return static_cast<int64_t>(letters_.size()); }
  char letter(int64_t number) const { return letters_[number]; }
  int32_t number(char letter) const {  // which is one of them
    return static_cast<int32_t>(letters_.find(letter));
  }

 private:
  std::string letters_;
};

// The words of a list that are names: they begin with a capital letter, and
// have small ones only after it. In small letters. Error: there are none, or
// no list: the package that has it.
inline constexpr char kWordList[] = "/usr/share/dict/words";
absl::StatusOr<std::vector<std::string>> LoadNames(
    const std::string& path, const train::DataLimit& limit = {});

// The texts of the licences of a folder, one after the other. Error: there are
// none, or more than the limit.
inline constexpr char kLicences[] = "/usr/share/common-licenses";
absl::StatusOr<std::string> LoadTexts(const std::string& folder,
                                      const train::DataLimit& limit = {});

// Each letter of each name, and its end, '.', to be told from the `context`
// letters before it; before the first there are '.' too. One of ten names is
// for the tests.
Lessons NameLessons(const std::vector<std::string>& names,
                    const Alphabet& alphabet, int64_t context, uint32_t seed);

// Sequences of `length` letters, from all over the text; the class of each
// letter is the one after it. Every tenth part of the text is for the tests.
// Error: a text that is shorter than twenty sequences.
absl::StatusOr<Lessons> TextLessons(absl::string_view text,
                                    const Alphabet& alphabet, int64_t count,
                                    int64_t length, uint32_t seed);

// What the trained network writes after `text`, one letter after the other,
// each drawn from its logits: until `end`, if that is a letter, and at most
// `most` letters. Its inputs, of `shape`, are the last letters; where there are
// not as many, '.' comes before them. Each call draws others.
absl::StatusOr<std::string> Write(train::Fitted& trained,
                                  const Alphabet& alphabet, const Shape& shape,
                                  std::string text, int64_t most,
                                  const train::SampleOptions& sample = {},
                                  char end = '\0');

// "T" or "T,K": the temperature, and how many of the likeliest letters.
absl::StatusOr<train::SampleOptions> ParseSample(absl::string_view text);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_LETTERS_H_
