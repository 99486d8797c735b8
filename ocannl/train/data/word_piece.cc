// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/data/word_piece.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

struct CodeRange {
  char32_t first, last;
};
struct CodeFolding {
  char32_t from, to[4];  // 0: no further character
};

#include "ocannl/train/data/unicode_tables.inc"

constexpr char32_t kReplacement = 0xfffd;

// CJK ideographs, as the code of the paper has them.
constexpr CodeRange kIdeographs[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},
                                     {0xf900, 0xfaff},   {0x20000, 0x2a6df},
                                     {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f},
                                     {0x2b820, 0x2ceaf}, {0x2f800, 0x2fa1f}};

template <size_t n>
bool IsIn(char32_t c, const CodeRange (&ranges)[n]) {
  const auto* range = std::partition_point(
      ranges, ranges + n, [c](const CodeRange& r) { return r.last < c; });
  return range != ranges + n && range->first <= c;
}

bool IsBlank(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || IsIn(c, kSpaces);
}

// Signs of ASCII that Unicode calls symbols are punctuation too.
bool IsPunctuation(char32_t c) {
  return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
         (c > 'z' && c < 0x7f) || IsIn(c, kPunctuation);
}

// Takes a character of UTF-8 from the front of `text`, which is not empty;
// U+FFFD for bytes that are none.
char32_t TakeCharacter(absl::string_view& text) {
  const size_t size = CharacterSize(text);
  const char32_t c = size > 0 ? DecodeCharacter(text, size) : kReplacement;
  text.remove_prefix(std::max<size_t>(size, 1));
  return c;
}

void AppendCharacter(char32_t c, std::string& text) {
  if (c < 0x80) {
    text.push_back(static_cast<char>(c));
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  text.push_back(
      static_cast<char>((0xff00 >> (more + 1) & 0xff) | c >> (6 * more)));
  for (int k = more - 1; k >= 0; --k) {
    text.push_back(static_cast<char>(0x80 | (c >> (6 * k) & 63)));
  }
}

// Calls `visit` for each character that a syllable of Hangul is made of (The
// Unicode Standard, section 3.12).
template <class Visit>
void VisitHangul(char32_t c, Visit visit) {
  const char32_t syllable = c - 0xac00;
  visit(0x1100 + syllable / 588);
  visit(0x1161 + syllable % 588 / 28);
  if (syllable % 28 != 0) visit(0x11a7 + syllable % 28);
}

// Calls `visit` for what `c` becomes in lower case and without accents.
template <class Visit>
void VisitFolded(char32_t c, Visit visit) {
  if (c >= 0xac00 && c <= 0xd7a3) return VisitHangul(c, visit);
  if (IsIn(c, kMarks)) return;
  const auto* folding =
      std::partition_point(std::begin(kFoldings), std::end(kFoldings),
                           [c](const CodeFolding& f) { return f.from < c; });
  if (folding == std::end(kFoldings) || folding->from != c) return visit(c);
  for (char32_t to : folding->to) {
    if (to != 0) visit(to);
  }
}

// Calls `visit` for each word.
template <class Visit>
void VisitWords(absl::string_view text, bool lower_case, Visit visit) {
  std::string word;
  auto end_word = [&] {
    if (!word.empty()) visit(word);
    word.clear();
  };
  auto add = [&](char32_t c) {
    const bool is_word = IsPunctuation(c);
    if (is_word) end_word();
    AppendCharacter(c, word);
    if (is_word) end_word();
  };
  while (!text.empty()) {
    const char32_t c = TakeCharacter(text);
    const bool is_ideograph = IsIn(c, kIdeographs);
    if (IsBlank(c) || is_ideograph) end_word();
    if (IsBlank(c) || c == kReplacement || IsIn(c, kOthers)) continue;
    if (lower_case) {
      VisitFolded(c, add);
    } else {
      add(c);
    }
    if (is_ideograph) end_word();
  }
  end_word();
}

bool StartsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

}  // namespace

