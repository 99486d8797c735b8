// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

constexpr int64_t kLine = 64;  // bytes
// What a model reads between two runs of a nest evicts such an operand from L2.
// A run of MiniLM on 16 tokens takes 0.65 to 0.75 of the time with prefetches
// (tools/real_models.sh); from L3 a product takes as long with them
// (experiments/bench/bench_main.cc, --filter=gemm/16x1000x1000).
constexpr int64_t kMinBytes = int64_t{1} << 19;
// Vector operations for each line, which take longer than the prefetch.
constexpr int64_t kMinOperations = 8;
// Hardware prefetchers follow fewer streams.
constexpr int64_t kMinRows = 4;
// What is read more often comes from caches.
constexpr int64_t kMostRepeats = 2;
// Further pointers would be kept in memory.
constexpr size_t kMostPointers = 6;

struct Part {
  int64_t begin, end;  // in bytes from a pointer

  friend auto operator<=>(const Part&, const Part&) = default;
};

class StripPrefetcher {
 public:
  explicit StripPrefetcher(Nest& nest) : nest_(nest), editor_(nest) {}

  void Run() {
    for (const Inst& inst : nest_.insts) {
      if (WritesMemory(inst.opcode)) {
        written_.insert(nest_.pointers[inst.memory.pointer].base);
      }
    }
    std::vector<size_t> open;  // beginnings of loops
    bool is_innermost = false;
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      if (!IsLoopBoundary(nest_.insts[k].opcode)) continue;
      if (nest_.insts[k].opcode == Opcode::kLoop) {
        open.push_back(k);
        is_innermost = true;
        continue;
      }
      if (is_innermost && open.size() > 1) PrefetchIn(open, k);
      is_innermost = false;
      open.pop_back();
    }
    editor_.Finish();
  }

 private:
  const Loop& LoopAt(size_t inst) const {
    return nest_.loops[nest_.insts[inst].loop];
  }

  static int64_t IncrementOf(const Loop& loop, int32_t pointer) {
    for (const PointerIncrement& each : loop.increments) {
      if (each.pointer == pointer) return each.bytes;
    }
    return 0;
  }

  // For the operands of the innermost loop that ends at `end`.
  void PrefetchIn(const std::vector<size_t>& open, size_t end) {
    const Loop inner = LoopAt(open.back());  // a copy: pointers are added
    for (const PointerIncrement& increment : inner.increments) {
      const Pointer& from = nest_.pointers[increment.pointer];
      if (from.base == Pointer::kNumber || from.size < kMinBytes ||
          written_.contains(from.base)) {
        continue;
      }
      PrefetchFor(increment, inner.extent, open, end);
    }
  }

  void PrefetchFor(const PointerIncrement& step, int64_t extent,
                   const std::vector<size_t>& open, size_t end) {
    const size_t begin = open.back() + 1;
    const auto body =
        absl::MakeConstSpan(nest_.insts).subspan(begin, end - begin);
    const auto [strip, repeats] = NextStrip(open, step.pointer);
    const std::vector<Part> parts = PartsRead(body, step.pointer);
    int64_t bytes = 0;
    for (const Part& part : parts) bytes += part.end - part.begin;
    const int64_t lines = (bytes + kLine - 1) / kLine;
    const int64_t operations = absl::c_count_if(body, [](const Inst& inst) {
      return Computes(inst.opcode) && inst.lanes > 1;
    });
    if (std::ssize(parts) < kMinRows || operations < kMinOperations * lines ||
        strip <= 0 || strip > INT32_MAX / 2 || repeats > kMostRepeats) {
      return;
    }
    const bool has_whole_lines = absl::c_all_of(parts, [&](const Part& part) {
      const int64_t size = part.end - part.begin;
      return size % kLine == 0 && size <= strip;
    });
    if (has_whole_lines) {
      Insert(begin, body.size() / lines, step.pointer, strip, parts);
    } else if (bytes * extent == strip && repeats == 1 &&
               nest_.pointers.size() < kMostPointers) {
      // Each iteration reads parts of lines, of all rows of a contiguous strip;
      // it prefetches whole lines, in order.
      const int32_t ahead = AddPointer(open, step.pointer, bytes - step.bytes);
      Insert(begin, body.size() / lines, ahead, strip, {{0, bytes}});
    }
  }

  // Prefetches the lines of the parts, `strip` bytes ahead, one every
  // `distance` instructions.
  void Insert(size_t at, size_t distance, int32_t pointer, int64_t strip,
              const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      for (int64_t line = part.begin; line < part.end; line += kLine) {
        editor_.Insert(
            at, {.opcode = Opcode::kPrefetch,
                 .memory = {.pointer = pointer,
                            .disp = static_cast<int32_t>(strip + line)}});
        at += distance;
      }
    }
  }

  // From a strip to the next one, and how often the nest reads each: loops that
  // do not increment the pointer read it again.
  std::pair<int64_t, int64_t> NextStrip(const std::vector<size_t>& open,
                                        int32_t pointer) const {
    int64_t strip = 0, repeats = 1;
    for (size_t k = open.size() - 1; k-- > 0;) {
      const Loop& loop = LoopAt(open[k]);
      const int64_t bytes = IncrementOf(loop, pointer);
      if (strip == 0) strip = bytes;
      if (bytes == 0) repeats *= loop.extent;
    }
    return {strip, repeats};
  }

  // What the instructions read by the pointer, in order; none if they skip
  // bytes.
  static std::vector<Part> PartsRead(absl::Span<const Inst> body,
                                     int32_t pointer) {
    std::vector<Part> all, parts;
    for (const Inst& inst : body) {
      if (inst.memory.pointer != pointer) continue;
      const bool is_one = inst.memory.stride == 0;
      if (!is_one && !IsContiguous(inst)) return {};
      const auto size = static_cast<int64_t>(SizeOf(inst.dtype));
      const int64_t begin = inst.memory.disp;
      all.push_back(
          {begin, begin + (is_one ? size : size * inst.active_lanes)});
    }
    absl::c_sort(all);
    for (const Part& part : all) {
      if (parts.empty() || part.begin > parts.back().end) {
        parts.push_back(part);
      } else {
        parts.back().end = std::max(parts.back().end, part.end);
      }
    }
    return parts;
  }

  // A pointer that the open loops increment as `like`, the innermost of them by
  // `more`.
  int32_t AddPointer(const std::vector<size_t>& open, int32_t like,
                     int64_t more) {
    const auto added = static_cast<int32_t>(nest_.pointers.size());
    Pointer pointer = nest_.pointers[like];
    pointer.value.AddScaled(more, Iterator(LoopAt(open.back()).iterator));
    pointer.frequency = LoopAt(open.back()).frequency;
    nest_.pointers.push_back(std::move(pointer));
    for (size_t begin : open) {
      Loop& loop = nest_.loops[nest_.insts[begin].loop];
      const int64_t bytes =
          IncrementOf(loop, like) + (begin == open.back() ? more : 0);
      if (bytes != 0) loop.increments.push_back({added, bytes});
    }
    return added;
  }

  Nest& nest_;
  NestEditor editor_;
  absl::flat_hash_set<BufferId> written_;
};

}  // namespace

void PrefetchStrips(Nest& nest, Isa) { StripPrefetcher(nest).Run(); }

}  // namespace ocannl::jit
