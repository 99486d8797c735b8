// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"
#include "ocannl/jit/vcode/passes/strip.h"

namespace ocannl::jit {
namespace {

// What a model reads between two runs of a nest evicts such an operand from L2.
// A run of MiniLM on 16 tokens takes 0.65 to 0.75 of the time with prefetches
// of strips, and 0.7 of that with those of half rows and chained loops. With
// those of packed strips and tiles it takes 0.93 of the time on 128 tokens
// (tools/real_models.sh), and a training step of gpt2_mini 0.98. From L3 a
// product takes as long with them (experiments/bench/bench_main.cc,
// --filter=gemm/16x1000x1000).
constexpr int64_t kMinBytes = int64_t{1} << 19;
// Vector operations for each line, which take longer than the prefetch.
constexpr int64_t kMinOperations = 8;
// The same for a tile, which comes in a burst: with 15, sums of columns take
// 1.05 of the time (bench_main.cc, --filter=reduce/column_sums).
constexpr int64_t kMinTileOperations = 24;
// Hardware prefetchers follow fewer streams.
constexpr int64_t kMinRows = 4;
// What is read more often, and no larger, comes from caches.
constexpr int64_t kMostRepeats = 2;

bool ComputesVectors(const Inst& inst) {
  return Computes(inst.opcode) && inst.lanes > 1;
}

int64_t IncrementOf(const Loop& loop, int32_t pointer) {
  for (const PointerIncrement& each : loop.increments) {
    if (each.pointer == pointer) return each.bytes;
  }
  return 0;
}

class StripPrefetcher {
 public:
  explicit StripPrefetcher(Nest& nest) : nest_(nest), editor_(nest) {}

  void Run() {
    for (const Inst& inst : nest_.insts) {
      if (WritesMemory(inst.opcode)) {
        written_.insert(nest_.pointers[inst.memory.pointer].base);
      }
    }
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      if (!IsLoopBoundary(nest_.insts[k].opcode)) continue;
      if (nest_.insts[k].opcode == Opcode::kLoop) {
        open_.push_back(k);
        is_innermost_ = true;
        continue;
      }
      if (is_innermost_ && open_.size() > 1) PrefetchIn(k);
      is_innermost_ = false;
      std::erase_if(packed_, [&](const Strip& strip) {
        return strip.loop == open_.back();
      });
      open_.pop_back();
    }
    editor_.Finish();
  }

 private:
  // Of the open loop `k`; of the innermost one.
  Loop& LoopAt(size_t k) { return nest_.loops[nest_.insts[open_[k]].loop]; }
  Loop& Innermost() { return LoopAt(open_.size() - 1); }

  // For the operands of the innermost loop, which ends at `end`.
  void PrefetchIn(size_t end) {
    begin_ = open_.back() + 1;
    body_ = absl::MakeConstSpan(nest_.insts).subspan(begin_, end - begin_);
    operations_ = absl::c_count_if(body_, ComputesVectors);
    std::erase_if(packed_,
                  [&](const Strip& strip) { return PrefetchPacked(strip); });
    const std::vector<PointerIncrement> increments = Innermost().increments;
    for (const PointerIncrement& increment : increments) {
      const Pointer& from = nest_.pointers[increment.pointer];
      if (from.base == Pointer::kNumber || from.size < kMinBytes ||
          written_.contains(from.base)) {
        continue;
      }
      Strip strip = StripOf(increment);
      if (strip.parts.empty() || strip.bytes <= 0 ||
          strip.bytes > INT32_MAX / 2 || strip.repeats > kMostRepeats) {
        continue;
      }
      if (operations_ < kMinOperations * LinesOf(strip.part_bytes)) {
        strip.rows = RowsOf(strip, increment.bytes);
        if (strip.rows.count >= kMinRows) packed_.push_back(std::move(strip));
      } else if (std::ssize(strip.parts) >= kMinRows) {
        PrefetchNext(strip, increment.bytes);
      }
    }
  }

  // The strip that the innermost loop reads by a pointer.
  Strip StripOf(const PointerIncrement& step) {
    Strip strip = {.pointer = step.pointer,
                   .value = nest_.pointers[step.pointer].value,
                   .parts = PartsRead(body_, step.pointer)};
    for (const Part& part : strip.parts) strip.part_bytes += part.size();
    bool is_row = true;
    int64_t read = strip.part_bytes;  // by the loops so far
    for (size_t k = open_.size(); k-- > 0;) {
      const Loop& loop = LoopAt(k);
      const int64_t bytes = IncrementOf(loop, step.pointer);
      is_row = is_row && bytes == step.bytes * strip.iterations;
      if (bytes != 0) read *= loop.extent;
      if (is_row) {
        strip.row_loop = k;
        strip.iterations *= loop.extent;
        strip.value.AddScaled(-bytes, Iterator(loop.iterator));
      } else if (bytes != 0 && strip.bytes == 0) {
        strip.bytes = bytes;
        strip.loop = open_[k];
      } else if (bytes == 0 && strip.bytes == 0) {
        strip.runs *= loop.extent;
      } else if (bytes == 0 && read < kMinBytes) {
        strip.repeats *= loop.extent;
      }
    }
    return strip;
  }

