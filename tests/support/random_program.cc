// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl {
namespace {

constexpr int kMostLoops = 3;  // around a statement

class Generator {
 public:
  Generator(const RandomProgramOptions& options, uint64_t seed)
      : options_(options), random_(seed) {}

  LoopProgram Program() {
    program_.name = "random";
    program_.statics = {{"s", options_.static_range}};
    for (Role role : options_.roles) targets_.push_back(AddBuffer(role));
    if (options_.looks_up) {
      ids_ = program_.buffers.Add({"ids", DType::kI32, Role::kIn, {kIds}});
    }
    for (int64_t left = 1 + Below(options_.most_nests); left > 0; --left) {
      if (options_.private_buffers) {
        targets_.resize(options_.roles.size());
        targets_.push_back(AddBuffer(Role::kPrivate));
      }
      program_.body.stmts.push_back(MakeLoop(1));
    }
    return std::move(program_);
  }

 private:
  static constexpr int64_t kIds = 6;

  int64_t Below(int64_t bound) { return random_.Below(bound); }
  bool Chance(int64_t percent) { return Below(100) < percent; }

  BufferId AddBuffer(Role role) {
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 6, 8};
    Dims dims;
    for (int64_t rank = 1 + Below(2); rank > 0; --rank) {
      dims.push_back(random_.Pick(kSizes));
    }
    return program_.buffers.Add(
        {absl::StrCat("b", program_.buffers.size()), DType::kF32, role, dims});
  }

  // Iterators whose ranges fill the axis without gaps, as far as they go.
  Affine Filling(int64_t dim) {
    Affine index;
    int64_t length = 1;
    auto symbols = symbols_;
    random_.Shuffle(symbols);
    for (const auto& [symbol, range] : symbols) {
      if (symbol.kind == Symbol::kStatic || length * range > dim) continue;
      index += length * Affine(symbol);
      length *= range;
    }
    return index + Below(dim - length + 1);
  }

  // In bounds: factors are tried until they fit.
  Affine Index(int64_t dim) {
    if (Chance(options_.fill_percent)) return Filling(dim);
    for (int trial = 0; trial < 8; ++trial) {
      Affine index = Below(dim);
      int64_t least = index.offset();
      int64_t most = least;
      for (const auto& [symbol, range] : symbols_) {
        int64_t factor = Below(2) == 0 ? Below(7) - 2 : 0;
        index += factor * Affine(symbol);
        (factor < 0 ? least : most) += factor * (range - 1);
      }
      if (least >= 0 && most < dim) return index;
    }
    return Below(dim);
  }

  BufferId Target() { return random_.Pick(targets_); }

  Access Cell() {
    Access access{.buffer = Target(), .indices = {}};
    for (int64_t dim : program_.buffers[access.buffer].dims) {
      access.indices.push_back(Index(dim));
    }
    return access;
  }

  Lookup LookedUp() {
    Lookup lookup{
        .cell = Cell(), .axis = 0, .index = Access{ids_, {Index(kIds)}}};
    lookup.axis = static_cast<int32_t>(Below(lookup.cell.indices.size()));
    lookup.cell.indices[lookup.axis] = 0;
    return lookup;
  }

  Stmt Assignment() {
    if (Chance(options_.zero_percent)) return ZeroOut{Target()};
    Expr value = Literal(program_.exprs, DType::kF32, 1);
    for (int64_t reads = Below(1 + options_.most_reads); reads > 0; --reads) {
      value = value + program_.Read(Cell());
    }
    if (options_.looks_up && Chance(12)) {
      value = value + program_.Read(LookedUp());
    }
    if (options_.looks_up && Chance(16)) {
      return Scatter{program_.leaves.Add(LookedUp()), value.id()};
    }
    return Set{Cell(), value.id()};
  }

  Stmt MakeLoop(int depth) {
    For loop{Chance(options_.par_percent) ? LoopKind::kPar : LoopKind::kFor,
             next_iterator_++,
             random_.Pick(options_.extents),
             {}};
    symbols_.push_back({Iterator(loop.iterator), loop.extent});
    const bool nests = depth < kMostLoops;
    const bool perfect = nests && Chance(options_.perfect_percent);
    for (int64_t left = perfect ? 1 : 1 + Below(3); left > 0; --left) {
      const bool loops = perfect || (nests && Chance(options_.loop_percent));
      loop.body.stmts.push_back(loops ? MakeLoop(depth + 1) : Assignment());
    }
    symbols_.pop_back();
    return loop;
  }

  const RandomProgramOptions& options_;
  fuzz::Random random_;
  LoopProgram program_;
  std::vector<BufferId> targets_;  // that statements touch
  BufferId ids_;
  std::vector<std::pair<Symbol, int64_t>> symbols_ = {
      {Static(0), options_.static_range}};
  IteratorId next_iterator_ = {0};
};

}  // namespace

LoopProgram RandomProgram(const RandomProgramOptions& options, uint64_t seed) {
  return Generator(options, seed).Program();
}

}  // namespace ocannl
