// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/pairs.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "ocannl/jit/vcode/nest_editor.h"

namespace ocannl::jit {
namespace {

constexpr int32_t kStride = 8;     // from one row to the next
constexpr int64_t kMostBytes = 8;  // of a number

class PairJoiner {
 public:
  PairJoiner(Nest& nest, Isa isa) : editor_(nest, isa) {}

  void Run(Code code) {
    editor_.VisitStraightCode(
        [&](size_t begin, size_t end) { Join(code, begin, end); });
    editor_.Finish();
  }

 private:
  bool IsColumn(const Inst& inst, Code code) const {
    return inst.code == code && SizeOf(inst.dtype) == 4 &&
           inst.lanes == editor_.lanes() && inst.valid == inst.lanes &&
           inst.memory.stride == kStride;
  }

  // Pairs each column with the next one of the same matrix.
  void Join(Code code, size_t begin, size_t end) {
    for (size_t first = begin; first < end; ++first) {
      if (!IsColumn(editor_.insts()[first], code)) continue;
      for (size_t second = first + 1; second < end; ++second) {
        const Inst& other = editor_.insts()[second];
        if (IsColumn(other, code) && AreSideBySide(first, second)) {
          code == Code::kLoad ? JoinLoads(first, second)
                              : JoinStores(first, second);
          break;
        }
        // One of the two moves over what is between them.
        if (MayClash(editor_.insts()[first], other)) break;
        if (code == Code::kStore &&
            other.dst == editor_.insts()[first].args[0].index) {
          break;
        }
      }
    }
  }

  // Whether they are the two columns of one matrix.
  bool AreSideBySide(size_t first, size_t second) const {
    const Inst& a = editor_.insts()[first];
    const Inst& b = editor_.insts()[second];
    return a.memory.pointer == b.memory.pointer && a.dtype == b.dtype &&
           std::abs(a.memory.disp - b.memory.disp) == 4;
  }

  // Whether `other`, or the column beside that of `column`, may touch what the
  // other one writes.
  bool MayClash(const Inst& column, const Inst& other) const {
    const bool loads = other.code == Code::kLoad || other.code == Code::kLookup;
    const bool anywhere = other.code == Code::kLookup ||
                          other.code == Code::kScatter ||
                          other.code == Code::kZero;
    const bool writes = WritesMemory(other.code);
    if (!writes && !(loads && column.code == Code::kStore)) return false;
    const int32_t pointer = other.memory.pointer;
    if (editor_.BaseOf(pointer) != editor_.BaseOf(column.memory.pointer)) {
      return false;
    }
    if (anywhere || pointer != column.memory.pointer) return true;
    const int64_t span = int64_t{other.memory.stride} * (other.lanes - 1);
    const int64_t first = other.memory.disp + std::min<int64_t>(span, 0);
    const int64_t last = other.memory.disp + std::max<int64_t>(span, 0);
    const int32_t begin = column.memory.disp - 4;
    const int32_t end = column.memory.disp + kStride * editor_.lanes();
    if (first >= end || last + kMostBytes <= begin) return false;
    // Its own column again is no obstacle to the column beside it, which is
    // what moves if these are loads; stores move themselves.
    return !(column.code == Code::kLoad && other.code == Code::kStore &&
             IsColumn(other, Code::kStore) &&
             other.memory.disp == column.memory.disp);
  }

  Inst Rows(Inst column, int32_t disp, int half) const {
    column.memory.disp = disp + half * 4 * editor_.lanes();
    column.memory.stride = 4;
    return column;
  }

  void JoinLoads(size_t first, size_t second) {
    const Inst load = editor_.insts()[first];
    const int32_t other = editor_.insts()[second].memory.disp;
    const int32_t disp = std::min(load.memory.disp, other);
    const int32_t a = editor_.Load(first, Rows(load, disp, 0));
    const int32_t b = editor_.Load(first, Rows(load, disp, 1));
    auto [p, q] =
        editor_.lanes() == 16
            ? Both(first, load.dtype, ShuffleKind::kBlocks512, 0x88, 0xdd, a, b)
            : Both(first, load.dtype, ShuffleKind::kBlocks256, 0x20, 0x31, a,
                   b);
    auto [low, high] = Zip(first, load.dtype, p, q);
    auto [even, odd] = Zip(first, load.dtype, low, high);
    editor_.Replace(first, load.memory.disp == disp ? even : odd);
    editor_.Replace(second, load.memory.disp == disp ? odd : even);
  }

  void JoinStores(size_t first, size_t second) {
    Inst even = editor_.insts()[first];
    Inst odd = editor_.insts()[second];
    if (even.memory.disp > odd.memory.disp) std::swap(even, odd);
    const int32_t disp = even.memory.disp;
    const DType dtype = even.dtype;
    auto [low, high] =
        Zip(second, dtype, even.args[0].index, odd.args[0].index);
    auto [a, b] = editor_.lanes() == 16
                      ? Both(second, dtype, ShuffleKind::kBlocks512, 0x44, 0xee,
                             low, high)
                      : Both(second, dtype, ShuffleKind::kBlocks256, 0x20, 0x31,
                             low, high);
    if (editor_.lanes() == 16) {
      a = editor_.Shuffle(second, ShuffleKind::kBlocks512, 0xd8, dtype, a, a);
      b = editor_.Shuffle(second, ShuffleKind::kBlocks512, 0xd8, dtype, b, b);
    }
    editor_.Store(second, Rows(even, disp, 0), a);
    editor_.Store(second, Rows(even, disp, 1), b);
    editor_.Remove(first);
    editor_.Remove(second);
  }

  using Two = std::pair<int32_t, int32_t>;

  Two Both(size_t place, DType dtype, ShuffleKind kind, int selector,
           int other_selector, int32_t a, int32_t b) {
    return {editor_.Shuffle(place, kind, selector, dtype, a, b),
            editor_.Shuffle(place, kind, other_selector, dtype, a, b)};
  }

  // In each 128 bits: a0 b0 a1 b1 and a2 b2 a3 b3.
  Two Zip(size_t place, DType dtype, int32_t a, int32_t b) {
    return {editor_.Shuffle(place, ShuffleKind::kLow32, 0, dtype, a, b),
            editor_.Shuffle(place, ShuffleKind::kHigh32, 0, dtype, a, b)};
  }

  NestEditor editor_;
};

}  // namespace

void JoinPairs(Nest& nest, Isa isa) {
  PairJoiner(nest, isa).Run(Code::kLoad);
  // Stores must not move over the loads that this made.
  PairJoiner(nest, isa).Run(Code::kStore);
}

}  // namespace ocannl::jit
