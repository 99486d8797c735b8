// SPDX-License-Identifier: Apache-2.0
//
// Text of a small grammar, for a language model to learn:
//
//   the small owl finds a red boat. a wise fox sees the old mill. ...
#ifndef EXPERIMENTS_NETS_SENTENCES_H_
#define EXPERIMENTS_NETS_SENTENCES_H_

#include <cstdint>
#include <string>

#include "experiments/nets/supervised.h"

namespace ocannl {

// At least `length` letters of sentences. Every word is drawn by itself and
// alike often among those that may stand in its place.
std::string Sentences(int64_t length, uint32_t seed);

// The nats that a letter of such text takes on average for who knows the
// grammar: no model does better.
double NatsOfLetter();

// The number of a letter of the text, and how many letters there are.
int32_t LetterNumber(char letter);
inline constexpr int64_t kLetters = 28;  // a to z, blank, full stop

// Sequences of `length` letters; the class of each is the letter after it.
Lessons LetterLessons(int64_t train_count, int64_t test_count, int64_t length,
                      uint32_t seed);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_SENTENCES_H_
