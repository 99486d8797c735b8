// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/print_script.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/words.h"

namespace ocannl::rewrite {
namespace {

// The words of a row for new loops: {"tile", "tail"} of split. None where
// their number is open.
std::vector<std::string> WordsOf(const Row& row) {
  const size_t equals = row.usage.find('=');
  if (equals == row.usage.npos || absl::StrContains(row.usage, "...")) {
    return {};
  }
  return absl::StrSplit(row.usage.substr(0, equals), absl::ByAnyChar("[], "),
                        absl::SkipEmpty());
}

// The iterators that count the cells of the array that is written last, the
// last axis first.
std::vector<IteratorId> AxesOf(const LoopProgram& program, const Stmt& nest) {
  std::vector<IteratorId> axes;
  WalkStmts(nest, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    const Scatter* scatter = std::get_if<Scatter>(&stmt);
    if (set == nullptr && scatter == nullptr) return;
    axes.clear();
    const Access target =
        set != nullptr ? set->target : program.TargetOf(*scatter).cell;
    for (size_t k = target.indices.size(); k-- > 0;) {
      for (const Affine::Term& term : target.indices[k].terms()) {
        const bool counts = term.symbol.kind == Symbol::kIterator;
        if (counts) axes.push_back(term.symbol.iterator());
      }
    }
  });
  return axes;
}

// Of an axis of a result, counted from the last one.
std::string AxisName(size_t axis) {
  return axis == 0 ? "n" : axis == 1 ? "m" : "b";
}

class Printer {
 public:
  Printer(const Script& script, const LoopProgram& program,
          absl::Span<const Block> scheduled)
      : script_(script) {
    FindNests(scheduled);
    std::string comments;
    for (const Stmt& stmt : program.body.stmts) {
      if (const auto* comment = std::get_if<Comment>(&stmt)) {
        absl::StrAppend(&comments, "# ",
                        absl::StrReplaceAll(comment->text, {{"\n", " "}}),
                        "\n");
      } else if (std::holds_alternative<For>(stmt)) {
        AddNest(program, stmt, std::exchange(comments, ""));
      }
    }
    for (const Step& step : script) {
      const std::vector<IteratorId>& loops = step.arguments.loops;
      used_.insert(loops.begin(), loops.end());
      if (step.row->name == "vectorize") becomes_[loops[0]] = "lane";
      const bool is_thread = step.arguments.kind == LoopKind::kThread;
      if (is_thread) becomes_[loops[0]] = "thread";
    }
  }

  std::string Run() && {
    const std::string* above = nullptr;  // the head of the lines above
    for (const Step& step : script_) {
      const std::vector<IteratorId>& loops = step.arguments.loops;
      // Loops over the axes of an array are a nest that has none yet.
      std::string* head =
          loops.empty() ? &heads_.emplace_back() : HeadOf(loops[0]);
      if (head != above) text_ += *head;
      above = head;
      if (step.row->name == "fuse") Fuse(*head, *HeadOf(loops[1]));
      for (IteratorId loop : step.made) head_of_[loop] = head;
      AppendLine(step);
    }
    return std::move(text_);
  }

 private:
  // ---- Nests ---------------------------------------------------------------

  // Finds the scheduled nests that each loop of the program became.
  void FindNests(absl::Span<const Block> scheduled) {
    absl::flat_hash_map<IteratorId, IteratorId> made_of;
    for (const Step& step : script_) {
      if (step.arguments.loops.empty()) continue;
      for (IteratorId loop : step.made) {
        made_of[loop] = step.arguments.loops[0];
      }
    }
    for (size_t k = 0; k < scheduled.size(); ++k) {
      WalkLoops(scheduled[k], [&](const For& loop) {
        IteratorId origin = loop.iterator;
        for (auto from = made_of.find(origin); from != made_of.end();
             from = made_of.find(origin)) {
          origin = from->second;
        }
        nests_of_[origin].insert(k);
      });
    }
  }

  void AddNest(const LoopProgram& program, const Stmt& nest, std::string head) {
    std::set<size_t> nests;
    WalkLoops({{nest}}, [&](const For& loop) {
      const std::set<size_t>& became = nests_of_[loop.iterator];
      nests.insert(became.begin(), became.end());
    });
    std::string names;
    for (size_t k : nests) {
      absl::StrAppend(&names, names.empty() ? "# " : ", ", NestName(k));
    }
    if (!names.empty()) names += "\n";
    heads_.push_back(names + head);
    const std::vector<IteratorId> axes = AxesOf(program, nest);
    std::string& text = heads_.back();
    std::string role;
    WalkLoops({{nest}}, [&](const For& loop) {
      const size_t axis = absl::c_find(axes, loop.iterator) - axes.begin();
      std::string& base = base_[loop.iterator];
      base = axis == axes.size() ? "k" : AxisName(axis);
      head_of_[loop.iterator] = &text;
      if (base != role) {
        absl::StrAppend(&text, role.empty() ? "# " : ", ", base, " =");
      }
      absl::StrAppend(&text, " ", Name(loop.iterator));
      role = base;
    });
    text += "\n";
  }

