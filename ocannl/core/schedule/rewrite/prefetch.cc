// SPDX-License-Identifier: Apache-2.0
//
// Prefetch: while a block computes with the tile in shared memory, its threads
// read the next one into registers (software pipelining with register
// prefetching; Volkov and Demmel, Benchmarking GPUs to tune dense linear
// algebra, 2008).
//
//   for i3 = 0 to 9 {
//     thread i4 { s[i4] := x[i3, i4]; }
//     thread i5 { ... s[...] ... } }
//   ->
//   thread i6 { s[i6] := x[0, i6]; }
//   for i3 = 0 to 8 {
//     thread i7 { ahead[i7] := x[i3 + 1, i7]; }
//     thread i5 { ... s[...] ... }
//     thread i8 { s[i8] := ahead[i8]; } }
//   thread i9 { ... s[...] ... }
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// Threads, each with cells that it copies from memory to shared memory.
struct CopyNest {
  std::vector<const For*> loops;  // outer first
  Set set;
  Access source;
};

// Null: the statement is none, or one whose registers would be no registers,
// as no constant counts them.
std::optional<CopyNest> AsCopy(const LoopProgram& program, const Stmt& stmt) {
  CopyNest copy;
  const Stmt* at = &stmt;
  for (const For* loop = std::get_if<For>(at); loop != nullptr;
       loop = std::get_if<For>(at)) {
    const LoopKind kind = copy.loops.empty() ? LoopKind::kThread : loop->kind;
    if (loop->kind != kind || loop->body.stmts.size() != 1 ||
        (kind != LoopKind::kThread && kind != LoopKind::kUnroll)) {
      return std::nullopt;
    }
    copy.loops.push_back(loop);
    at = &loop->body.stmts[0];
  }
  const Set* set = std::get_if<Set>(at);
  if (set == nullptr || copy.loops.empty() ||
      program.buffers[set->target.buffer].role != Role::kShared) {
    return std::nullopt;
  }
  const auto* leaf = std::get_if<Leaf>(&program.exprs[set->value]);
  if (leaf == nullptr) return std::nullopt;
  const auto* source = std::get_if<Access>(&program.At(*leaf));
  if (source == nullptr || IsOfNest(program.buffers[source->buffer].role)) {
    return std::nullopt;
  }
  copy.set = *set;
  copy.source = *source;
  return copy;
}

// The nest with another assignment in it.
Block Around(const CopyNest& copy, Set set) {
  Stmt stmt = std::move(set);
  for (size_t k = copy.loops.size(); k-- > 0;) {
    For loop{copy.loops[k]->kind,
             copy.loops[k]->iterator,
             copy.loops[k]->extent,
             {}};
    loop.body.stmts.push_back(std::move(stmt));
    stmt = std::move(loop);
  }
  return {{std::move(stmt)}};
}

class Prefetcher {
 public:
  Prefetcher(LoopProgram& program, IteratorId steps)
      : program_(program), steps_(steps) {}

  // Appends to `to` the block, with iterators of its own, at step `at`.
  void Append(const Block& block, const Affine& at, std::vector<Stmt>& to) {
    Block copy = Copy(program_, block, /*copies_privates=*/false);
    Substitute(program_, copy, steps_, at);
    absl::c_move(copy.stmts, std::back_inserter(to));
  }

  // The cell of the registers for what the copy reads.
  Access Registers(const CopyNest& copy) {
    Dims dims;
    Access cell;
    for (const For* loop : copy.loops) {
      dims.push_back(loop->extent);
      cell.indices.push_back(Iterator(loop->iterator));
    }
    cell.buffer =
        AddBuffer(program_, "ahead", program_.buffers[copy.source.buffer].dtype,
                  std::move(dims), Role::kPrivate);
    return cell;
  }

 private:
  LoopProgram& program_;
  const IteratorId steps_;
};

// Error: the next copy cannot be read during the work of this one.
absl::Status CheckCopy(const LoopProgram& program, const CopyNest& copy,
                       const Stmt& steps, const Block& work) {
  const IteratorId loop = std::get<For>(steps).iterator;
  if (MovesAlong(copy.set.target, loop) ||
      absl::c_linear_search(EffectsOf(program, steps).writes,
                            copy.source.buffer)) {
    return UserError(Name(loop), " writes what it copies, or copies each ",
                     "time to other cells");
  }
  for (const Stmt& stmt : work.stmts) {
    if (absl::c_linear_search(EffectsOf(program, stmt).writes,
                              copy.set.target.buffer)) {
      return UserError(Name(loop), " changes what it has copied");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Prefetch(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  const For steps = site.loop();
  if (steps.kind != LoopKind::kFor || steps.extent < 2) {
    return UserError(Name(loop), " is no `for` loop of several iterations");
  }
  std::vector<CopyNest> copies;
  for (const Stmt& stmt : steps.body.stmts) {
    std::optional<CopyNest> copy = AsCopy(program, stmt);
    if (!copy) break;
    copies.push_back(*std::move(copy));
  }
  Block work;
  work.stmts.assign(
      steps.body.stmts.begin() + static_cast<int64_t>(copies.size()),
      steps.body.stmts.end());
  if (copies.empty() || work.stmts.empty()) {
    return UserError(Name(loop), " does not begin with copies of unrolled ",
                     "cells into shared memory, for what follows");
  }
  for (const CopyNest& copy : copies) {
    OCANNL_RETURN_IF_ERROR(
        CheckCopy(program, copy, site.block->stmts[site.at], work));
  }
  Prefetcher prefetcher(program, loop);
  std::vector<Stmt> first, in_loop, stores, last;
  for (const CopyNest& copy : copies) {
    const Access registers = prefetcher.Registers(copy);
    prefetcher.Append(Around(copy, copy.set), 0, first);
    prefetcher.Append(Around(copy, {registers, copy.set.value}),
                      Affine(Iterator(loop)) + 1, in_loop);
    stores.push_back(
        std::move(Around(copy, {copy.set.target, program.Read(registers).id()})
                      .stmts[0]));
  }
  prefetcher.Append(work, steps.extent - 1, last);
  absl::c_move(work.stmts, std::back_inserter(in_loop));
  absl::c_move(stores, std::back_inserter(in_loop));
  std::vector<Stmt> stmts = std::move(first);
  stmts.push_back(
      For{steps.kind, loop, steps.extent - 1, {std::move(in_loop)}});
  absl::c_move(last, std::back_inserter(stmts));
  const auto at = site.block->stmts.begin() + static_cast<int64_t>(site.at);
  site.block->stmts.insert(site.block->stmts.erase(at),
                           std::make_move_iterator(stmts.begin()),
                           std::make_move_iterator(stmts.end()));
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