  // Prefetches the next strip while the loop computes with this one: each run
  // of the loops that read a row some of its rows.
  void PrefetchNext(const Strip& strip, int64_t step) {
    const bool has_whole_lines =
        absl::c_all_of(strip.parts, [&](const Part& p) {
          return p.size() % kLine == 0 && p.size() <= strip.bytes;
        });
    if (!has_whole_lines && strip.runs == 1 &&
        strip.part_bytes * strip.iterations == strip.bytes &&
        HasFreeRegister()) {
      // Each iteration reads parts of lines, of all rows of a contiguous strip;
      // it prefetches whole lines, in order.
      const int32_t ahead = AddPointer(strip, strip.part_bytes, 0, 0);
      Insert(ahead, strip.bytes, {{0, strip.part_bytes}});
      return;
    }
    // Most of the next strip lies on lines of this one: with prefetches, weight
    // gradients on tiles of 4 channels take 1.02 of the time.
    if (2 * strip.bytes < kLine) return;
    std::vector<Part> parts = strip.parts;
    const int64_t distance = DistanceOf(parts);
    if (strip.runs > std::ssize(parts) || (strip.runs > 1 && distance == 0)) {
      return;
    }
    parts.resize((std::ssize(parts) + strip.runs - 1) / strip.runs);
    const int64_t run = distance * std::ssize(parts);
    if (has_whole_lines || operations_ >= kMinOperations * std::ssize(parts)) {
      Insert(strip.runs == 1 ? strip.pointer
                             : AddPointer(strip, step, strip.row_loop, run),
             strip.bytes, parts);
    }
  }

  // Prefetches the next strip, which an earlier loop has packed, while the
  // innermost loop computes with this one. Each iteration prefetches some bytes
  // of some rows, and each run of the open loops from `first` on other rows,
  // where `first` needs the fewest prefetches. Whether it does.
  bool PrefetchPacked(const Strip& strip) {
    const Rows& rows = strip.rows;
    int64_t fewest = operations_ / kMinOperations + 1;
    size_t first = 0;
    Rows some;  // of an iteration
    int64_t step = 0, iterations = 1, runs = 1;
    for (size_t k = open_.size(); k-- > 0 && open_[k] != strip.loop;) {
      runs *= LoopAt(k).extent;
    }
    for (size_t k = open_.size(); k-- > 0 && open_[k] != strip.loop;) {
      iterations *= LoopAt(k).extent;
      runs /= LoopAt(k).extent;
      auto consider = [&](int64_t count, int64_t bytes, int64_t to_next) {
        const int64_t of_run = (count + runs - 1) / runs;
        const int64_t prefetches = of_run * LinesOf(bytes);
        if (runs > count || prefetches >= fewest) return;
        fewest = prefetches;
        first = k;
        some = {of_run, rows.distance, bytes};
        step = to_next;
      };
      if (rows.bytes % iterations == 0) {  // parts of all rows
        consider(rows.count, rows.bytes / iterations, rows.bytes / iterations);
      }
      if (rows.count % iterations == 0) {  // some whole rows
        const int64_t count = rows.count / iterations;
        consider(count, rows.bytes, count * rows.distance);
      }
    }
    if (some.count == 0) return false;
    std::vector<Part> parts;
    for (int64_t row = 0; row < some.count; ++row) {
      const int64_t begin = strip.parts[0].begin + row * some.distance;
      parts.push_back({begin, begin + some.bytes});
    }
    Insert(AddPointer(strip, step, first, some.count * some.distance),
           strip.bytes, parts);
    return true;
  }

  // Prefetches the lines of the parts, `ahead` bytes from the pointer on, one
  // every few instructions.
  void Insert(int32_t pointer, int64_t ahead, const std::vector<Part>& parts) {
    int64_t lines = 0;
    for (const Part& part : parts) lines += LinesOf(part.size());
    if (ahead + parts.back().end > INT32_MAX) return;
    size_t at = begin_;
    for (const Part& part : parts) {
      for (int64_t line = part.begin; line < part.end; line += kLine) {
        editor_.Insert(
            at, {.opcode = Opcode::kPrefetch,
                 .memory = {.pointer = pointer,
                            .disp = static_cast<int32_t>(ahead + line)}});
        at += body_.size() / lines;
      }
    }
  }