  // Empty where `program` has no such loop.
  std::string* HeadOf(IteratorId loop) {
    std::string*& head = head_of_[loop];
    if (head == nullptr) head = &heads_.emplace_back();
    return head;
  }

  // The nest with the second head becomes a part of that with the first.
  void Fuse(std::string& first, std::string& second) {
    if (&first == &second) return;
    text_ += second;
    first += second;
    for (auto& [loop, head] : head_of_) {
      if (head == &second) head = &first;
    }
  }

  // ---- Lines ---------------------------------------------------------------

  void AppendLine(const Step& step) {
    const auto& [row, arguments, made, inside] = step;
    // Those that have a word, and those that another line names.
    size_t named = std::min(made.size(), WordsOf(*row).size());
    for (size_t k = named; k < made.size(); ++k) {
      if (used_.contains(made[k])) named = k + 1;
    }
    for (size_t k = 0; k < made.size(); ++k) {
      std::string name = NameOf(step, k);
      if (k < named) {
        name = name_[made[k]] = Unique(name);
        absl::StrAppend(&text_, name, k + 1 < named ? ", " : " = ");
      }
      base_[made[k]] = std::move(name);
    }
    absl::StrAppend(&text_, row->name);
    if (row->arguments.find_first_of("btpz") != absl::string_view::npos) {
      absl::StrAppend(&text_, " ", arguments.buffer);
    }
    absl::Span<const IteratorId> loops = arguments.loops;
    if (absl::EndsWith(row->arguments, "?") && loops.front() == loops.back()) {
      loops = loops.first(1);
    }
    for (IteratorId loop : loops) {
      const auto name = name_.find(loop);
      absl::StrAppend(&text_, " ",
                      name == name_.end() ? Name(loop) : name->second);
    }
    const bool may_count = absl::EndsWith(row->arguments, "~");
    if (absl::StrContains(row->arguments, '#') ||
        (may_count && arguments.number > 0)) {
      absl::StrAppend(&text_, " ", arguments.number);
    }
    if (absl::StrContains(row->arguments, 'k')) {
      absl::StrAppend(&text_, " ", WordOf(arguments.kind));
    }
    text_ += "\n";
    if (row->name == "split") split_.insert(loops[0]);
    // The loop over both goes on along the inner axis.
    if (row->name == "collapse") base_[loops[0]] = BaseOf(loops[1]);
  }

  // What the new loop `k` is.
  std::string NameOf(const Step& step, size_t k) {
    const std::vector<IteratorId>& loops = step.arguments.loops;
    if (loops.empty()) return AxisName(step.made.size() - 1 - k);
    const std::string base = BaseOf(loops[0]);
    const std::vector<std::string> words = WordsOf(*step.row);
    if (k < words.size()) {
      return absl::StrCat(
          base, "_",
          words[k] == "tile" ? TileWord(loops[0], step.made[k]) : words[k]);
    }
    if (!words.empty() && k - words.size() < step.inside.size()) {
      return absl::StrCat(BaseOf(step.inside[k - words.size()]), "_",
                          words.back());
    }
    if (step.row->name == "distribute") return base;
    const std::string& buffer = step.arguments.buffer;
    return absl::StrCat(buffer.empty() ? base : buffer, "_", step.row->name);
  }

  // What the loop over a strip of `loop` is.
  std::string TileWord(IteratorId loop, IteratorId tile) {
    const auto word = becomes_.find(tile);
    if (word != becomes_.end()) return word->second;
    const std::string base = BaseOf(loop);
    if (base != "k" && !absl::StartsWith(base, "k_")) {
      return split_.contains(loop) ? "block" : "tile";
    }
    return absl::StrContains(base, "_block") ? "step" : "block";
  }

  // What names of loops that are made of it begin with.
  std::string BaseOf(IteratorId loop) const {
    const auto base = base_.find(loop);
    // Canonical nests may have loops that `program` has not.
    return base == base_.end() ? Name(loop) : base->second;
  }

  // A name that is in no line above.
  std::string Unique(std::string name) {
    for (char& c : name) {
      if (!absl::ascii_isalnum(c)) c = '_';
    }
    const std::string first = name;
    for (int k = 2; !names_.insert(name).second; ++k) {
      name = absl::StrCat(first, "_", k);
    }
    return name;
  }

  const Script& script_;
  absl::flat_hash_map<IteratorId, std::set<size_t>> nests_of_;
  std::deque<std::string> heads_;  // what stands above lines of a nest
  absl::flat_hash_map<IteratorId, std::string*> head_of_;
  absl::flat_hash_set<IteratorId> used_;                  // by a line
  absl::flat_hash_map<IteratorId, std::string> becomes_;  // words of tiles
  absl::flat_hash_set<IteratorId> split_;                 // by a line above
  absl::flat_hash_map<IteratorId, std::string> base_;
  absl::flat_hash_map<IteratorId, std::string> name_;  // of a line above
  absl::flat_hash_set<std::string> names_;
  std::string text_;
};

}  // namespace

std::string Print(const Script& script, const LoopProgram& program,
                  absl::Span<const Block> scheduled) {
  return Printer(script, program, scheduled).Run();
}

}  // namespace ocannl::rewrite
