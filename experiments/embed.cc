// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "experiments/nets/bert.h"
#include "experiments/support/experiment_main.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/flags/run_options.h"

namespace ocannl {
namespace {

constexpr char kSentences[] =
    "The cat sleeps on the warm sofa.\n"
    "A kitten naps in the sun.\n"
    "Stock markets fell sharply today.\n"
    "Shares lost a tenth of their value.\n"
    "She plays the violin in an orchestra.\n"
    "The band rehearses every Friday.\n"
    "Compilers translate programs into machine code.\n"
    "How do I bake bread without yeast?\n"
    "The recipe needs flour, water and salt.\n"
    "Heavy rain is expected tomorrow.\n"
    "The train to Berlin leaves at noon.";

constexpr int64_t kBatch = 32;

// The vectors of all texts, one after the other.
absl::StatusOr<std::vector<float>> VectorsOf(
    SentenceBert& bert, absl::Span<const std::string> texts) {
  std::vector<float> all;
  for (size_t k = 0; k < texts.size(); k += kBatch) {
    OCANNL_ASSIGN_OR_RETURN(const NdArray rows,
                            bert.Embed(texts.subspan(k, kBatch)));
    const auto values = rows.values<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

absl::Status Run(const CommandLine& line) {
  const std::string file = UserPath(line.GetString("sentences"));
  std::string text = kSentences;
  if (!file.empty()) {
    OCANNL_ASSIGN_OR_RETURN(text, ReadFile(file));
  }
  const std::vector<std::string> texts =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  if (line.GetString("model").empty() || texts.empty()) {
    return absl::InvalidArgumentError(
        "give --model=FOLDER with the config.json, vocab.txt and "
        "model.safetensors of a BERT, and --sentences with a line of text");
  }
  OCANNL_ASSIGN_OR_RETURN(const int64_t shown, line.GetInt("top", 1, 1000));
  OCANNL_ASSIGN_OR_RETURN(const Backend* tier, TierOf(line));
  Device device("host", tier);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(
      SentenceBert bert,
      SentenceBert::Load(UserPath(line.GetString("model")), Context(&stream)));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<float> rows,
                          VectorsOf(bert, texts));
  OCANNL_ASSIGN_OR_RETURN(const std::vector<float> query,
                          VectorsOf(bert, {line.GetString("query")}));
  std::vector<float> scores;
  for (size_t k = 0; k < texts.size(); ++k) {
    scores.push_back(std::inner_product(query.begin(), query.end(),
                                        rows.begin() + k * query.size(), 0.0f));
  }
  std::vector<size_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min<size_t>(order.size(), shown));
  for (size_t k : order) {
    std::cout << absl::StrFormat("%7.4f  %s\n", scores[k], texts[k]);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain(
      "embed",
      "Prints the sentences whose vectors, by a BERT, are nearest to a "
      "query's.",
      {{"model", "", "a folder: config.json, vocab.txt, model.safetensors"},
       {"sentences", "", "a file with a sentence in each line; else a few"},
       {"query", "Where does my pet rest?", "what to look for"},
       {"top", "5", "sentences to print"}},
      ocannl::Run, argc, argv);
}
