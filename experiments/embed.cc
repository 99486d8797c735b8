// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "experiments/support/experiment_main.h"
#include "ocannl/core/base/file.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/ocannl.h"

namespace ocannl {
namespace {

constexpr char kSentences[] =
    "The cat sleeps on the warm sofa.\nA kitten naps in the sun.\n"
    "Stock markets fell sharply today.\nShares lost a tenth of their value.\n"
    "She plays the violin in an orchestra.\nThe band rehearses every Friday.\n"
    "Compilers translate programs into machine code.\n"
    "How do I bake bread without yeast?\nHeavy rain is expected tomorrow.\n"
    "The recipe needs flour, water and salt.\n"
    "The train to Berlin leaves at noon.";

absl::Status Run(const CommandLine& line) {
  const std::string file = UserPath(line.GetString("sentences"));
  OCANNL_ASSIGN_OR_RETURN(
      const std::string text,
      file.empty() ? absl::StatusOr<std::string>(kSentences) : ReadFile(file));
  const std::vector<std::string> texts =
      absl::StrSplit(text, '\n', absl::SkipWhitespace());
  OCANNL_ASSIGN_OR_RETURN(const int64_t shown, line.GetInt("top", 1, 1000));
  OCANNL_ASSIGN_OR_RETURN(const Backend* tier, TierOf(line));
  Device device("host", tier);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(
      auto encoder, train::SentenceEncoder::Load(
                        UserPath(line.GetString("model")), Context(&stream)));
  OCANNL_ASSIGN_OR_RETURN(const NdArray rows, encoder.Embed(texts));
  OCANNL_ASSIGN_OR_RETURN(const NdArray query,
                          encoder.Embed({line.GetString("query")}));
  for (const auto& [k, score] : train::NearestRows(rows, query, shown)) {
    std::cout << absl::StrFormat("%7.4f  %s\n", score, texts[k]);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain(
      "embed",
      "Prints the sentences whose vectors, by a BERT, are nearest to a query's",
      {{"model", "", "a folder: config.json, vocab.txt, model.safetensors"},
       {"sentences", "", "a file with a sentence in each line; else a few"},
       {"query", "Where does my pet rest?", "what to look for"},
       {"top", "5", "sentences to print"}},
      ocannl::Run, argc, argv);
}
