// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/instruction_mix.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ocannl::jit {
namespace {

// A nest, or a loop of it.
struct Region {
  absl::string_view title;
  size_t depth = 0;
  size_t end = 0;  // the line of the jump to its begin
  int instructions = 0;
  int of_memory = 0;
  int of_stack = 0;
  std::map<absl::string_view, int> by_mnemonic = {};

  void Count(absl::string_view mnemonic, absl::string_view operands) {
    ++instructions;
    ++by_mnemonic[mnemonic];
    of_memory += absl::StrContains(operands, "[") && mnemonic != "lea";
    of_stack += absl::StrContains(operands, "[rsp");
  }

  std::string Text() const {
    std::vector<std::pair<int, absl::string_view>> most;
    for (const auto& [mnemonic, count] : by_mnemonic) {
      most.emplace_back(-count, mnemonic);
    }
    std::sort(most.begin(), most.end());
    const std::string indent(2 * depth, ' ');
    return absl::StrCat(
        indent, title, ": ", instructions, " instructions, ", of_memory,
        " of memory, ", of_stack, " of the stack\n", indent, "  ",
        absl::StrJoin(most, ", ",
                      [](std::string* out, const auto& counted) {
                        absl::StrAppend(out, -counted.first, " ",
                                        counted.second);
                      }),
        "\n");
  }
};

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

std::string InstructionMix(absl::string_view listing) {
  const std::vector<absl::string_view> lines = absl::StrSplit(listing, '\n');
  const auto ends = LoopEnds(lines);
  std::vector<Region> regions;
  std::vector<size_t> open;  // of `regions`, outermost first
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
      open.push_back(regions.size());
      regions.push_back({.title = std::exchange(title, {}),
                         .depth = open.size() - 1,
                         .end = end});
    } else if (const auto [mnemonic, operands] = Instruction(lines[k]);
               !mnemonic.empty()) {
      regions[open.back()].Count(mnemonic, operands);
      if (regions[open.back()].end == k) open.pop_back();
    }
  }
  return absl::StrJoin(regions, "", [](std::string* out, const Region& region) {
    absl::StrAppend(out, region.Text());
  });
}

}  // namespace ocannl::jit
