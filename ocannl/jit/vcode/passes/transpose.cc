// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Loads of columns that one transposition serves, by number of instruction.
using Group = std::vector<size_t>;

class Transposer {
 public:
  explicit Transposer(Nest& nest) : editor_(nest) {}

  void Run() {
    editor_.VisitBasicBlocks(
        [&](size_t begin, size_t end) { FindGroups(begin, end); });
    editor_.Finish();
  }

 private:
  bool IsColumn(const Inst& inst) const {
    return inst.opcode == Opcode::kLoad && inst.lanes > 1 &&
           (inst.dtype == DType::kF32 || inst.dtype == DType::kI32 ||
            inst.dtype == DType::kU32) &&
           inst.memory.stride != 0 && inst.memory.stride != 4;
  }

  // In the basic block from `begin` to `end`.
  void FindGroups(size_t begin, size_t end) {
    // Pointer, stride, lanes and active lanes.
    using Key = std::tuple<int32_t, int32_t, int, int>;
    std::map<Key, std::map<int32_t, size_t>> columns;  // by displacement
    // Of one buffer, or of any.
    auto flush = [&](std::optional<BufferId> base) {
      for (auto& [key, loads] : columns) {
        if (base && editor_.BaseOf(std::get<0>(key)) != *base) continue;
        MakeGroups(loads);
        loads.clear();
      }
    };
    for (size_t k = begin; k < end; ++k) {
      const Inst& inst = editor_.insts()[k];
      if (IsColumn(inst)) {
        const Memory& memory = inst.memory;
        columns[{memory.pointer, memory.stride, inst.lanes, inst.active_lanes}]
               [memory.disp] = k;
      }
      // Loads are not reordered with stores to their buffer.
      if (WritesMemory(inst.opcode)) {
        flush(editor_.BaseOf(inst.memory.pointer));
      }
    }
    flush(std::nullopt);
  }

  // Runs of adjacent columns.
  void MakeGroups(const std::map<int32_t, size_t>& loads) {
    Group group;
    int32_t next = 0;
    auto close = [&] {
      if (static_cast<int>(group.size()) >= kBlock) Transpose(group);
      group.clear();
    };
    for (auto [disp, inst] : loads) {
      if (disp != next) close();
      group.push_back(inst);
      next = disp + 4;
    }
    close();
  }

  // In pieces of one block's columns, or of two where more than 8 lanes are
  // active; the last piece may begin in the one before.
  void Transpose(const Group& group) {
    const int size = static_cast<int>(group.size());
    for (int first = 0; first < size;) {
      const bool has_two =
          editor_.insts()[group[first]].active_lanes > 2 * kBlock &&
          size - first >= 2 * kBlock;
      const int width = has_two ? 2 * kBlock : kBlock;
      const int begin = std::min(first, size - width);
      const int end = begin + width;
      const size_t at =
          *std::min_element(group.begin() + first, group.begin() + end);
      Inst column = editor_.insts()[group[first]];
      column.memory.disp -= 4 * (first - begin);
      const std::vector<VReg> columns = Columns(at, column, width);
      for (; first < end; ++first) {
        editor_.Replace(group[first], columns[first - begin]);
      }
    }
  }

  // `width` columns from `column` on. Loads fill registers with the blocks that
  // shuffles in 128 bits make columns of: rows r, r + 4, ...; what is left to
  // shuffle are halves.
  std::vector<VReg> Columns(size_t at, const Inst& column, int width) {
    std::vector<VReg> rows;
    for (int k = 0; k < width; ++k) {
      const int first =
          k / kBlock * kBlock * (column.lanes / width) + k % kBlock;
      // Lanes without a row hold anything.
      rows.push_back(first < column.active_lanes
                         ? LoadRows(at, column, first, width)
                         : rows[0]);
    }
    auto shuffle = [&](ShuffleKind kind, int selector, VReg a, VReg b) {
      return editor_.Shuffle(at, kind, selector, column.dtype, column.lanes, a,
                             b);
    };
    ShuffleIn128(rows, shuffle);
    if (width == kBlock) return rows;
    std::vector<VReg> columns(width);
    for (int c = 0; c < kBlock; ++c) {
      VReg upper = rows[c + kBlock];
      columns[c] = shuffle(ShuffleKind::kBlocks512, 0x88, rows[c], upper);
      columns[c + kBlock] =
          shuffle(ShuffleKind::kBlocks512, 0xdd, rows[c], upper);
    }
    return columns;
  }

  // The columns of row `first` and of every fourth one after it.
  VReg LoadRows(size_t at, const Inst& column, int first, int width) {
    Inst load = column;
    load.lanes = load.active_lanes = static_cast<uint8_t>(width);
    load.memory.disp += first * column.memory.stride;
    load.memory.stride = 4;
    VReg rows = editor_.Define(at, load);
    load.opcode = Opcode::kLoadInsert;
    load.lanes = column.lanes;
    for (int lane = width; lane < column.lanes; lane += width) {
      first += kBlock;
      if (first >= column.active_lanes) break;
      load.lane = static_cast<uint8_t>(lane);
      load.memory.disp += kBlock * column.memory.stride;
      load.args[0] = RegValue(rows);
      rows = editor_.Define(at, load);
    }
    return rows;
  }

  using Shuffle =
      absl::FunctionRef<VReg(ShuffleKind kind, int selector, VReg a, VReg b)>;

  // Each 4 rows become, in each 128 bits, 4 columns of a block.
  void ShuffleIn128(std::vector<VReg>& rows, Shuffle shuffle) {
    for (size_t block = 0; block < rows.size(); block += kBlock) {
      VReg* r = &rows[block];
      auto unpack = [&](ShuffleKind kind, VReg a, VReg b) {
        return shuffle(kind, 0, a, b);
      };
      VReg t0 = unpack(ShuffleKind::kLow32, r[0], r[1]);
      VReg t1 = unpack(ShuffleKind::kHigh32, r[0], r[1]);
      VReg t2 = unpack(ShuffleKind::kLow32, r[2], r[3]);
      VReg t3 = unpack(ShuffleKind::kHigh32, r[2], r[3]);
      r[0] = unpack(ShuffleKind::kLow64, t0, t2);
      r[1] = unpack(ShuffleKind::kHigh64, t0, t2);
      r[2] = unpack(ShuffleKind::kLow64, t1, t3);
      r[3] = unpack(ShuffleKind::kHigh64, t1, t3);
    }
  }

  static constexpr int kBlock = 4;  // columns of 32 bits in 128

  NestEditor editor_;
};

}  // namespace

void TransposeLoads(Nest& nest, Isa) { Transposer(nest).Run(); }

}  // namespace ocannl::jit
