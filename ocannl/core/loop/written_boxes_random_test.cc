// SPDX-License-Identifier: Apache-2.0
//
// Random programs: what Verify accepts reads no cell that is not written, and
// writes every cell of an `out` buffer, as a run that marks cells shows. Of the
// programs for which that holds, Verify accepts most.

#include <array>
#include <cstdio>
#include <random>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"

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
    for (size_t k = 0; k < marks_.size(); ++k) {
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
    for (size_t k = 0; k < marks_.size(); ++k) {
      if (program_.buffers[k].role != Role::kPrivate) continue;
      marks_[k].assign(marks_[k].size(), false);
    }
  }

  std::vector<bool>::iterator Mark(const Access& access) {
    const Dims& dims = program_.buffers[access.buffer].dims;
    int64_t cell = 0;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      Affine index = access.indices[axis].Substitute([&](Symbol s) -> Affine {
        return s.kind == Symbol::kStatic ? static_ : iterators_.at(s.number);
      });
      cell = cell * dims[axis] + index.offset();
    }
    return marks_[access.buffer].begin() + cell;
  }

  const LoopProgram& program_;
  int64_t static_;
  std::vector<std::vector<bool>> marks_;
  absl::flat_hash_map<int32_t, int64_t> iterators_;
  bool fine_ = true;
  bool reads_ = false;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  LoopProgram Program() {
    program_.name = "random";
    program_.statics = {{"s", kStaticRange}};
    for (Role role : {Role::kTemp, Below(4) > 0 ? Role::kTemp : Role::kOut}) {
      AddBuffer(role);
    }
    for (int64_t left = 1 + Below(3); left > 0; --left) {
      private_ = AddBuffer(Role::kPrivate);
      program_.body.stmts.push_back(Statement(0));
    }
    return std::move(program_);
  }

 private:
  int64_t Below(int64_t bound) { return random_() % bound; }

  int32_t AddBuffer(Role role) {
    constexpr std::array<int64_t, 6> kSizes = {1, 2, 3, 4, 6, 8};
    Dims dims;
    for (int64_t rank = 1 + Below(2); rank > 0; --rank) {
      dims.push_back(kSizes[Below(kSizes.size())]);
    }
    auto number = static_cast<int32_t>(program_.buffers.size());
    program_.buffers.push_back(
        {absl::StrCat("b", number), DType::kF32, dims, role});
    return number;
  }

  // Iterators whose ranges fill the axis without gaps, as far as they go.
  Affine Filling(int64_t dim) {
    Affine index;
    int64_t length = 1;
    absl::c_shuffle(symbols_, random_);
    for (const auto& [symbol, range] : symbols_) {
      if (symbol.kind == Symbol::kStatic || length * range > dim) continue;
      index += length * Affine(symbol);
      length *= range;
    }
    return index + Below(dim - length + 1);
  }

  // In bounds: factors are tried until they fit.
  Affine Index(int64_t dim) {
    if (Below(4) > 0) return Filling(dim);
    for (int trial = 0; trial < 4; ++trial) {
      Affine index = Below(dim);
      int64_t least = index.offset();
      int64_t most = least;
      for (const auto& [symbol, range] : symbols_) {
        int64_t factor = Below(3) == 0 ? Below(7) - 3 : 0;
        index += factor * Affine(symbol);
        (factor < 0 ? least : most) += factor * (range - 1);
      }
      if (least >= 0 && most < dim) return index;
    }
    return Below(dim);
  }

  int32_t AnyBuffer() {
    int64_t buffer = Below(3);
    return buffer < 2 ? static_cast<int32_t>(buffer) : private_;
  }

  Access Cell() {
    Access access{.buffer = AnyBuffer(), .indices = {}};
    for (int64_t dim : program_.buffers[access.buffer].dims) {
      access.indices.push_back(Index(dim));
    }
    return access;
  }

  Stmt Statement(int depth) {
    if (depth < 3 && Below(depth + 2) < 2) {
      For loop{.kind = Below(4) == 0 ? LoopKind::kPar : LoopKind::kFor,
               .iterator = num_iterators_++,
               .extent = 1 + Below(4),
               .body = {}};
      const auto outside = symbols_;
      symbols_.push_back({Iterator(loop.iterator), loop.extent});
      for (int64_t left = 1 + Below(3); left > 0; --left) {
        loop.body.stmts.push_back(Statement(depth + 1));
      }
      symbols_ = outside;
      return loop;
    }
    if (Below(12) == 0) return ZeroOut{AnyBuffer()};
    Expr value = Below(2) == 0 ? program_.Read(Cell())
                               : Literal(program_.exprs, DType::kF32, 1);
    return Set{Cell(), value.id()};
  }

  std::mt19937 random_;
  LoopProgram program_;
  std::vector<std::pair<Symbol, int64_t>> symbols_ = {
      {Static(0), kStaticRange}};
  int32_t private_ = 0;  // the buffer of this statement of the body
  int32_t num_iterators_ = 0;
};

TEST(WrittenBoxesRandomTest, WhatIsAcceptedReadsOnlyWhatIsWritten) {
  constexpr int kPrograms = 30'000;
  int fine = 0;
  int accepted = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    LoopProgram program = Generator(seed).Program();
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
