// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/script_lines.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"

namespace ocannl::tune {
namespace {

std::vector<std::string> WordsOf(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
}

// What the argument is, as a letter of rewrites.def.
char KindOfWord(const rewrite::Row& row, size_t word) {
  const absl::string_view kinds = row.arguments;
  if (word >= kinds.size() || absl::StrContains("*?", kinds[word])) return 'l';
  return kinds[word] == '~' ? '#' : kinds[word];
}

}  // namespace

bool ParsedLine::IsLoop(size_t word) const {
  return absl::StrContains("lingrs", KindOfWord(*row, word));
}

std::vector<std::string> ParsedLine::Loops() const {
  std::vector<std::string> loops;
  for (size_t k = 0; k < words.size(); ++k) {
    if (IsLoop(k)) loops.push_back(words[k]);
  }
  return loops;
}

std::string ParsedLine::FirstLoop() const {
  const std::vector<std::string> loops = Loops();
  return loops.empty() ? "" : loops[0];
}

std::string ParsedLine::Buffer() const {
  const bool has_buffer =
      !words.empty() && absl::StrContains("btpz", KindOfWord(*row, 0));
  return has_buffer ? words[0] : "";
}

std::optional<size_t> ParsedLine::NumberAt() const {
  for (size_t k = 0; k < words.size(); ++k) {
    if (KindOfWord(*row, k) == '#') return k;
  }
  return std::nullopt;
}

std::string ParsedLine::Text() const {
  std::string text = absl::StrJoin(names, ", ");
  if (!names.empty()) text += " = ";
  absl::StrAppend(&text, row->name);
  for (const std::string& word : words) absl::StrAppend(&text, " ", word);
  return text;
}

std::optional<ParsedLine> ParseLine(absl::string_view line) {
  ParsedLine parsed{};
  const size_t equals = line.find('=');
  if (equals != line.npos) {
    parsed.names = WordsOf(line.substr(0, equals));
    line.remove_prefix(equals + 1);
  }
  parsed.words = WordsOf(line);
  if (parsed.words.empty()) return std::nullopt;
  const absl::Span<const rewrite::Row> rows = rewrite::Rows();
  const auto row = absl::c_find_if(rows, [&](const rewrite::Row& other) {
    return other.name == parsed.words[0];
  });
  if (row == rows.end()) return std::nullopt;
  parsed.row = &*row;
  parsed.words.erase(parsed.words.begin());
  return parsed;
}

bool LegalScript::Do(const std::string& line) {
  const bool done = runner_.Line(line).ok();
  if (done || absl::StartsWith(line, "sink ")) {
    lines_.push_back(line);
  } else {
    ++refused_;
  }
  return done;
}

void LegalScript::DoAll(const Lines& lines) {
  for (const std::string& line : lines) Do(line);
}

std::optional<IteratorId> LegalScript::IteratorOf(
    const std::string& loop) const {
  const auto named = runner_.names().find(loop);
  if (named == runner_.names().end()) return IteratorNamed(loop);
  if (named->second.is_empty) return std::nullopt;
  return named->second.loop;
}

int64_t LegalScript::ExtentOf(const std::string& loop) const {
  const std::optional<IteratorId> iterator = IteratorOf(loop);
  int64_t extent = 0;
  WalkLoops(program().body, [&](const For& other) {
    if (iterator == other.iterator) extent = other.extent;
  });
  return extent;
}

std::vector<std::string> LegalScript::LoopNames() const {
  absl::flat_hash_map<IteratorId, std::string> names;
  for (const auto& [name, loop] : runner_.names()) {
    if (loop.is_empty) continue;
    std::string& known = names[loop.loop];
    if (known.empty() || name < known) known = name;
  }
  std::vector<std::string> loops;
  WalkLoops(program().body, [&](const For& loop) {
    const auto named = names.find(loop.iterator);
    if (named != names.end()) {
      loops.push_back(named->second);
    } else if (loop.iterator.index < first_new_) {
      loops.push_back(Name(loop.iterator));
    }
  });
  return loops;
}

}  // namespace ocannl::tune
