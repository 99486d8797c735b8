// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/graph/code_repeat.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

// Calls `visit` with the number of each array of the assignment.
void WalkNumbers(Assignment& assignment,
                 absl::FunctionRef<void(int32_t&)> visit) {
  auto* assign = std::get_if<Assign>(&assignment);
  if (assign == nullptr) return;
  visit(assign->lhs);
  for (Source& source : assign->sources) {
    WalkArrays(source, [&](ReadArray& read) { visit(read.array); });
  }
}

bool IsGradientOf(absl::string_view name, absl::string_view tensor) {
  return absl::ConsumeSuffix(&name, kGradientSuffix) && name == tensor;
}

// An array of a body, and what it is for another tensor.
struct CopiedArray {
  int32_t number;  // in the code
  Array array;
  int32_t copy = -1;  // the number of that, once it is in the code
};

// Bodies have few arrays.
CopiedArray* Find(std::vector<CopiedArray>& arrays, int32_t number) {
  const auto found = absl::c_find_if(
      arrays, [&](const CopiedArray& each) { return each.number == number; });
  return found == arrays.end() ? nullptr : &*found;
}

}  // namespace

BodyRepeater::Mark BodyRepeater::CurrentMark() const {
  const Assignments& update = written_.code.update;
  const Assignments& init = written_.code.init;
  return {.arrays = {update.arrays.size(), init.arrays.size()},
          .list = {update.list.size(), init.list.size()},
          .declared = written_.declared.size(),
          .computed = model_.computed_by.forward.size(),
          .parts = written_.parts,
          .randoms = scope_.graph().randoms()};
}

absl::Status BodyRepeater::Write(Tensor of,
                                 absl::FunctionRef<absl::Status()> write) {
  const TensorNode& node = of.node();
  // Else the code of others would not tell where the name stands in it.
  const bool is_word = absl::c_all_of(
      node.name, [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  // A loop around this one may name the tensor, too.
  if (!is_word || written_.loops > 1 || scope_.IsNamed(of) ||
      !std::holds_alternative<ParamSource>(node.source)) {
    return write();
  }
  const std::string kind =
      absl::StrCat(ToString(model_.shapes.at(of.id)), " ", Name(node.dtype),
                   " ", node.has_gradient);
  const auto known = bodies_.find(kind);
  if (known != bodies_.end() && Copy(known->second, of)) {
    return absl::OkStatus();
  }
  const Mark begin = CurrentMark();
  written_.is_regular = true;
  OCANNL_RETURN_IF_ERROR(write());
  const Mark end = CurrentMark();
  if (written_.is_regular && begin.computed == end.computed &&
      begin.randoms == end.randoms) {
    bodies_.insert_or_assign(kind, Body{of, begin, end});
  }
  return absl::OkStatus();
}

// The array for `to` in the place of one of the body. None: it is another one
// of the body's tensor than its value, its gradient, or what the body declares.
std::optional<Array> BodyRepeater::ArrayFor(const Array& array,
                                            const Body& body, Tensor to) const {
  const std::string& old = body.of.node().name;
  if (array.name == old) return ValueArray(model_.graph, model_.shapes, to.id);
  if (IsGradientOf(array.name, old)) {
    return GradientArray(model_.graph, model_.shapes, to.id);
  }
  if (model_.graph.Find(array.name)) return array;
  if (array.is_merge) return std::nullopt;
  Array copy = array;
  const absl::string_view name = array.name;
  absl::string_view stem = name;
  const size_t dot = name.rfind('.');
  int part = 0;
  if (dot != name.npos && absl::SimpleAtoi(name.substr(dot + 1), &part) &&
      part > body.begin.parts && part <= body.end.parts) {
    copy.name.resize(dot);
    std::optional<Array> whole = ArrayFor(copy, body, to);
    if (!whole) return std::nullopt;
    copy.name = absl::StrCat(whole->name, ".",
                             part - body.begin.parts + written_.parts);
    // It may be where the body's tensor is, or where the text is.
    const SourceLocation of = body.of.node().where;
    if (copy.where.file == of.file && copy.where.line == of.line) {
      copy.where = to.node().where;
    }
  } else if (absl::ConsumeSuffix(&stem, old) && absl::EndsWith(stem, "_")) {
    copy.name.replace(name.size() - old.size(), old.size(), to.node().name);
    const auto declared = absl::MakeConstSpan(written_.declared)
                              .subspan(body.begin.declared,
                                       body.end.declared - body.begin.declared);
    if (!absl::c_linear_search(declared, name)) return std::nullopt;
  }
  return copy;
}

// Writes the body for `to`, or does nothing and returns false.
bool BodyRepeater::Copy(const Body& body, Tensor to) {
  const auto& [of, begin, end] = body;
  const std::string &old = of.node().name, &name = to.node().name;
  std::vector<std::string> declared;
  for (size_t k = begin.declared; k < end.declared; ++k) {
    absl::string_view target = written_.declared[k];
    if (!absl::ConsumeSuffix(&target, old)) return false;
    declared.push_back(absl::StrCat(target, name));
    if (scope_.IsTaken(declared.back())) return false;
  }
  const std::array<Assignments*, 2> codes = {&written_.code.update,
                                             &written_.code.init};
  std::array<std::vector<Assignment>, 2> copies;
  std::array<std::vector<CopiedArray>, 2> arrays;
  for (int k : {0, 1}) {
    const Assignments& code = *codes[k];
    bool knows_all = true;
    auto add = [&](int32_t number) {
      if (Find(arrays[k], number) != nullptr) return;
      auto array = ArrayFor(code.arrays[number], body, to);
      knows_all = knows_all && array;
      if (array) arrays[k].push_back({number, *std::move(array)});
    };
    for (size_t n = begin.arrays[k]; n < end.arrays[k]; ++n) add(n);
    for (size_t n = begin.list[k]; n < end.list[k]; ++n) {
      WalkNumbers(copies[k].emplace_back(code.list[n]), add);
    }
    if (!knows_all) return false;
  }
  for (int k : {0, 1}) {
    Assignments& code = *codes[k];
    auto add = [&](int32_t number) {
      CopiedArray& array = *Find(arrays[k], number);
      if (array.copy < 0) array.copy = code.AddArray(std::move(array.array));
      return array.copy;
    };
    for (size_t n = begin.arrays[k]; n < end.arrays[k]; ++n) add(n);
    for (Assignment& each : copies[k]) {
      WalkNumbers(each, [&](int32_t& number) { number = add(number); });
      if (auto* comment = std::get_if<BlockComment>(&each)) {
        std::vector<absl::string_view> words =
            absl::StrSplit(comment->text, ' ');
        absl::c_replace(words, absl::string_view(old), absl::string_view(name));
        comment->text = absl::StrJoin(words, " ");
      }
      code.list.push_back(std::move(each));
    }
  }
  written_.parts += end.parts - begin.parts;
  for (size_t k = 0; k < declared.size(); ++k) {
    scope_.Take(declared[k]);
    const auto state =
        written_.states.find(written_.declared[begin.declared + k]);
    if (state == written_.states.end()) continue;
    CodeState copy = state->second;
    copy.array.name = declared[k];
    written_.states.emplace(declared[k], std::move(copy));
  }
  return true;
}

}  // namespace ocannl::train
