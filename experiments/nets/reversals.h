// SPDX-License-Identifier: Apache-2.0
//
// Sequences of letters to be reversed, and a transformer that learns it.
//
//   auto reverser = std::make_shared<Reverser>(ReverserOptions{.length = 16});
//   Task{.lessons = reverser->MakeLessons(2000, 200, seed),
//        .net = reverser->MakeTransformer()}
//   ...                                                        // training
//   reverser->Reverse(trained, sequences, Reverser::kCached)
#ifndef EXPERIMENTS_NETS_REVERSALS_H_
#define EXPERIMENTS_NETS_REVERSALS_H_

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "experiments/nets/supervised.h"
#include "ocannl/train/blocks/transformer.h"

namespace ocannl {

struct ReverserOptions {
  int64_t length = 16;  // of the sequences
  int64_t letters = 10;
  int64_t layers = 2;  // of the encoder, and of the decoder
  int64_t size = 48;   // of the vector of a letter
};

// Makes the networks of the graphs of a training, which it must outlive.
class Reverser {
 public:
  explicit Reverser(const ReverserOptions& options) : options_(options) {}

  // Random sequences: inputs {count, length, 2}, the letter at each place of
  // the source and the one before that place of the reversal, which is no
  // letter at the first; as classes the reversal, {count, length}.
  Lessons MakeLessons(int64_t count, int64_t tests, uint32_t seed) const;

  MakeNet MakeTransformer();

  // What the trained network makes of the sources of `inputs`, letter by letter
  // and the likeliest each: with a cache of keys and values, or by the whole
  // network for each letter. The second of two runs is timed.
  enum How { kCached, kWhole };
  struct Reversals {
    NdArray letters;  // {count, length}
    double seconds;
  };
  absl::StatusOr<Reversals> Reverse(train::Fitted& trained,
                                    const NdArray& inputs, How how) const;

 private:
  absl::StatusOr<Reversals> Cached(train::Fitted& trained,
                                   const NdArray& inputs) const;
  absl::StatusOr<Reversals> Whole(train::Fitted& trained,
                                  const NdArray& inputs) const;

  ReverserOptions options_;
  std::map<const Graph*, train::Transformer> nets_;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_REVERSALS_H_
