// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/concatenate.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/loop/renumber.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// What two uses of the same memory do with it, one after the other.
Role Both(Role first, Role then) {
  if (IsReadOnly(first) && !IsReadOnly(then)) return Role::kInOut;
  return first;
}

// One part's static index may have the name of another part's iterator.
std::string StaticName(const std::string& name) {
  const bool like_iterator =
      name.size() > 1 && name[0] == 'i' && absl::ascii_isdigit(name[1]);
  return like_iterator ? absl::StrCat("static_", name) : name;
}

class Concatenator {
 public:
  explicit Concatenator(std::string name) {
    result_.program.name = std::move(name);
  }

  void Add(size_t number, const ProgramPart& part) {
    const LoopProgram& program = *part.program;
    const auto first_static = static_cast<int32_t>(all().statics.size());
    for (const StaticIndex& index : program.statics) {
      all().statics.push_back({Unique(StaticName(index.name)), index.range});
    }
    IdVector<LocalId, LocalId> locals;
    for (const Local& local : program.locals) {
      locals.push_back(all().locals.Add({Unique(local.name), local.dtype}));
    }
    IdVector<BufferId, BufferId> buffers;
    for (BufferId k : program.buffers.ids()) {
      buffers.push_back(BufferFor(number, k, part));
    }
    const int32_t first_iterator = all().next_iterator.index;
    Block body =
        Renumber(program, program.body,
                 {.buffer = [&](BufferId buffer) { return buffers[buffer]; },
                  .local = [&](LocalId local) { return locals[local]; },
                  .iterator =
                      [&](IteratorId iterator) {
                        iterator.index += first_iterator;
                        return iterator;
                      },
                  .first_static = first_static},
                 all());
    for (Stmt& stmt : body.stmts) all().body.stmts.push_back(std::move(stmt));
    CountIterators(all());
  }

  Concatenation Take() && { return std::move(result_); }

 private:
  LoopProgram& all() { return result_.program; }

  std::string Unique(const std::string& name) {
    return UniqueName(name, names_);
  }

  // The buffer of the result that stands for part.program->buffers[k].
  BufferId BufferFor(size_t number, BufferId k, const ProgramPart& part) {
    const Buffer& buffer = part.program->buffers[k];
    const BufferId next = all().buffers.next_id();
    if (!IsScratch(buffer.role)) {
      auto [known, is_new] = bound_.try_emplace(part.bound_to[k], next);
      if (!is_new) {
        Role& role = all().buffers[known->second].role;
        role = Both(role, buffer.role);
        return known->second;
      }
    }
    all().buffers.push_back(buffer);
    all().buffers.back().name = Unique(buffer.name);
    result_.origins.push_back({.part = number, .buffer = k});
    return next;
  }

  Concatenation result_;
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<const void*, BufferId> bound_;
};

}  // namespace

Concatenation Concatenate(std::string name,
                          absl::Span<const ProgramPart> parts) {
  Concatenator concatenator(std::move(name));
  for (size_t k = 0; k < parts.size(); ++k) concatenator.Add(k, parts[k]);
  return std::move(concatenator).Take();
}

}  // namespace ocannl
