// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/print.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/cd/form.h"
#include "ocannl/core/loop/words.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

// Without its type.
std::string NumberOf(const Constant& constant) {
  std::string text = PrintConstant(constant);
  text.resize(std::min(text.find(':'), text.size()));
  return text;
}

// i, j, ... z, i1, j1, ...
std::string LoopName(IteratorId loop) {
  constexpr int kLetters = 'z' - 'i' + 1;
  std::string name(1, static_cast<char>('i' + loop.index % kLetters));
  if (loop.index >= kLetters) absl::StrAppend(&name, loop.index / kLetters);
  return name;
}

std::string IndexText(const Assignments& code, const Affine& index) {
  return index.Text([&](Symbol symbol) {
    return symbol.kind == Symbol::kStatic
               ? absl::StrCat("!@", code.statics[symbol.number].name)
               : LoopName(symbol.iterator());
  });
}

std::string SlotText(const Assignments& code, const Indices& indices,
                     int32_t looked_up_axis) {
  std::vector<std::string> texts;
  for (const Affine& index : indices) {
    const bool is_looked_up = looked_up_axis-- == 0;
    texts.push_back(is_looked_up ? std::string("@") : IndexText(code, index));
  }
  return absl::StrJoin(texts, ", ");
}

// The slots of what `source` reads.
void AddSlots(const Assignments& code, const Assign& assign,
              const Source& source, std::vector<std::string>& slots) {
  if (const auto* read = std::get_if<ReadArray>(&source)) {
    slots.push_back(SlotText(code, read->indices, -1));
    const Constant outside = MakeConstant(DType::kF64, read->outside);
    if (outside.bits == 0 || !LeavesArray(code, assign, *read)) return;
    absl::StrAppend(&slots.back(), " else ", NumberOf(outside));
  } else if (const auto* lookup = std::get_if<ReadLookup>(&source)) {
    slots.push_back(SlotText(code, lookup->table->indices, lookup->axis));
    slots.push_back(SlotText(code, lookup->ids->indices, -1));
  }
}

// Whether the text of the slots alone gives the loops of `by_slots`.
bool TellsLoops(const Assignments& code, const Assign& by_slots) {
  IteratorId next = {0};
  bool ascends = true;
  IdVector<IteratorId, bool> seen(by_slots.extents.size(), false);
  auto see = [&](const Affine& index) {
    for (const Affine::Term& term : index.terms()) {
      if (term.symbol.kind == Symbol::kStatic) continue;
      const IteratorId loop = term.symbol.iterator();
      if (seen[loop]) continue;
      seen[loop] = true;
      ascends = ascends && loop == next++;
    }
  };
  absl::c_for_each(by_slots.lhs_indices, see);
  for (const Source& source : by_slots.sources) {
    WalkArrays(source, [&](const ReadArray& read) {
      absl::c_for_each(read.indices, see);
    });
  }
  for (const Source& source : by_slots.sources) {
    if (const auto* read = std::get_if<ReadIndex>(&source)) see(read->index);
  }
  for (IteratorId k : by_slots.extents.ids()) {
    if (!seen[k] || PlainExtent(code, by_slots, k) != by_slots.extents[k]) {
      return false;
    }
  }
  return ascends;
}

std::string LogicText(const Assignments& code, const Assign& assign) {
  const Assign by_slots = BySlots(code.exprs, assign);
  if (IsPointwise(code, by_slots)) {
    // In the notation, `*` without a word composes.
    const auto* apply = std::get_if<Apply>(&code.exprs[assign.rhs]);
    const bool is_product = apply != nullptr && apply->op == Op::kMul;
    return is_product ? " ~logic:\".\"" : "";
  }
  std::vector<std::string> slots;
  for (const Source& source : by_slots.sources) {
    AddSlots(code, by_slots, source, slots);
  }
  std::string text = absl::StrCat(
      " ~logic:\"", absl::StrJoin(slots, "; "), slots.empty() ? "=> " : " => ",
      SlotText(code, assign.lhs_indices,
               assign.lookup ? assign.lookup->axis : -1),
      "\"");
  if (TellsLoops(code, by_slots)) return text;
  std::vector<std::string> loops;
  for (IteratorId k : assign.extents.ids()) {
    loops.push_back(
        absl::StrCat("\"", LoopName(k), "\" = ", assign.extents[k]));
  }
  return absl::StrCat(text, " [", absl::StrJoin(loops, "; "), "]");
}

// Remarks on what is padded.
std::string PaddingText(const Assignments& code, const Assign& assign) {
  absl::flat_hash_set<std::string> said;
  std::string text;
  for (const std::string& padding :
       DescribePadding(code, BySlots(code.exprs, assign))) {
    if (!said.insert(padding).second) continue;
    absl::StrAppend(&text, "  # ", padding, "\n");
  }
  return text;
}