  // Whether a pointer of the innermost loop leaves the others of it, and its
  // counter, in registers.
  bool HasFreeRegister() {
    const double frequency = Innermost().frequency;
    auto is_frequent = [&](const auto& each) {
      return each.frequency >= frequency;
    };
    return absl::c_count_if(nest_.pointers, is_frequent) +
               absl::c_count_if(nest_.loops, is_frequent) <
           kNumPointerRegisters;
  }

  // A pointer to the strip that each iteration of the innermost loop increments
  // by `step`, and each run of the open loops from `first` on by `run`.
  int32_t AddPointer(const Strip& strip, int64_t step, size_t first,
                     int64_t run) {
    const auto added = static_cast<int32_t>(nest_.pointers.size());
    Pointer pointer = nest_.pointers[strip.pointer];
    pointer.value = strip.value;
    pointer.frequency = Innermost().frequency;
    bool is_inside = true;  // of the loop of the strips
    int64_t bytes = step;
    for (size_t k = open_.size(); k-- > 0;) {
      Loop& loop = LoopAt(k);
      is_inside = is_inside && open_[k] != strip.loop;
      if (is_inside) {
        pointer.value.AddScaled(bytes, Iterator(loop.iterator));
      } else {
        bytes = IncrementOf(loop, strip.pointer);
      }
      if (bytes != 0) loop.increments.push_back({added, bytes});
      bytes = k == first ? run : bytes * loop.extent;
    }
    nest_.pointers.push_back(std::move(pointer));
    return added;
  }

  Nest& nest_;
  NestEditor editor_;
  absl::flat_hash_set<BufferId> written_;
  std::vector<size_t> open_;   // beginnings of loops
  bool is_innermost_ = false;  // the last one
  // The innermost loop: its instructions, of which so many compute vectors.
  size_t begin_ = 0;
  absl::Span<const Inst> body_;
  int64_t operations_ = 0;
  std::vector<Strip> packed_;  // by loops that compute too little
};

class TilePrefetcher {
 public:
  explicit TilePrefetcher(Nest& nest)
      : nest_(nest), editor_(nest), streamed_(StreamedBuffer(nest)) {}

  void Run() {
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      const Inst& inst = nest_.insts[k];
      if (inst.opcode == Opcode::kLoop) {
        open_.push_back({.begin = k});
      } else if (inst.opcode == Opcode::kEndLoop) {
        Close(k);
      } else if (!open_.empty() && ComputesVectors(inst)) {
        ++open_.back().operations;
      }
    }
    editor_.Finish();
  }

 private:
  struct OpenLoop {
    size_t begin;
    double operations = 0;  // on vectors, in an iteration
    // The last loop in it.
    size_t child_begin = 0, child_end = 0;
    double child_operations = 0;
  };

  const Loop& Innermost() const {
    return nest_.loops[nest_.insts[open_.back().begin].loop];
  }

  // The innermost open loop ends at `end`.
  void Close(size_t end) {
    PrefetchTile(end);
    const size_t begin = open_.back().begin;
    const double operations =
        open_.back().operations * static_cast<double>(Innermost().extent);
    open_.pop_back();
    if (open_.empty()) return;
    open_.back().operations += operations;
    open_.back().child_begin = begin;
    open_.back().child_end = end;
    open_.back().child_operations = operations;
  }

  // Prefetches what the instructions after the last loop of the innermost open
  // one read or write, such as the tile of a product, before that loop: else
  // stores wait until the lines have come.
  void PrefetchTile(size_t end) {
    const OpenLoop& loop = open_.back();
    if (loop.child_end == 0) return;
    std::vector<Memory> lines;
    for (size_t k = loop.child_end + 1; k < end; ++k) {
      const Memory& memory = nest_.insts[k].memory;
      if (memory.pointer < 0 || !IsContiguous(nest_.insts[k])) continue;
      const Pointer& to = nest_.pointers[memory.pointer];
      if (to.base == Pointer::kNumber || to.size < kMinBytes ||
          to.base == streamed_ ||
          IncrementOf(Innermost(), memory.pointer) == 0) {
        continue;
      }
      const Memory line = {.pointer = memory.pointer,
                           .disp = memory.disp / kLine * kLine};
      if (!absl::c_linear_search(lines, line)) lines.push_back(line);
    }
    if (loop.child_operations < kMinTileOperations * std::ssize(lines)) return;
    for (const Memory& line : lines) {
      editor_.Insert(loop.child_begin,
                     {.opcode = Opcode::kPrefetch, .memory = line});
    }
  }

  Nest& nest_;
  NestEditor editor_;
  const std::optional<BufferId> streamed_;
  std::vector<OpenLoop> open_;
};

}  // namespace

void InsertPrefetches(Nest& nest, Isa) {
  StripPrefetcher(nest).Run();
  TilePrefetcher(nest).Run();
}

}  // namespace ocannl::jit
