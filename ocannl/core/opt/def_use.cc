// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/def_use.h"

#include <algorithm>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// Finds those of `stmt` anew.
void FindAccesses(const LoopProgram& program, const Stmt& stmt,
                  StmtAccesses& accesses) {
  accesses.reads.clear();
  accesses.lookups.clear();
  accesses.writes.clear();
  accesses.locals = false;
  auto visit = [&](const Stmt& inner) {
    const BufferId written = WrittenBy(program, inner);
    if (written.valid()) accesses.writes.push_back(written);
    WalkLeaves(program, inner, [&](const LeafValue& leaf) {
      if (const Access* access = std::get_if<Access>(&leaf)) {
        accesses.reads.push_back(access);
      } else if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
        accesses.lookups.push_back(lookup);
        accesses.reads.push_back(&*lookup->index);
        accesses.reads.push_back(&lookup->cell);
      } else if (std::holds_alternative<GetLocal>(leaf)) {
        accesses.locals = true;
      }
    });
  };
  visit(stmt);
  if (const For* loop = std::get_if<For>(&stmt)) WalkStmts(loop->body, visit);
}

void AddPlace(size_t place, DefUse::Places& places) {
  const auto at = absl::c_lower_bound(places, place);
  if (at != places.end() && *at == place) return;
  places.insert(at, static_cast<uint32_t>(place));
}

}  // namespace

int64_t StmtAccesses::NumReads(BufferId buffer) const {
  return absl::c_count_if(
      reads, [&](const Access* read) { return read->buffer == buffer; });
}

DefUse::DefUse(const LoopProgram& program)
    : program_(program),
      accesses_(program.body.stmts.size()),
      readers_(program.buffers.size()),
      writers_(program.buffers.size()) {
  for (size_t k = 0; k < accesses_.size(); ++k) {
    FindAccesses(program_, program_.body.stmts[k], accesses_[k]);
    for (BufferId buffer : accesses_[k].writes) AddPlace(k, writers_[buffer]);
    AddReader(k, accesses_[k]);
  }
}

void DefUse::AddReader(size_t place, const StmtAccesses& accesses) {
  for (const Access* read : accesses.reads) {
    AddPlace(place, readers_[read->buffer]);
  }
}

DefUse::Places DefUse::Readers(BufferId buffer, size_t begin,
                               size_t end) const {
  const Places& all = readers_[buffer];
  Places readers;
  for (auto k = absl::c_lower_bound(all, begin); k != all.end() && *k < end;
       ++k) {
    if (accesses_[*k].NumReads(buffer) > 0) readers.push_back(*k);
  }
  return readers;
}

size_t DefUse::NextWriter(size_t place, BufferId buffer) const {
  const Places& writers = writers_[buffer];
  const auto next = absl::c_upper_bound(writers, place);
  return next == writers.end() ? accesses_.size() : *next;
}

void DefUse::Update(size_t place, size_t definition) {
  FindAccesses(program_, program_.body.stmts[place], accesses_[place]);
  AddReader(place, accesses_[definition]);
}

void DefUse::MoveReads(size_t definition, BufferId buffer, size_t place) {
  StmtAccesses& use = accesses_[place];
  const StmtAccesses& moved = accesses_[definition];
  auto is_cell = [&](const Access* read) { return read->buffer == buffer; };
  use.reads.erase(std::remove_if(use.reads.begin(), use.reads.end(), is_cell),
                  use.reads.end());
  for (const Access* read : moved.reads) {
    if (!absl::c_linear_search(use.reads, read)) use.reads.push_back(read);
  }
  for (const Lookup* lookup : moved.lookups) {
    if (!absl::c_linear_search(use.lookups, lookup)) {
      use.lookups.push_back(lookup);
    }
  }
  AddReader(place, moved);
}

}  // namespace ocannl
