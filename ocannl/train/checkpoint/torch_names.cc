// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/torch_names.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"

namespace ocannl::train {
namespace {

using Parts = std::vector<absl::string_view>;

constexpr std::pair<absl::string_view, absl::string_view> kLastParts[] = {
    {"w", "weight"},
    {"scale", "weight"},
    {"table", "weight"},
    {"b", "bias"},
    {"shift", "bias"},
    {"running_variance", "running_var"},
    {"running_mean", "running_mean"}};

// What {n} stands for in a match, if the rule has it.
struct Match {
  std::optional<int64_t> number = {};
};

// Of a part of a name and of a rule.
std::optional<Match> MatchPart(absl::string_view part, absl::string_view rule) {
  const size_t at = rule.find("{n}");
  if (at == rule.npos) {
    return part == rule ? std::optional<Match>(Match()) : std::nullopt;
  }
  int64_t number = 0;
  if (!absl::ConsumePrefix(&part, rule.substr(0, at)) ||
      !absl::ConsumeSuffix(&part, rule.substr(at + 3)) ||
      !absl::c_all_of(part, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(part, &number)) {
    return std::nullopt;
  }
  return Match{number};
}

// Of the first parts of a name.
std::optional<Match> MatchFront(absl::Span<const absl::string_view> parts,
                                const Parts& rule) {
  if (rule.size() > parts.size()) return std::nullopt;
  Match all;
  for (size_t k = 0; k < rule.size(); ++k) {
    const std::optional<Match> match = MatchPart(parts[k], rule[k]);
    if (!match) return std::nullopt;
    if (match->number) all = *match;
  }
  return all;
}

// The value of "n", "n-1" or "2n+3"; nullopt: `text` is none, or too large.
std::optional<int64_t> Evaluate(absl::string_view text, int64_t n) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('n', 1));
  int64_t factor = 1, offset = 0;
  if (!absl::StrContains(text, 'n') ||
      (!sides.first.empty() && !absl::SimpleAtoi(sides.first, &factor)) ||
      (!sides.second.empty() && !absl::SimpleAtoi(sides.second, &offset))) {
    return std::nullopt;
  }
  int64_t value = 0;
  if (__builtin_mul_overflow(factor, n, &value) ||
      __builtin_add_overflow(value, offset, &value)) {
    return std::nullopt;
  }
  return value;
}

// `theirs` with what stands in braces computed.
std::string Filled(absl::string_view theirs, const Match& match) {
  std::string text;
  while (!theirs.empty()) {
    const size_t begin = theirs.find('{');
    const size_t end = theirs.find('}', begin);
    if (end == theirs.npos) break;
    const auto value =
        match.number
            ? Evaluate(theirs.substr(begin + 1, end - begin - 1), *match.number)
            : std::nullopt;
    absl::StrAppend(&text, theirs.substr(0, begin));
    if (value) {
      absl::StrAppend(&text, *value);
    } else {
      absl::StrAppend(&text, theirs.substr(begin, end + 1 - begin));
    }
    theirs.remove_prefix(end + 1);
  }
  return absl::StrCat(text, theirs);
}

std::string Renamed(absl::string_view name, absl::Span<const NameRule> rules) {
  const Parts parts = absl::StrSplit(name, '_');
  std::vector<std::string> theirs;
  for (size_t k = 0; k < parts.size();) {
    const auto rest = absl::MakeConstSpan(parts).subspan(k);
    size_t taken = 0;
    for (size_t r = 0; r < rules.size() && taken == 0; ++r) {
      const Parts rule = absl::StrSplit(rules[r].ours, '_');
      const std::optional<Match> match = MatchFront(rest, rule);
      if (!match) continue;
      taken = rule.size();
      if (rules[r].theirs.empty()) continue;
      theirs.push_back(Filled(rules[r].theirs, *match));
    }
    for (const auto& [ours, text] : kLastParts) {
      if (taken > 0 || absl::StrJoin(rest, "_") != ours) continue;
      taken = rest.size();
      theirs.emplace_back(text);
    }
    if (taken == 0) {
      taken = 1;
      theirs.emplace_back(rest[0]);
    }
    k += taken;
  }
  return absl::StrJoin(theirs, ".");
}

}  // namespace

std::function<std::string(absl::string_view)> PyTorchNames(
    std::vector<NameRule> rules) {
  return [rules = std::move(rules)](absl::string_view name) {
    return Renamed(name, rules);
  };
}

std::vector<NameRule> BertRules() {
  return {{"encoder_block{n}", "encoder.layer.{n-1}"},
          {"self_norm", "attention.output.LayerNorm"},
          {"self_out", "attention.output.dense"},
          {"self", "attention.self"},
          {"in", "intermediate.dense"},
          {"out", "output.dense"},
          {"mlp_norm", "output.LayerNorm"},
          {"norm", "embeddings.LayerNorm"},
          {"word", "embeddings.word_embeddings"},
          {"position", "embeddings.position_embeddings"},
          {"type", "embeddings.token_type_embeddings"}};
}

}  // namespace ocannl::train
