// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/vector_access.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::gpu {
namespace {

// Whether the access is to cells side by side, the first of which is at a
// multiple of them all.
bool IsVector(const LoopProgram& program, const Access& access,
              const For& loop) {
  if (StrideOf(program, access, loop.iterator) != 1 ||
      loop.extent * SizeOfCell(program, access) > kMostVectorBytes) {
    return false;
  }
  const Dims& dims = program.buffers[access.buffer].dims;
  Affine cell;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    cell = dims[axis] * cell + access.indices[axis];
  }
  return cell.offset() % loop.extent == 0 &&
         absl::c_all_of(cell.terms(), [&](const Affine::Term& term) {
           return term.symbol == Iterator(loop.iterator) ||
                  term.factor % loop.extent == 0;
         });
}

class Finder {
 public:
  Finder(const LoopProgram& program, const For& loop)
      : program_(program), loop_(loop) {}

  std::optional<VectorAccesses> Run() {
    for (const Stmt& stmt : loop_.body.stmts) {
      if (std::holds_alternative<Comment>(stmt)) continue;
      const Set* set = std::get_if<Set>(&stmt);
      if (set == nullptr) return std::nullopt;
      for (const Access& read : ReadsOf(program_, set->value)) {
        // What was written before is not read from memory.
        if (!absl::c_linear_search(found_.writes, read)) {
          Add(read, found_.reads);
        }
      }
      if (!LookedUpBy(program_, set->value).empty()) return std::nullopt;
      Add(set->target, found_.writes);
      if (absl::c_linear_search(others_, set->target)) return std::nullopt;
    }
    const bool is_any = !found_.reads.empty() || !found_.writes.empty();
    if (!is_any || !WritesAreAlone()) return std::nullopt;
    return std::move(found_);
  }

 private:
  void Add(const Access& access, std::vector<Access>& to) {
    if (program_.buffers[access.buffer].role == Role::kPrivate) return;
    const bool is_vector = IsVector(program_, access, loop_);
    std::vector<Access>& all = is_vector ? to : others_;
    if (!absl::c_linear_search(all, access)) all.push_back(access);
    if (!is_vector && StrideOf(program_, access, loop_.iterator) != 0) {
      found_.is_all = false;
    }
  }

  // Whether of a buffer that is written all is one access.
  bool WritesAreAlone() const {
    return absl::c_all_of(found_.writes, [&](const Access& write) {
      auto is_other = [&](const Access& access) {
        return access.buffer == write.buffer && access != write;
      };
      return absl::c_none_of(found_.reads, is_other) &&
             absl::c_none_of(found_.writes, is_other) &&
             absl::c_none_of(others_, is_other);
    });
  }

  const LoopProgram& program_;
  const For& loop_;
  VectorAccesses found_;
  std::vector<Access> others_;
};

}  // namespace

std::optional<VectorAccesses> FindVectorAccesses(const LoopProgram& program,
                                                 const For& loop) {
  if (!std::has_single_bit(static_cast<uint64_t>(loop.extent))) {
    return std::nullopt;
  }
  return Finder(program, loop).Run();
}

}  // namespace ocannl::gpu
