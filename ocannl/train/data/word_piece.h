// SPDX-License-Identifier: Apache-2.0
//
// WordPiece: the tokenizer of BERT, by the pieces of its vocab.txt.
//
//   OCANNL_ASSIGN_OR_RETURN(const auto pieces, WordPiece::Load("vocab.txt"));
//   auto ids = pieces.Encode("Unaffable!");  // of una, ##ffa, ##ble and !
//   const std::vector<std::string> texts = {"One.", "Two words."};
//   const TokenBatch batch = pieces.EncodeBatch(texts, {.most = 16});
//
// Words are cut at blanks and at punctuation, each sign of which is a word, as
// each CJK ideograph is. Other control characters, U+FFFD and bytes that are no
// UTF-8 are dropped. Letters become lower case, and lose their accents: the
// nonspacing marks of their canonical decomposition (NFD). Each word is cut
// from the left into the longest pieces of the vocabulary, of which all but the
// first begin with ##. A word that cannot be cut is [UNK].
//
// Devlin et al., "BERT" (2019), and tokenization.py of its reference code;
// Schuster and Nakajima, "Japanese and Korean voice search" (2012). The classes
// of characters are those of the Unicode of Python (unicode_tables.py).
#ifndef OCANNL_TRAIN_DATA_WORD_PIECE_H_
#define OCANNL_TRAIN_DATA_WORD_PIECE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl::train {

struct WordPieceOptions {
  bool lower_case = true;      // false: of a cased model, which keeps accents
  int64_t most_letters = 100;  // longer words are [UNK]; the paper's code: 200
};

// Texts of one length, with [PAD] behind shorter ones.
struct TokenBatch {
  NdArray ids;   // i32 [texts, length]
  NdArray mask;  // f32 [texts, length]: 1 for a token, 0 for padding
};

// The length of a batch is that of its longest text, raised to a multiple:
// fewer lengths are compiled fewer times.
struct BatchLength {
  int64_t most = 512;    // tokens, 2 or more; longer texts are cut
  int64_t multiple = 1;  // 1 or more, but `most` is not exceeded
};

class WordPiece {
 public:
  // A file with a piece in each line, whose id is the number of the line, from
  // 0. Errors: the system's; those of Make.
  static absl::StatusOr<WordPiece> Load(const std::string& path,
                                        const WordPieceOptions& options = {});

  // Error: two pieces are equal; there is no [UNK], [CLS], [SEP] or [PAD].
  static absl::StatusOr<WordPiece> Make(std::vector<std::string> pieces,
                                        const WordPieceOptions& options = {});

  int64_t size() const { return static_cast<int64_t>(pieces_.size()); }
  const std::string& piece(int32_t id) const { return pieces_[id]; }

  // The ids of the pieces of a text. A text cannot make [CLS] or another
  // special piece.
  std::vector<int32_t> Encode(absl::string_view text) const;

  // [CLS], the pieces of a text, and [SEP] for each text. It is the caller's
  // fault if a number of `length` is less than its comment says.
  TokenBatch EncodeBatch(absl::Span<const std::string> texts,
                         const BatchLength& length = {}) const;

  // The same of texts that Encode has cut into pieces.
  TokenBatch Batch(absl::Span<const std::vector<int32_t>> texts,
                   const BatchLength& length = {}) const;

 private:
  WordPiece(std::vector<std::string> pieces, const WordPieceOptions& options)
      : pieces_(std::move(pieces)), options_(options) {}

  void EncodeWord(absl::string_view word, std::vector<int32_t>& ids) const;

  std::vector<std::string> pieces_;
  WordPieceOptions options_;
  absl::flat_hash_map<std::string, int32_t> ids_ = {};
  int32_t unknown_ = 0, first_ = 0, last_ = 0, padding_ = 0;
  size_t longest_ = 0;  // bytes of a piece
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_DATA_WORD_PIECE_H_
