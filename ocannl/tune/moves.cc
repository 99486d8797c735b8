// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/moves.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace ocannl::tune {
namespace {

using fuzz::Random;

size_t PickIndex(size_t size, Random& random) {
  return static_cast<size_t>(random.Below(static_cast<int64_t>(size)));
}

// The script before line `end`.
void DoBefore(const Lines& lines, size_t end, LegalScript& script) {
  for (size_t k = 0; k < end; ++k) script.Do(lines[k]);
}

// A size near `size`: doubled, halved, one more or less, or any small one.
int64_t OtherSize(int64_t size, Random& random) {
  switch (random.Below(5)) {
    case 0:
      return size * 2;
    case 1:
      return std::max<int64_t>(1, size / 2);
    case 2:
      return size + 1;
    case 3:
      return std::max<int64_t>(1, size - 1);
    default:
      return 1 + random.Below(16);
  }
}

void ChangeNumber(Lines& lines, Random& random) {
  std::vector<size_t> counted;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::optional<ParsedLine> line = ParseLine(lines[k]);
    if (line && line->NumberAt() && line->row->name != "cut") {
      counted.push_back(k);
    }
  }
  if (counted.empty()) return;
  std::string& text = lines[random.Pick(counted)];
  ParsedLine line = *ParseLine(text);
  std::string& number = line.words[*line.NumberAt()];
  number = absl::StrCat(OtherSize(std::stoll(number), random));
  text = line.Text();
}

// The line that splits the loop; the number of lines: there is none.
size_t SplitOf(const Lines& lines, size_t first, const std::string& loop) {
  for (size_t k = first; k < lines.size(); ++k) {
    const std::optional<ParsedLine> line = ParseLine(lines[k]);
    if (line && line->row->name == "split" && line->FirstLoop() == loop) {
      return k;
    }
  }
  return lines.size();
}

void SetNumber(std::string& text, int64_t number) {
  ParsedLine line = *ParseLine(text);
  line.words[*line.NumberAt()] = absl::StrCat(number);
  text = line.Text();
}

// Tiles of another size for a loop that is cut where whole tiles end. The rest
// is one tile, if it is split.
void ChangeTiles(const LoopProgram& program, Lines& lines, Random& random) {
  std::vector<size_t> cuts;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::optional<ParsedLine> line = ParseLine(lines[k]);
    if (line && line->row->name == "cut") cuts.push_back(k);
  }
  if (cuts.empty()) return ChangeNumber(lines, random);
  const size_t at = random.Pick(cuts);
  const ParsedLine cut = *ParseLine(lines[at]);
  const size_t split = SplitOf(lines, at, cut.FirstLoop());
  if (split == lines.size() || cut.names.empty()) return;
  LegalScript before(program);
  DoBefore(lines, at, before);
  const int64_t extent = before.ExtentOf(cut.FirstLoop());
  const ParsedLine old = *ParseLine(lines[split]);
  const int64_t size =
      OtherSize(std::stoll(old.words[*old.NumberAt()]), random);
  if (size > extent) return;
  const int64_t rest = extent % size;
  SetNumber(lines[split], size);
  SetNumber(lines[at], extent - rest);
  const size_t split_of_rest = SplitOf(lines, at, cut.names[0]);
  if (split_of_rest < lines.size() && rest > 0) {
    SetNumber(lines[split_of_rest], rest);
  }
}

// Exchanges two loops of one `reorder`.
void ChangeOrder(Lines& lines, Random& random) {
  std::vector<size_t> orders;
  for (size_t k = 0; k < lines.size(); ++k) {
    const std::optional<ParsedLine> line = ParseLine(lines[k]);
    if (line && line->row->name == "reorder") orders.push_back(k);
  }
  if (orders.empty()) return;
  std::string& text = lines[random.Pick(orders)];
  ParsedLine line = *ParseLine(text);
  const size_t a = PickIndex(line.words.size(), random);
  const size_t b = PickIndex(line.words.size(), random);
  std::swap(line.words[a], line.words[b]);
  text = line.Text();
}

// A name that no line has.
std::string FreshName(const Lines& lines, absl::string_view word) {
  for (int k = 1;; ++k) {
    std::string name = absl::StrCat(word, k);
    const bool is_used = absl::c_any_of(lines, [&](const std::string& text) {
      const std::optional<ParsedLine> line = ParseLine(text);
      return line && absl::c_linear_search(line->names, name);
    });
    if (!is_used) return name;
  }
}

// A rewrite of some loops and buffers of the program at that place.
std::string RandomLine(const Lines& lines, const LegalScript& script,
                       Random& random) {
  const std::vector<std::string> loops = script.LoopNames();
  if (loops.empty()) return "";
  const std::string loop = random.Pick(loops);
  const std::string other = random.Pick(loops);
  const std::string buffer = random.Pick(script.program().buffers).name;
  const int64_t size = 1 + random.Below(16);
  switch (random.Below(11)) {
    case 0:
      return absl::StrCat(FreshName(lines, "t"), " = split ", loop, " ",
                          random.OneIn(2) ? size : size * 8);
    case 1:
      return absl::StrCat("reorder ", loop, " ", other);
    case 2:
      return absl::StrCat("vectorize ", loop);
    case 3:
      return absl::StrCat(FreshName(lines, "u"), " = unroll_jam ", loop, " ",
                          size);
    case 4:
      return absl::StrCat("privatize ", buffer, " ", loop);
    case 5:
      return absl::StrCat("pack ", buffer, " ", loop);
    case 6:
      return absl::StrCat("pack ", buffer, " ", loop, " ", loop, " ", other);
    case 7:
      return absl::StrCat("parallel ", loop);
    case 8:
      return absl::StrCat("fuse ", loop, " ", other);
    case 9:
      return absl::StrCat("bind ", loop, " unroll");
    default:
      return absl::StrCat("distribute ", loop);
  }
}

void Insert(const LoopProgram& program, Lines& lines, Random& random) {
  const size_t at = PickIndex(lines.size() + 1, random);
  LegalScript before(program);
  DoBefore(lines, at, before);
  std::string line = RandomLine(lines, before, random);
  if (!line.empty()) {
    lines.insert(lines.begin() + static_cast<int64_t>(at), std::move(line));
  }
}

}  // namespace

Lines Mutated(const LoopProgram& program, Lines lines, Random& random) {
  const int64_t move = random.Below(12);
  if (lines.empty() || move < 3) {
    Insert(program, lines, random);
  } else if (move < 5) {
    ChangeNumber(lines, random);
  } else if (move < 8) {
    ChangeTiles(program, lines, random);
  } else if (move < 9) {
    ChangeOrder(lines, random);
  } else if (move < 11) {
    const size_t dropped = PickIndex(lines.size(), random);
    lines.erase(lines.begin() + static_cast<int64_t>(dropped));
  } else {
    const size_t from = PickIndex(lines.size(), random);
    const size_t to = PickIndex(lines.size(), random);
    std::string line = std::move(lines[from]);
    lines.erase(lines.begin() + static_cast<int64_t>(from));
    lines.insert(lines.begin() + static_cast<int64_t>(to), std::move(line));
  }
  return lines;
}

}  // namespace ocannl::tune
