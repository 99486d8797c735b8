// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/first_values.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/initializer.h"

namespace ocannl {
namespace {

// The cells of parameters that share code, at most. To compile a draw takes
// 0.35 ms (`scale params 10000 x86-avx2`), and key words that are no constants
// 10 ns for a cell (RunInit against InitParams of two of 1024 x 4096 cells).
constexpr int64_t kMostCells = 1 << 15;

// Parameters whose first values are computed alike.
struct Group {
  struct Member {
    TensorId parameter;
    std::vector<uint32_t> words;
  };
  std::vector<Member> members;

  // Whether member and first one differ in that word.
  bool Differs(size_t word) const {
    return absl::c_any_of(members, [&](const Member& member) {
      return member.words[word] != members[0].words[word];
    });
  }
};

// The groups; a parameter that is like no other is one by itself.
std::vector<Group> GroupsOf(const Graph& graph, const Shapes& shapes,
                            absl::Span<const TensorId> parameters) {
  std::vector<Group> groups;
  absl::flat_hash_map<std::vector<int64_t>, size_t> group_of;
  for (TensorId id : parameters) {
    std::optional<FirstValueForm> plain;
    if (NumElements(shapes.at(id).dims()) <= kMostCells) {
      plain = FormOf(graph, id);
    }
    if (!plain) {
      groups.push_back({.members = {{id, {}}}});
      continue;
    }
    std::vector<int64_t> form = std::move(plain->form);
    form.reserve(form.size() + 16);
    form.push_back(static_cast<int64_t>(graph[id].dtype));
    form.push_back(static_cast<int64_t>(graph[id].memory->mode));
    for (RowKind kind : kRowKinds) {
      const Dims& row = shapes.at(id)[kind];
      form.push_back(static_cast<int64_t>(row.size()));
      form.insert(form.end(), row.begin(), row.end());
    }
    const auto [group, is_new] =
        group_of.try_emplace(std::move(form), groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].members.push_back({id, std::move(plain->words)});
  }
  return groups;
}

// The code of the first member, where static index k is the value of the k-th
// of `words`, which are nodes.
Assignments SharedCode(const Graph& graph, const Shapes& shapes,
                       const Group& group, absl::Span<const TensorId> words) {
  Assignments code = Initialize(graph, shapes, {group.members[0].parameter});
  code.name = "first_values";
  code.statics.clear();
  for (Array& array : code.arrays) {
    // What is computed from a static index is not constant.
    if (!IsKept(array.memory)) array.memory = std::nullopt;
  }
  absl::flat_hash_map<int32_t, int32_t> index_of;  // of the word's array
  for (TensorId word : words) {
    const auto index = static_cast<int32_t>(code.statics.size());
    index_of[*code.FindArray(graph[word].name)] = index;
    auto is_taken = [&](const std::string& name) {
      return code.FindArray(name).has_value();
    };
    code.statics.push_back(
        {UniqueName(absl::StrCat("word_", index), is_taken), int64_t{1} << 32});
  }
  for (Assignment& each : code.list) {
    auto* assign = std::get_if<Assign>(&each);
    if (assign == nullptr || !index_of.contains(assign->lhs)) continue;
    assign->sources = {ReadIndex{Static(index_of.at(assign->lhs))}};
    const Expr value = MakeLeaf(code.exprs, DType::kI64, 0);
    assign->rhs = Convert(value, DType::kU32).id();
  }
  return code;
}

absl::Status RunGroup(const Graph& graph, const Shapes& shapes,
                      const Group& group, const Context& context) {
  const std::vector<TensorId> all =
      WordsOf(graph, *PlainFirstValue(graph, group.members[0].parameter));
  std::vector<size_t> differing;
  std::vector<TensorId> words;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!group.Differs(k)) continue;
    differing.push_back(k);
    words.push_back(all[k]);
  }
  const Assignments code = SharedCode(graph, shapes, group, words);
  OCANNL_ASSIGN_OR_RETURN(LoopProgram compiled, CompileProgram(code, {}));
  const auto program = std::make_shared<const LoopProgram>(std::move(compiled));
  OCANNL_ASSIGN_OR_RETURN(const auto executable, context.Compile(*program));
  const std::string& first = graph[group.members[0].parameter].name;
  for (const Group::Member& member : group.members) {
    const std::string& name = graph[member.parameter].name;
    OCANNL_ASSIGN_OR_RETURN(
        Routine routine,
        context.LinkTo(program, executable,
                       [&](const loop_ir::Buffer& buffer) -> absl::string_view {
                         return buffer.name == first ? name : buffer.name;
                       }));
    for (size_t k = 0; k < words.size(); ++k) {
      // A word that the result does not depend on is no index of the program.
      absl::StatusOr<StaticRef> index = routine.Static(code.statics[k].name);
      if (!index.ok()) continue;
      OCANNL_RETURN_IF_ERROR(index->Set(member.words[differing[k]]));
    }
    OCANNL_RETURN_IF_ERROR(routine.Run());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Context> RunFirstValues(Graph& graph, Shapes& shapes,
                                       absl::Span<const TensorId> parameters,
                                       Assignments also,
                                       const Context& context) {
  const std::vector<Group> groups = GroupsOf(graph, shapes, parameters);
  std::vector<TensorId> firsts;
  for (const Group& group : groups) {
    firsts.push_back(group.members[0].parameter);
  }
  OCANNL_RETURN_IF_ERROR(InferShapes(graph, firsts, shapes));
  std::vector<TensorId> single;
  for (const Group& group : groups) {
    if (group.members.size() == 1) {
      single.push_back(group.members[0].parameter);
    } else {
      OCANNL_RETURN_IF_ERROR(RunGroup(graph, shapes, group, context));
    }
  }
  Assignments rest = Initialize(graph, shapes, single);
  Append(rest, std::move(also));
  if (!AnyAssign(rest, [](const Assign&) { return true; })) return context;
  rest.name = "init";
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(context, rest, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return routine.context();
}

}  // namespace ocannl
