// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/shrink.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/fuzz/programs/indices.h"

namespace ocannl::fuzz {
namespace {

// More tries than any program of the generator needs.
constexpr int kMaxTries = 20'000;

// Calls `visit(stmts, at)` for the k-th statement that `is` holds for, outer
// before inner; false where there are not so many. k counts down.
bool AtStmt(std::vector<Stmt>& stmts, int& k,
            absl::FunctionRef<bool(const Stmt&)> is,
            absl::FunctionRef<void(std::vector<Stmt>&, size_t)> visit) {
  for (size_t at = 0; at < stmts.size(); ++at) {
    if (is(stmts[at]) && k-- == 0) {
      visit(stmts, at);
      return true;
    }
    For* loop = std::get_if<For>(&stmts[at]);
    if (loop != nullptr && AtStmt(loop->body.stmts, k, is, visit)) return true;
  }
  return false;
}

// Calls `change` with the k-th loop for which it returns true.
bool AtLoop(LoopProgram& program, int k, absl::FunctionRef<bool(const For&)> is,
            absl::FunctionRef<void(For&)> change) {
  return AtStmt(
      program.body.stmts, k,
      [&](const Stmt& stmt) {
        const For* loop = std::get_if<For>(&stmt);
        return loop != nullptr && is(*loop);
      },
      [&](std::vector<Stmt>& stmts, size_t at) {
        change(std::get<For>(stmts[at]));
      });
}

// The steps. Each makes the k-th of its changes; false: there are only k.

bool DropStmt(LoopProgram& program, int k) {
  return AtStmt(
      program.body.stmts, k, [](const Stmt&) { return true; },
      [](std::vector<Stmt>& stmts, size_t at) {
        stmts.erase(stmts.begin() + at);
      });
}

// One iteration of a loop, the first or the last, in the loop's place.
bool RunOnce(LoopProgram& program, int k) {
  const bool last = k % 2 == 1;
  k /= 2;
  return AtStmt(
      program.body.stmts, k,
      [](const Stmt& stmt) { return std::holds_alternative<For>(stmt); },
      [&](std::vector<Stmt>& stmts, size_t at) {
        For loop = std::get<For>(std::move(stmts[at]));
        Substitute(program, loop.body, [&](Symbol symbol) -> Affine {
          if (symbol != Iterator(loop.iterator)) return symbol;
          return last ? loop.extent - 1 : 0;
        });
        stmts.erase(stmts.begin() + at);
        stmts.insert(stmts.begin() + at, loop.body.stmts.begin(),
                     loop.body.stmts.end());
      });
}

bool HalveExtent(LoopProgram& program, int k) {
  return AtLoop(
      program, k, [](const For& loop) { return loop.extent > 1; },
      [](For& loop) { loop.extent /= 2; });
}

bool DecrementExtent(LoopProgram& program, int k) {
  return AtLoop(
      program, k, [](const For& loop) { return loop.extent > 1; },
      [](For& loop) { --loop.extent; });
}

bool ForgetKind(LoopProgram& program, int k) {
  return AtLoop(
      program, k, [](const For& loop) { return loop.kind != LoopKind::kFor; },
      [](For& loop) { loop.kind = LoopKind::kFor; });
}

// The operands of a value of its own type, then 1, then 0, in its place.
std::vector<ExprId> Smaller(ExprPool& pool, ExprId value) {
  std::vector<ExprId> smaller;
  if (std::holds_alternative<Constant>(pool[value])) return smaller;
  DType dtype = TypeOf(pool, value);
  if (const Apply* apply = std::get_if<Apply>(&pool[value])) {
    for (ExprId arg : apply->args) {
      if (TypeOf(pool, arg) == dtype) smaller.push_back(arg);
    }
  }
  for (double number : {1., 0.}) {
    smaller.push_back(Literal(pool, dtype, number).id());
  }
  return smaller;
}

// Every node of a value, the value first.
std::vector<ExprId> NodesOf(const ExprPool& pool, ExprId root) {
  std::vector<ExprId> nodes = {root};
  absl::flat_hash_set<ExprId> seen = {root};
  for (size_t at = 0; at < nodes.size(); ++at) {
    const Apply* apply = std::get_if<Apply>(&pool[nodes[at]]);
    if (apply == nullptr) continue;
    for (ExprId arg : apply->args) {
      if (seen.insert(arg).second) nodes.push_back(arg);
    }
  }
  return nodes;
}

bool SimplifyValue(LoopProgram& program, int k) {
  bool done = false;
  RewriteValues(program.body, [&](ExprId root) {
    if (done) return root;
    for (ExprId node : NodesOf(program.exprs, root)) {
      std::vector<ExprId> smaller = Smaller(program.exprs, node);
      if (k >= static_cast<int>(smaller.size())) {
        k -= static_cast<int>(smaller.size());
        continue;
      }
      done = true;
      return Rewrite(program.exprs, root,
                     [&](ExprId id) { return id == node ? smaller[k] : id; });
    }
    return root;
  });
  return done;
}

// An index that is 0 everywhere, for one that varies or is not 0.
bool SimplifyIndex(LoopProgram& program, int k) {
  bool done = false;
  auto cell = [&](Access access) {
    for (Affine& index : access.indices) {
      if (index != Affine() && !done && k-- == 0) {
        index = Affine();
        done = true;
      }
    }
    return access;
  };
  RewriteCells(program, program.body, cell);
  return done;
}

bool CutAxis(LoopProgram& program, int k) {
  const bool halve = k % 2 == 0;
  k /= 2;
  for (Buffer& buffer : program.buffers) {
    for (int64_t& dim : buffer.dims) {
      if (dim == 1 || k-- > 0) continue;
      dim = halve ? dim / 2 : dim - 1;
      return true;
    }
  }
  return false;
}

bool IsLookedUp(const LoopProgram& program, BufferId buffer, size_t axis) {
  bool is = false;
  WalkStmts(program.body, [&](const Stmt& stmt) {
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      const Lookup* lookup = std::get_if<Lookup>(&leaf);
      is |= lookup != nullptr && lookup->cell.buffer == buffer &&
            lookup->axis == static_cast<int32_t>(axis);
    });
  });
  return is;
}