absl::StatusOr<WordPiece> WordPiece::Load(const std::string& path,
                                          const WordPieceOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::vector<std::string> pieces;
  for (absl::string_view line :
       absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    pieces.emplace_back(absl::StripSuffix(line, "\r"));
  }
  absl::StatusOr<WordPiece> made = Make(std::move(pieces), options);
  if (made.ok()) return made;
  return absl::InvalidArgumentError(
      absl::StrCat("`", path, "`: ", made.status().message()));
}

absl::StatusOr<WordPiece> WordPiece::Make(std::vector<std::string> pieces,
                                          const WordPieceOptions& options) {
  WordPiece made(std::move(pieces), options);
  for (size_t id = 0; id < made.pieces_.size(); ++id) {
    const std::string& piece = made.pieces_[id];
    made.longest_ = std::max(made.longest_, piece.size());
    if (made.ids_.emplace(piece, static_cast<int32_t>(id)).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the piece `", absl::CHexEscape(piece), "` is there twice, and line ",
        id + 1, " is the second one; give each piece once"));
  }
  const std::pair<const char*, int32_t*> special[] = {
      {"[UNK]", &made.unknown_},
      {"[CLS]", &made.first_},
      {"[SEP]", &made.last_},
      {"[PAD]", &made.padding_}};
  for (const auto& [piece, id] : special) {
    const auto found = made.ids_.find(piece);
    if (found == made.ids_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no piece ", piece, "; give the vocab.txt of a BERT"));
    }
    *id = found->second;
    made.ids_.erase(found);  // no text makes it
  }
  return made;
}

void WordPiece::EncodeWord(absl::string_view word,
                           std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  const auto letters = std::count_if(word.begin(), word.end(), StartsCharacter);
  bool is_known = letters <= options_.most_letters;
  std::string piece;
  for (size_t begin = 0; is_known && begin < word.size();) {
    const char* prefix = begin == 0 ? "" : "##";
    size_t end = std::min(word.size(), begin + longest_);
    auto found = ids_.end();
    for (; end > begin; --end) {
      if (end < word.size() && !StartsCharacter(word[end])) continue;
      piece = absl::StrCat(prefix, word.substr(begin, end - begin));
      found = ids_.find(piece);
      if (found != ids_.end()) break;
    }
    is_known = found != ids_.end();
    if (is_known) ids.push_back(found->second);
    begin = end;
  }
  if (is_known) return;
  ids.resize(before);
  ids.push_back(unknown_);
}

std::vector<int32_t> WordPiece::Encode(absl::string_view text) const {
  std::vector<int32_t> ids;
  VisitWords(text, options_.lower_case,
             [&](absl::string_view word) { EncodeWord(word, ids); });
  return ids;
}

TokenBatch WordPiece::EncodeBatch(absl::Span<const std::string> texts,
                                  const BatchLength& length) const {
  std::vector<std::vector<int32_t>> encoded;
  for (const std::string& text : texts) encoded.push_back(Encode(text));
  return Batch(encoded, length);
}

TokenBatch WordPiece::Batch(absl::Span<const std::vector<int32_t>> texts,
                            const BatchLength& length) const {
  const auto [most, multiple] = length;
  CHECK(most >= 2 && multiple >= 1)
      << "a text has [CLS] and [SEP], and a length is a multiple of 1 or more; "
      << "most is " << most << " and multiple " << multiple;
  int64_t longest = 2;
  for (const std::vector<int32_t>& text : texts) {
    longest = std::max<int64_t>(longest, text.size() + 2);
  }
  longest = std::min(longest, most);
  const int64_t padded =
      std::min(longest + (multiple - longest % multiple) % multiple, most);
  const auto count = static_cast<int64_t>(texts.size());
  TokenBatch batch{.ids = NdArray(DType::kI32, {count, padded}),
                   .mask = NdArray(DType::kF32, {count, padded})};
  auto* id = batch.ids.values<int32_t>().data();
  auto* mask = batch.mask.values<float>().data();
  for (const std::vector<int32_t>& text : texts) {
    const auto pieces = std::min<int64_t>(text.size(), padded - 2);
    *id = first_;
    *std::copy_n(text.begin(), pieces, id + 1) = last_;
    std::fill(id + pieces + 2, id + padded, padding_);
    std::fill_n(mask, pieces + 2, 1);
    id += padded;
    mask += padded;
  }
  return batch;
}

}  // namespace ocannl::train
