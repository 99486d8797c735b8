// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

constexpr int32_t kStride = 8;     // from one row to the next
constexpr int64_t kMostBytes = 8;  // of a number

class InterleavedLowering {
 public:
  InterleavedLowering(Nest& nest, Isa isa)
      : editor_(nest), lanes_(VectorBytes(isa) / 4) {}

  void Run(Opcode opcode) {
    editor_.VisitBasicBlocks(
        [&](size_t begin, size_t end) { LowerPairs(opcode, begin, end); });
    editor_.Finish();
  }

 private:
  bool IsColumn(const Inst& inst, Opcode opcode) const {
    return inst.opcode == opcode && SizeOf(inst.dtype) == 4 &&
           inst.lanes == lanes_ && inst.active_lanes == inst.lanes &&
           inst.memory.stride == kStride;
  }

  // Pairs each column with the next one of the same matrix.
  void LowerPairs(Opcode opcode, size_t begin, size_t end) {
    for (size_t first = begin; first < end; ++first) {
      if (!IsColumn(editor_.insts()[first], opcode)) continue;
      for (size_t second = first + 1; second < end; ++second) {
        const Inst& other = editor_.insts()[second];
        if (IsColumn(other, opcode) && AreAdjacent(first, second)) {
          opcode == Opcode::kLoad ? LowerLoads(first, second)
                                  : LowerStores(first, second);
          break;
        }
        // One of the two is reordered with what is between them.
        if (MayDepend(editor_.insts()[first], other)) break;
        if (opcode == Opcode::kStore &&
            other.dst == editor_.insts()[first].args[0].reg()) {
          break;
        }
      }
    }
  }

  // Whether they are the two columns of one matrix.
  bool AreAdjacent(size_t first, size_t second) const {
    const Inst& a = editor_.insts()[first];
    const Inst& b = editor_.insts()[second];
    return a.memory.pointer == b.memory.pointer && a.dtype == b.dtype &&
           std::abs(a.memory.disp - b.memory.disp) == 4;
  }

  // Whether `other` may depend on `column` or on the column adjacent to it, one
  // of which is a store: by buffers, and by ranges from a common pointer.
  bool MayDepend(const Inst& column, const Inst& other) const {
    const OpcodeInfo& info = Info(other.opcode);
    const bool reads = info.memory == OpcodeInfo::Memory::kRead;
    const bool writes = info.memory == OpcodeInfo::Memory::kWritten;
    if (!writes && !(reads && column.opcode == Opcode::kStore)) return false;
    // Of a row, or of so many bytes.
    const bool anywhere = info.field != OpcodeInfo::Field::kNone;
    const int32_t pointer = other.memory.pointer;
    if (editor_.BaseOf(pointer) != editor_.BaseOf(column.memory.pointer)) {
      return false;
    }
    if (anywhere || pointer != column.memory.pointer) return true;
    const int64_t span = int64_t{other.memory.stride} * (other.lanes - 1);
    const int64_t first = other.memory.disp + std::min<int64_t>(span, 0);
    const int64_t last = other.memory.disp + std::max<int64_t>(span, 0);
    const int32_t begin = column.memory.disp - 4;
    const int32_t end = column.memory.disp + kStride * lanes_;
    if (first >= end || last + kMostBytes <= begin) return false;
    // A store to the very column of a load does not touch the adjacent one,
    // which is what is reordered if these are loads; of stores, it is `column`.
    return !(column.opcode == Opcode::kLoad && other.opcode == Opcode::kStore &&
             IsColumn(other, Opcode::kStore) &&
             other.memory.disp == column.memory.disp);
  }

  Inst Rows(Inst column, int32_t disp, int half) const {
    column.memory.disp = disp + half * 4 * lanes_;
    column.memory.stride = 4;
    return column;
  }

  void LowerLoads(size_t first, size_t second) {
    const Inst load = editor_.insts()[first];
    const int32_t other = editor_.insts()[second].memory.disp;
    const int32_t disp = std::min(load.memory.disp, other);
    const VReg a = editor_.Define(first, Rows(load, disp, 0));
    const VReg b = editor_.Define(first, Rows(load, disp, 1));
    auto [p, q] = Blocks(first, load.dtype, 0x88, 0xdd, a, b);
    auto [low, high] = Interleave(first, load.dtype, p, q);
    auto [even, odd] = Interleave(first, load.dtype, low, high);
    editor_.Replace(first, load.memory.disp == disp ? even : odd);
    editor_.Replace(second, load.memory.disp == disp ? odd : even);
  }

  void LowerStores(size_t first, size_t second) {
    Inst even = editor_.insts()[first];
    Inst odd = editor_.insts()[second];
    if (even.memory.disp > odd.memory.disp) std::swap(even, odd);
    const int32_t disp = even.memory.disp;
    const DType dtype = even.dtype;
    auto [low, high] =
        Interleave(second, dtype, even.args[0].reg(), odd.args[0].reg());
    auto [a, b] = Blocks(second, dtype, 0x44, 0xee, low, high);
    if (lanes_ == 16) {
      a = editor_.Shuffle(second, ShuffleKind::kBlocks512, 0xd8, dtype, lanes_,
                          a, a);
      b = editor_.Shuffle(second, ShuffleKind::kBlocks512, 0xd8, dtype, lanes_,
                          b, b);
    }
    for (int half = 0; half < 2; ++half) {
      Inst store = Rows(even, disp, half);
      store.args[0] = RegValue(half == 0 ? a : b);
      editor_.Insert(second, store);
    }
    editor_.Remove(first);
    editor_.Remove(second);
  }

  using Two = std::pair<VReg, VReg>;

  // Of the blocks of 128 bits: the lower ones and the upper ones, or of 512
  // bits those that the selectors say.
  Two Blocks(size_t at, DType dtype, int selector, int other_selector, VReg a,
             VReg b) {
    const bool wide = lanes_ == 16;
    const auto kind = wide ? ShuffleKind::kBlocks512 : ShuffleKind::kBlocks256;
    return {
        editor_.Shuffle(at, kind, wide ? selector : 0x20, dtype, lanes_, a, b),
        editor_.Shuffle(at, kind, wide ? other_selector : 0x31, dtype, lanes_,
                        a, b)};
  }

  // In each 128 bits: a0 b0 a1 b1 and a2 b2 a3 b3.
  Two Interleave(size_t at, DType dtype, VReg a, VReg b) {
    return {editor_.Shuffle(at, ShuffleKind::kLow32, 0, dtype, lanes_, a, b),
            editor_.Shuffle(at, ShuffleKind::kHigh32, 0, dtype, lanes_, a, b)};
  }

  NestEditor editor_;
  const int lanes_;  // of 32 bits
};

}  // namespace

void LowerInterleaved(Nest& nest, Isa isa) {
  InterleavedLowering(nest, isa).Run(Opcode::kLoad);
  // Stores must not be reordered with the loads that this made.
  InterleavedLowering(nest, isa).Run(Opcode::kStore);
}

}  // namespace ocannl::jit