bool DropAxis(LoopProgram& program, int k) {
  for (BufferId id : program.buffers.ids()) {
    Dims& dims = program.buffers[id].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (dims[axis] != 1 || IsLookedUp(program, id, axis) || k-- > 0) {
        continue;
      }
      dims.erase(dims.begin() + axis);
      auto drop = [&](Access& access) {
        if (access.buffer != id) return;
        access.indices.erase(access.indices.begin() + axis);
      };
      RewriteStmts(program.body, [&](Stmt& stmt) {
        RewriteLeaves(program, stmt, [&](LeafValue leaf) {
          if (Access* access = std::get_if<Access>(&leaf)) drop(*access);
          if (Lookup* lookup = std::get_if<Lookup>(&leaf)) {
            const bool shifts = lookup->cell.buffer == id &&
                                lookup->axis > static_cast<int32_t>(axis);
            lookup->axis -= shifts ? 1 : 0;
            drop(lookup->cell);
            drop(lookup->index.Mutable());
          }
          return leaf;
        });
      });
      return true;
    }
  }
  return false;
}

// The least strict role allows the most other steps.
bool MakeInOut(LoopProgram& program, int k) {
  for (Buffer& buffer : program.buffers) {
    if (IsInput(buffer.role)) continue;
    if (k-- > 0) continue;
    buffer.role = Role::kInOut;
    return true;
  }
  return false;
}

bool IsUsed(const LoopProgram& program, BufferId buffer) {
  bool used = false;
  WalkStmts(program.body, [&](const Stmt& stmt) {
    used |= WrittenBy(program, stmt) == buffer;
    WalkReads(program, stmt,
              [&](const Access& cell) { used |= cell.buffer == buffer; });
  });
  return used;
}

bool DropBuffer(LoopProgram& program, int k) {
  for (BufferId id : program.buffers.ids()) {
    if (IsUsed(program, id) || k-- > 0) continue;
    program.buffers.erase(program.buffers.begin() + id.index);
    auto renumber = [&](BufferId& buffer) {
      buffer.index -= buffer > id ? 1 : 0;
    };
    RewriteCells(program, program.body, [&](Access cell) {
      renumber(cell.buffer);
      return cell;
    });
    RewriteStmts(program.body, [&](Stmt& stmt) {
      if (ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) renumber(zero->buffer);
    });
    return true;
  }
  return false;
}

bool DropStatic(LoopProgram& program, int k) {
  if (k >= static_cast<int>(program.statics.size())) return false;
  program.statics.erase(program.statics.begin() + k);
  Substitute(program, program.body, [&](Symbol symbol) -> Affine {
    if (symbol.kind != Symbol::kStatic || symbol.number < k) return symbol;
    return symbol.number == k ? Affine() : Affine(Static(symbol.number - 1));
  });
  return true;
}

constexpr bool (*kSteps[])(LoopProgram&, int) = {
    DropStmt, RunOnce,       HalveExtent,   DropStatic,
    CutAxis,  SimplifyValue, SimplifyIndex, DecrementExtent,
    DropAxis, ForgetKind,    DropBuffer,    MakeInOut,
};

}  // namespace

LoopProgram Shrink(LoopProgram program,
                   absl::FunctionRef<bool(const LoopProgram&)> fails) {
  int tries = 0;
  std::string text = Print(program);
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (auto* step : kSteps) {
      for (int k = 0; tries < kMaxTries;) {
        LoopProgram changed = program;
        if (!step(changed, k)) break;
        std::string changed_text = Print(changed);
        bool keep = changed_text != text && VerifyPromises(changed).ok() &&
                    (++tries, fails(changed));
        if (!keep) {
          ++k;
          continue;
        }
        // The text is what is kept; this also frees unused expressions.
        absl::StatusOr<LoopProgram> parsed = Parse(changed_text);
        CHECK_OK(parsed);
        program = *std::move(parsed);
        text = std::move(changed_text);
        smaller = true;
      }
    }
  }
  return program;
}

}  // namespace ocannl::fuzz
