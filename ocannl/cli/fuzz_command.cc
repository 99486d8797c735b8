// SPDX-License-Identifier: Apache-2.0
//
// fuzz [FILE.ll]: compares tiers with the interpreter, and writes what fails
// to files. fuzz --notation: tries texts of the notation. fuzz --graphs: graphs
// of it, on the tiers. fuzz --batches [FILE]: graphs, for batches of several
// sizes.
#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "ocannl/cli/commands.h"
#include "ocannl/cli/input.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/fuzz/batches/batch_campaign.h"
#include "ocannl/fuzz/batches/batch_case.h"
#include "ocannl/fuzz/campaign.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/notation/text_campaign.h"

namespace ocannl {

namespace {

// The expressions in the `# RUN:` lines of the files below `directory`.
absl::StatusOr<std::vector<std::string>> ReadCorpus(
    const std::string& directory) {
  std::vector<std::string> corpus;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(directory, error), end;
       !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".txt") continue;
    OCANNL_ASSIGN_OR_RETURN(std::string text, ReadFile(at->path().string()));
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      std::vector<std::string> quoted = absl::StrSplit(line, '\'');
      if (absl::StartsWith(line, "# RUN: e") && quoted.size() > 2) {
        corpus.push_back(std::move(quoted[1]));
      }
    }
  }
  if (!error) return corpus;
  return absl::NotFoundError(absl::StrCat("--corpus=", directory, ": ",
                                          error.message(),
                                          "; name a directory, such as "
                                          "tests/golden"));
}

// Error: a flag without an effect in the campaign, such as --notation.
absl::Status CheckEffects(const CommandLine& line, absl::string_view campaign,
                          absl::Span<const absl::string_view> without) {
  for (absl::string_view flag : without) {
    if (!line.Has(flag)) continue;
    return UserError("--", flag, " has no effect with ", campaign,
                     "; leave one of them out");
  }
  return absl::OkStatus();
}

absl::Status FuzzNotation(const CommandLine& line,
                          fuzz::TextCampaignOptions options,
                          std::ostream& out) {
  if (!line.positional().empty()) {
    return UserError("--notation and --graphs try texts, not programs; leave ",
                     line.positional()[0], " out");
  }
  if (line.Has("corpus")) {
    OCANNL_ASSIGN_OR_RETURN(options.corpus,
                            ReadCorpus(UserPath(line.GetString("corpus"))));
  }
  fuzz::TextCampaignResult result = fuzz::RunTextCampaign(options);
  out << Report(result);
  if (result.failures.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(result.failures.size(), " of ",
                                          result.texts, " texts fail"));
}

// Writes each failure to a file of --out, and returns their texts.
template <class Failure>
absl::StatusOr<std::string> WriteFailures(const CommandLine& line,
                                          const std::vector<Failure>& failures,
                                          absl::string_view extension) {
  const std::string directory = UserPath(line.GetString("out"));
  OCANNL_RETURN_IF_ERROR(MakeDirectory(directory));
  std::string texts;
  for (const Failure& failure : failures) {
    const std::string name = absl::StrCat("fuzz-", failure.seed, extension);
    const std::string text =
        ReproText(failure, absl::StrCat(directory, "/", name));
    OCANNL_RETURN_IF_ERROR(WriteFileIn(directory, name, text));
    absl::StrAppend(&texts, "\n", text);
  }
  return texts;
}

absl::Status FuzzBatches(const CommandLine& line,
                         fuzz::BatchCampaignOptions options,
                         std::ostream& out) {
  if (!line.Has("tiers")) {
    OCANNL_ASSIGN_OR_RETURN(options.tiers,
                            fuzz::FindComparedTiers(fuzz::BatchTiers()));
  }
  if (!line.positional().empty()) {
    OCANNL_RETURN_IF_ERROR(CheckEffects(line, "a file of one case",
                                        {"programs", "seed", "seconds"}));
    OCANNL_ASSIGN_OR_RETURN(std::string text,
                            ReadFile(UserPath(line.positional()[0])));
    OCANNL_ASSIGN_OR_RETURN(options.only, fuzz::ParseBatchCase(text));
    options.shrink = false;
  }
  const fuzz::BatchCampaignResult result = fuzz::RunBatchCampaign(options);
  out << Report(result);
  if (result.failures.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(std::string texts,
                          WriteFailures(line, result.failures, ".txt"));
  return absl::InternalError(absl::StrCat(
      result.failures.size(), " of ", result.cases, " graphs fail:", texts));
}

}  // namespace

absl::Status FuzzCommand(const CommandLine& line, std::ostream& out) {
  constexpr int64_t kMost = 1'000'000'000'000;
  fuzz::CampaignOptions options;
  OCANNL_ASSIGN_OR_RETURN(options.programs, line.GetInt("programs", 1, kMost));
  OCANNL_ASSIGN_OR_RETURN(options.seed, line.GetInt("seed", 0, kMost));
  OCANNL_ASSIGN_OR_RETURN(options.seconds, line.GetInt("seconds", 1, kMost));
  OCANNL_ASSIGN_OR_RETURN(bool notation, line.GetBool("notation"));
  OCANNL_ASSIGN_OR_RETURN(bool graphs, line.GetBool("graphs"));
  OCANNL_ASSIGN_OR_RETURN(bool batches, line.GetBool("batches"));
  OCANNL_ASSIGN_OR_RETURN(bool verbose, line.GetBool("verbose"));
  if (line.Has("corpus") && (graphs || !notation)) {
    return UserError("--corpus is for texts; add --notation, or leave it out");
  }
  std::vector<std::string> names =
      absl::StrSplit(line.GetString("tiers"), ',', absl::SkipEmpty());
  OCANNL_ASSIGN_OR_RETURN(options.tiers, fuzz::FindComparedTiers(names));
  if (batches) {
    OCANNL_RETURN_IF_ERROR(
        CheckEffects(line, "--batches", {"notation", "graphs", "verbose"}));
    return FuzzBatches(line,
                       {.seed = options.seed,
                        .cases = options.programs,
                        .seconds = options.seconds,
                        .tiers = options.tiers},
                       out);
  }
  if (graphs) {
    OCANNL_RETURN_IF_ERROR(
        CheckEffects(line, "--graphs", {"notation", "verbose", "out"}));
  } else if (notation) {
    OCANNL_RETURN_IF_ERROR(
        CheckEffects(line, "--notation", {"tiers", "verbose", "out"}));
  }
  if (notation || graphs) {
    fuzz::TextCampaignOptions texts = {.seed = options.seed,
                                       .texts = options.programs,
                                       .seconds = options.seconds};
    if (graphs) texts.tiers = options.tiers;
    return FuzzNotation(line, std::move(texts), out);
  }
  if (!line.positional().empty()) {
    OCANNL_ASSIGN_OR_RETURN(ProgramFile file,
                            ReadProgram(line, line.positional()[0]));
    options.program = std::move(file.program);
  }
  fuzz::CampaignResult result = fuzz::RunCampaign(options);
  out << Report(result);
  if (verbose) out << Coverage(result);
  if (result.failures.empty()) return absl::OkStatus();
  int64_t failed = 0;
  for (const fuzz::Failure& failure : result.failures) failed += failure.times;
  OCANNL_ASSIGN_OR_RETURN(std::string files,
                          WriteFailures(line, result.failures, ".ll"));
  return absl::InternalError(absl::StrCat(
      failed, " of ", result.programs, " programs fail; small ones:", files));
}

}  // namespace ocannl
