// SPDX-License-Identifier: Apache-2.0
//
// Random programs: what Verify accepts reads no cell that is not written, and
// writes every cell of an `out` buffer, as a run that marks cells shows. Of the
// programs for which that holds, Verify accepts most.

#include <cstdio>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "tests/support/random_program.h"

namespace ocannl {
namespace {

constexpr int64_t kStaticRange = 2;

// Runs a program, marking cells in place of computing them.
class Marker {
 public:
  Marker(const LoopProgram& program, int64_t value_of_static)
      : program_(program), static_(value_of_static) {
    for (const Buffer& buffer : program.buffers) {
      marks_.emplace_back(NumElements(buffer.dims), false);
    }
  }

  // Whether the run reads and leaves only cells that it has written.
  bool Run() {
    Run(program_.body);
    for (BufferId k : marks_.ids()) {
      if (program_.buffers[k].role != Role::kOut) continue;
      fine_ = fine_ && !absl::c_linear_search(marks_[k], false);
    }
    return fine_;
  }
  bool reads() const { return reads_; }

 private:
  void Run(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) Run(*loop);
      if (const ExprId* value = ValueOf(stmt)) {
        WalkReads(program_, *value, [&](const Access& access) {
          fine_ = fine_ && *Mark(access);
          reads_ = true;
        });
      }
      if (const Set* set = std::get_if<Set>(&stmt)) *Mark(set->target) = true;
      if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        std::vector<bool>& marks = marks_[zero->buffer];
        marks.assign(marks.size(), true);
      }
    }
  }

  void Run(const For& loop) {
    for (int64_t i = 0; i < loop.extent; ++i) {
      if (loop.kind == LoopKind::kPar) LosePrivate();
      iterators_[loop.iterator] = i;
      Run(loop.body);
    }
    if (loop.kind == LoopKind::kPar) LosePrivate();
  }

  void LosePrivate() {
    for (BufferId k : marks_.ids()) {
      if (program_.buffers[k].role != Role::kPrivate) continue;
      marks_[k].assign(marks_[k].size(), false);
    }
  }

  std::vector<bool>::iterator Mark(const Access& access) {
    const Dims& dims = program_.buffers[access.buffer].dims;
    int64_t cell = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      Affine index = access.indices[axis].Substitute([&](Symbol s) -> Affine {
        return s.kind == Symbol::kStatic ? static_
                                         : iterators_.at(s.iterator());
      });
      cell = cell * dims[axis] + index.offset();
    }
    return marks_[access.buffer].begin() + cell;
  }

  const LoopProgram& program_;
  int64_t static_;
  IdVector<BufferId, std::vector<bool>> marks_;
  absl::flat_hash_map<IteratorId, int64_t> iterators_;
  bool fine_ = true;
  bool reads_ = false;
};

LoopProgram ProgramOf(uint32_t seed) {
  return RandomProgram(
      {.roles = {Role::kTemp, seed % 4 > 0 ? Role::kTemp : Role::kOut},
       .static_range = kStaticRange,
       .most_nests = 3,
       .loop_percent = 55,
       .par_percent = 25,
       .zero_percent = 8,
       .fill_percent = 75,
       .most_reads = 1,
       .private_buffers = true},
      seed);
}

TEST(MustWriteRandomTest, WhatIsAcceptedReadsOnlyWhatIsWritten) {
  constexpr int kPrograms = 30'000;
  int fine = 0;
  int accepted = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    LoopProgram program = ProgramOf(seed);
    bool runs = true;
    bool reads = false;
    for (int64_t s = 0; s < kStaticRange; ++s) {
      Marker marker(program, s);
      runs = marker.Run() && runs;
      reads = marker.reads();
    }
    absl::Status status = Verify(program);
    ASSERT_TRUE(runs || !status.ok()) << "seed " << seed << "\n"
                                      << Print(program);
    fine += runs && reads ? 1 : 0;
    accepted += status.ok() && reads ? 1 : 0;
  }
  std::printf(
      "%d programs (seeds from 0), %d read what they wrote, %d accepted\n",
      kPrograms, fine, accepted);
  EXPECT_GT(accepted, fine * 4 / 5);
}

}  // namespace
}  // namespace ocannl
