// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/instruction_mix.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ocannl::jit {
namespace {

void Count(absl::string_view mnemonic, absl::string_view operands,
           LoopMix& mix) {
  ++mix.instructions;
  ++mix.by_mnemonic[std::string(mnemonic)];
  if (mnemonic == "lea" || !absl::StrContains(operands, "[")) return;
  ++mix.of_memory;
  mix.of_stack += absl::StrContains(operands, "[rsp");
  const bool is_first =
      absl::StrContains(operands.substr(0, operands.find(',')), "[");
  mix.stores += is_first && mnemonic != "cmp" && mnemonic != "test" &&
                !absl::StartsWith(mnemonic, "prefetch");
}

// The trip count in the title of a loop: 32 of "for i3 = 0 to 31". The title
// of a parallel one ends likewise, and others run once for all that is known.
int64_t TripCount(absl::string_view title) {
  const size_t to = title.rfind(" to ");
  int64_t last = 0;
  if (to == absl::string_view::npos ||
      !absl::SimpleAtoi(title.substr(to + 4), &last)) {
    return 1;
  }
  return last + 1;
}

std::string Text(const LoopMix& mix) {
  std::vector<std::pair<int, absl::string_view>> most;
  for (const auto& [mnemonic, count] : mix.by_mnemonic) {
    most.emplace_back(-count, mnemonic);
  }
  std::sort(most.begin(), most.end());
  const std::string indent(2 * mix.depth, ' ');
  return absl::StrCat(indent, mix.title, ": ", mix.instructions,
                      " instructions, ", mix.of_memory, " of memory, ",
                      mix.of_stack, " of the stack\n", indent, "  ",
                      absl::StrJoin(most, ", ",
                                    [](std::string* out, const auto& counted) {
                                      absl::StrAppend(out, -counted.first, " ",
                                                      counted.second);
                                    }),
                      "\n");
}

// The mnemonic and the operands of a line; of a line that is no instruction,
// nothing.
std::pair<absl::string_view, absl::string_view> Instruction(
    absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "    ") || absl::StartsWith(line, "align")) {
    return {};
  }
  absl::ConsumePrefix(&line, "short ");
  return absl::StrSplit(line, absl::MaxSplits(' ', 1));
}

// The last line that jumps back to each label: where its loop ends.
absl::flat_hash_map<absl::string_view, size_t> LoopEnds(
    const std::vector<absl::string_view>& lines) {
  absl::flat_hash_map<absl::string_view, size_t> ends;
  for (size_t k = 0; k < lines.size(); ++k) {
    absl::string_view label = lines[k];
    if (absl::ConsumeSuffix(&label, ":")) ends[label] = 0;
    const auto [mnemonic, target] = Instruction(lines[k]);
    if (!absl::StartsWith(mnemonic, "j")) continue;
    if (auto known = ends.find(target); known != ends.end()) known->second = k;
  }
  return ends;
}

}  // namespace

std::vector<LoopMix> LoopMixes(absl::string_view listing) {
  struct Open {
    size_t mix;  // in `mixes`
    size_t end;  // the line of the jump to its begin
  };
  const std::vector<absl::string_view> lines = absl::StrSplit(listing, '\n');
  const auto ends = LoopEnds(lines);
  std::vector<LoopMix> mixes;
  std::vector<Open> open;  // outermost first
  absl::string_view title;
  for (size_t k = 0; k < lines.size(); ++k) {
    absl::string_view text = lines[k];
    if (absl::ConsumePrefix(&text, "; ")) {
      const absl::string_view loop = text.substr(0, text.find(':'));
      if (absl::StrContains(loop, " to ")) title = loop;
    } else if (absl::ConsumeSuffix(&text, ":")) {
      if (text == "pool") break;
      const size_t end = ends.at(text);
      const bool is_entry = !absl::StartsWith(text, "L");  // L4: one inside
      if (!is_entry && end == 0) continue;
      if (is_entry || title.empty()) title = text;
      if (is_entry) open.clear();
      const int64_t around = open.empty() ? 1 : mixes[open.back().mix].runs;
      mixes.push_back({.title = std::string(std::exchange(title, {})),
                       .depth = static_cast<int>(open.size())});
      mixes.back().runs = around * TripCount(mixes.back().title);
      open.push_back({mixes.size() - 1, end});
    } else if (const auto [mnemonic, operands] = Instruction(lines[k]);
               !mnemonic.empty()) {
      Count(mnemonic, operands, mixes[open.back().mix]);
      if (open.back().end == k) open.pop_back();
    }
  }
  return mixes;
}

std::string InstructionMix(absl::string_view listing) {
  return absl::StrJoin(LoopMixes(listing), "",
                       [](std::string* out, const LoopMix& mix) {
                         absl::StrAppend(out, Text(mix));
                       });
}

}  // namespace ocannl::jit
