// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/letters.h"

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/data/files.h"
#include "ocannl/train/run/predict.h"

namespace ocannl {
namespace {

constexpr char kEnd = '.';         // of a name
constexpr size_t kTestShare = 10;  // one of so many

// The `context` letters before each letter of the names, and the letter.
Examples ExamplesOf(absl::Span<const std::string> names,
                    const Alphabet& alphabet, int64_t context) {
  int64_t count = 0;
  for (const std::string& name : names) {
    count += static_cast<int64_t>(name.size()) + 1;
  }
  Examples examples = {.inputs = NdArray(DType::kI32, {count, context}),
                       .classes = NdArray(DType::kI32, {count})};
  auto input = examples.inputs.values<int32_t>().begin();
  auto next = examples.classes.values<int32_t>().begin();
  for (const std::string& name : names) {
    std::vector<int32_t> text(context, alphabet.number(kEnd));
    for (char letter : name) text.push_back(alphabet.number(letter));
    text.push_back(alphabet.number(kEnd));
    for (auto letter = text.begin() + context; letter != text.end(); ++letter) {
      input = std::copy(letter - context, letter, input);
      *next++ = *letter;
    }
  }
  return examples;
}

// `count` sequences at places of `from`, and what follows each letter.
Examples SequencesOf(absl::string_view from, const Alphabet& alphabet,
                     int64_t count, int64_t length, uint32_t seed) {
  const auto places = static_cast<int64_t>(from.size()) - length;
  const std::vector<int32_t> starts = train::ShuffledOrder(places, seed);
  Examples examples = {.inputs = NdArray(DType::kI32, {count, length}),
                       .classes = NdArray(DType::kI32, {count, length})};
  for (int64_t k = 0; k < count; ++k) {
    const int64_t start = starts[k % places];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t cell = k * length + i;
      examples.inputs.values<int32_t>()[cell] =
          alphabet.number(from[start + i]);
      examples.classes.values<int32_t>()[cell] =
          alphabet.number(from[start + i + 1]);
    }
  }
  return examples;
}

}  // namespace

Alphabet::Alphabet(absl::string_view text) {
  std::array<bool, 256> found = {};
  for (char letter : text) found[letter - CHAR_MIN] = true;
  for (int code = CHAR_MIN; code <= CHAR_MAX; ++code) {
    if (found[code - CHAR_MIN]) letters_.push_back(static_cast<char>(code));
  }
}

absl::StatusOr<std::vector<std::string>> LoadNames(
    const std::string& path, const train::DataLimit& limit) {
  absl::StatusOr<std::string> text = train::ReadData(path, limit);
  if (absl::IsNotFound(text.status()) && path == kWordList) {
    return absl::NotFoundError(absl::StrCat(
        text.status().message(),
        "; `apt-get install wamerican` brings it, or give --data"));
  }
  OCANNL_RETURN_IF_ERROR(text.status());
  std::vector<std::string> names;
  for (absl::string_view word : absl::StrSplit(*text, '\n')) {
    const bool is_name = word.size() > 1 && absl::ascii_isupper(word[0]) &&
                         absl::c_all_of(word.substr(1), absl::ascii_islower);
    if (is_name) names.push_back(absl::AsciiStrToLower(word));
  }
  if (names.size() >= kTestShare) return names;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": ", names.size(), " names; write one in a line, with a capital"));
}

absl::StatusOr<std::string> LoadTexts(const std::string& folder,
                                      const train::DataLimit& limit) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may delete it meanwhile
    // Links are other names of the same texts.
    if (at->symlink_status(gone).type() ==
        std::filesystem::file_type::regular) {
      paths.push_back(at->path());
    }
  }
  if (error) {
    return absl::NotFoundError(absl::StrCat(
        folder, ": ", error.message(), "; give a folder of texts by --data"));
  }
  absl::c_sort(paths);
  std::string all;
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    OCANNL_ASSIGN_OR_RETURN(const std::string text,
                            train::ReadData(path, limit));
    bytes += train::FileBytes(path);
    absl::StrAppend(&all, text);
    if (static_cast<int64_t>(all.size()) > limit.BytesFor(bytes)) {
      return train::ExceedsLimit(folder, bytes, limit);
    }
  }
  if (!all.empty()) return all;
  return absl::NotFoundError(absl::StrCat(
      folder, ": there are no texts; give a folder of some by --data"));
}