std::string LeafText(const Assignments& code, const Assign& assign,
                     const Leaf& leaf) {
  auto name = [&](const ReadArray& read) {
    return NameText(code.arrays[read.array].name);
  };
  const Source& source = assign.sources[leaf.id];
  if (const auto* number = std::get_if<ReadIndex>(&source)) {
    const auto& terms = number->index.terms();
    const std::string text = IndexText(code, number->index);
    const bool is_static = terms.size() == 1 &&
                           number->index == Affine(terms[0].symbol) &&
                           terms[0].symbol.kind == Symbol::kStatic;
    return is_static ? text : absl::StrCat("[", text, "]");
  }
  std::string text;
  if (const auto* read = std::get_if<ReadArray>(&source)) {
    text = name(*read);
  } else {
    const auto& lookup = std::get<ReadLookup>(source);
    text = absl::StrCat(name(*lookup.table), "[", name(*lookup.ids), "]");
  }
  const DType stored = code.arrays[*ArrayOf(source)].dtype;
  const bool is_as_stored =
      leaf.dtype == stored && stored != ComputeDType(stored);
  return is_as_stored ? absl::StrCat("bits_", Name(stored), "(", text, ")")
                      : text;
}

std::string PrintAssign(const Assignments& code, const Assign& assign) {
  std::string text = NameText(code.arrays[assign.lhs].name);
  if (assign.lookup) {
    const Source& ids = assign.sources[assign.lookup->ids];
    absl::StrAppend(&text, "[", NameText(code.arrays[*ArrayOf(ids)].name), "]");
  }
  for (const AssignOperator& each : kAssignOperators) {
    if (each.accum != assign.accum || each.reset != assign.reset) continue;
    absl::StrAppend(&text, " ", each.symbol, " ");
  }
  absl::StrAppend(&text,
                  PrintExpr(code.exprs, assign.rhs, [&](const Leaf& leaf) {
                    return LeafText(code, assign, leaf);
                  }));
  return absl::StrCat(text, LogicText(code, assign), ";\n");
}

// In quotes, on one line; read back by CUnescape.
std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"",
      absl::StrReplaceAll(absl::Utf8SafeCHexEscape(text),
                          {{"\\\\", "\\\\"}, {"\\\"", "\\x22"}, {"\\'", "'"}}),
      "\"");
}

std::string Numbers(const NdArray& data) {
  std::string text;
  for (int64_t i = 0; i < data.size(); ++i) {
    const size_t size = SizeOf(data.dtype());
    uint64_t bits = 0;
    std::memcpy(&bits, data.data() + i * size, size);
    absl::StrAppend(&text, i == 0 ? "" : ", ",
                    NumberOf(FromBits(data.dtype(), bits)));
  }
  return text;
}

std::string Declaration(const Array& array) {
  std::string text =
      absl::StrCat("  ", NameText(array.name), " : ", Name(array.dtype), "[",
                   absl::StrJoin(array.dims, ", "), "]");
  if (array.is_merge) absl::StrAppend(&text, " merge");
  if (array.memory) {
    absl::StrAppend(&text, " ", Name(array.memory->mode), " ",
                    Quoted(array.memory->why));
  }
  if (array.data != nullptr && !OmitsData(array)) {
    absl::StrAppend(&text, " = [", Numbers(*array.data), "]");
  }
  return absl::StrCat(text, ";");
}

}  // namespace

std::string PrintCd(const Assignments& code,
                    absl::FunctionRef<std::string(const Array&)> remark) {
  std::string text = absl::StrCat(
      NameText(RoutineName(code)), " (",
      absl::StrJoin(code.statics, ", ",
                    [](std::string* out, const StaticSymbol& index) {
                      absl::StrAppend(out, NameText(index.name));
                      if (!index.range) return;
                      absl::StrAppend(out, " : [0..", *index.range - 1, "]");
                    }),
      "):\n");
  for (const Array& array : code.arrays) {
    const std::string said = absl::StrReplaceAll(remark(array), {{"\n", " "}});
    absl::StrAppend(&text, Declaration(array), said.empty() ? "" : "  # ", said,
                    "\n");
  }
  for (const Assignment& assignment : code.list) {
    std::visit(Overload{
                   [&](const Assign& assign) {
                     text += PaddingText(code, assign);
                     absl::StrAppend(&text, "  ", PrintAssign(code, assign));
                   },
                   [&](const BlockComment& comment) {
                     absl::StrAppend(&text, "  /* ", comment.text, " */\n");
                   },
               },
               assignment);
  }
  return text;
}

std::string PrintCd(const Assignments& code) {
  return PrintCd(code,
                 [](const Array& array) { return ToString(array.where); });
}

Assignments WithOrigins(const Assignments& code) {
  Assignments result = code;
  result.list.clear();
  size_t line = 2 + code.arrays.size();
  for (const Assignment& assignment : code.list) {
    const auto* assign = std::get_if<Assign>(&assignment);
    if (assign != nullptr) {
      line += absl::c_count(PaddingText(code, *assign), '\n');
      std::string text = absl::StrCat(line, ": ", PrintAssign(code, *assign));
      text.resize(text.size() - 2);  // without its end
      const std::string place = ToString(code.arrays[assign->lhs].where);
      absl::StrAppend(&text, place.empty() ? "" : ", ", place);
      result.list.push_back(BlockComment{std::move(text)});
    }
    result.list.push_back(assignment);
    ++line;
  }
  return result;
}

}  // namespace ocannl