Lessons NameLessons(const std::vector<std::string>& names,
                    const Alphabet& alphabet, int64_t context, uint32_t seed) {
  std::vector<std::string> shuffled;
  for (int32_t k :
       train::ShuffledOrder(static_cast<int64_t>(names.size()), seed)) {
    shuffled.push_back(names[k]);
  }
  const size_t tests = names.size() / kTestShare;
  const auto all = absl::MakeConstSpan(shuffled);
  return {.train = ExamplesOf(all.subspan(tests), alphabet, context),
          .test = ExamplesOf(all.subspan(0, tests), alphabet, context),
          .classes = alphabet.size()};
}

absl::StatusOr<Lessons> TextLessons(absl::string_view text,
                                    const Alphabet& alphabet, int64_t count,
                                    int64_t length, uint32_t seed) {
  const size_t tests = text.size() / kTestShare;
  if (tests < 2 * static_cast<size_t>(length)) {
    return absl::InvalidArgumentError(absl::StrCat("a text of ", text.size(),
                                                   " letters is too short for ",
                                                   "sequences of ", length));
  }
  return Lessons{
      .train = SequencesOf(text.substr(tests), alphabet, count, length, seed),
      .test = SequencesOf(text.substr(0, tests), alphabet,
                          std::max<int64_t>(count / 10, 1), length, seed),
      .classes = alphabet.size()};
}

absl::StatusOr<std::string> Write(train::Fitted& trained,
                                  const Alphabet& alphabet, const Shape& shape,
                                  std::string text, int64_t most,
                                  const train::SampleOptions& sample,
                                  char end) {
  Graph& graph = trained.code->model.graph;
  const int64_t length = NumElements(shape.dims());
  std::vector<Tensor> inputs = {Data(
      graph, "written", NdArray(DType::kI32, shape.dims()), SpecOf(shape))};
  const Tensor draw = Data(graph, "draw", NdArray(DType::kU32, {}),
                           {.rows = {Dims{}, Dims{}, Dims{}}});
  OCANNL_ASSIGN_OR_RETURN(const Tensor logits,
                          trained.code->net.predict(inputs[0]));
  const Tensor drawn = train::Sample(logits, sample, draw);
  if (sample.temperature > 0) inputs.push_back(draw);
  OCANNL_ASSIGN_OR_RETURN(train::Predictor next,
                          train::Predictor::Make(trained.code->model, drawn,
                                                 inputs, *trained.context));
  const size_t given = text.size();
  for (int64_t k = 0; k < most; ++k) {
    std::vector<NdArray> values = {NdArray(DType::kI32, shape.dims())};
    for (int64_t i = 0; i < length; ++i) {
      const int64_t from = static_cast<int64_t>(text.size()) - length + i;
      values[0].values<int32_t>()[i] =
          alphabet.number(from < 0 ? kEnd : text[from]);
    }
    if (inputs.size() > 1) {
      values.push_back(NdArray::Of<uint32_t>({}, {static_cast<uint32_t>(k)}));
    }
    OCANNL_ASSIGN_OR_RETURN(const NdArray all, next.Predict(values));
    // The letter after the last place is the last one.
    text.push_back(alphabet.letter(all.values<int32_t>().back()));
    if (end != '\0' && text.back() == end) break;
  }
  return text.substr(given);
}

absl::StatusOr<train::SampleOptions> ParseSample(absl::string_view text) {
  train::SampleOptions sample;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(',', 1));
  const bool has_k = absl::StrContains(text, ',');
  if (absl::SimpleAtod(parts.first, &sample.temperature) &&
      sample.temperature >= 0 &&
      (!has_k ||
       (absl::SimpleAtoi(parts.second, &sample.top_k) && sample.top_k > 0))) {
    return sample;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--sample=", text,
                   " is no temperature, as 0.8, with how many of the "
                   "likeliest behind it, as 0.8,5"));
}

}  // namespace ocannl
