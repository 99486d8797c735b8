// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Loads of columns that one transposition serves, by number of instruction.
using Group = std::vector<size_t>;

class Transposer {
 public:
  Transposer(Nest& nest, Isa isa)
      : editor_(nest), lanes_(VectorBytes(isa) / 4) {}

  void Run() {
    editor_.VisitBasicBlocks(
        [&](size_t begin, size_t end) { FindGroups(begin, end); });
    editor_.Finish();
  }

 private:
  bool IsColumn(const Inst& inst) const {
    return inst.opcode == Opcode::kLoad && inst.lanes == lanes_ &&
           (inst.dtype == DType::kF32 || inst.dtype == DType::kI32 ||
            inst.dtype == DType::kU32) &&
           inst.memory.stride != 0 && inst.memory.stride != 4 &&
           inst.active_lanes >= kMinTransposed;
  }

  // In the basic block from `begin` to `end`.
  void FindGroups(size_t begin, size_t end) {
    using Key =
        std::tuple<int32_t, int32_t, int>;  // pointer, stride, active lanes
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
        columns[{memory.pointer, memory.stride, inst.active_lanes}]
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
      if (group.size() >= kMinTransposed) Transpose(group);
      group.clear();
    };
    for (auto [disp, inst] : loads) {
      if (disp != next || static_cast<int>(group.size()) == lanes_) close();
      group.push_back(inst);
      next = disp + 4;
    }
    close();
  }

  void Transpose(const Group& group) {
    const Inst first = editor_.insts()[group[0]];
    const size_t at = *std::min_element(group.begin(), group.end());
    std::vector<VReg> rows;
    for (int row = 0; row < first.active_lanes; ++row) {
      Inst load = first;
      load.active_lanes = static_cast<uint8_t>(group.size());
      load.memory.disp += row * first.memory.stride;
      load.memory.stride = 4;
      rows.push_back(editor_.Define(at, load));
    }
    // Lanes without a row hold anything.
    while (static_cast<int>(rows.size()) < lanes_) rows.push_back(rows[0]);
    auto shuffle = [&](ShuffleKind kind, int selector, VReg a, VReg b) {
      return editor_.Shuffle(at, kind, selector, first.dtype, a, b);
    };
    lanes_ == 16 ? Shuffle16(rows, shuffle) : Shuffle8(rows, shuffle);
    for (size_t column = 0; column < group.size(); ++column) {
      editor_.Replace(group[column], rows[column]);
    }
  }

  using Shuffle =
      absl::FunctionRef<VReg(ShuffleKind kind, int selector, VReg a, VReg b)>;

  // Blocks of 4 rows become, in each 128 bits, blocks of 4 columns.
  void ShuffleIn128(std::vector<VReg>& rows, Shuffle shuffle) {
    for (int block = 0; block < lanes_; block += 4) {
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

  // Then the blocks of 128 bits are permuted.
  void Shuffle16(std::vector<VReg>& rows, Shuffle shuffle) {
    ShuffleIn128(rows, shuffle);
    std::vector<VReg> columns(16);
    auto mix = [&](int selector, VReg a, VReg b) {
      return shuffle(ShuffleKind::kBlocks512, selector, a, b);
    };
    for (int c = 0; c < 4; ++c) {
      VReg even01 = mix(0x88, rows[c], rows[c + 4]);
      VReg odd01 = mix(0xdd, rows[c], rows[c + 4]);
      VReg even23 = mix(0x88, rows[c + 8], rows[c + 12]);
      VReg odd23 = mix(0xdd, rows[c + 8], rows[c + 12]);
      columns[c] = mix(0x88, even01, even23);
      columns[c + 8] = mix(0xdd, even01, even23);
      columns[c + 4] = mix(0x88, odd01, odd23);
      columns[c + 12] = mix(0xdd, odd01, odd23);
    }
    rows = std::move(columns);
  }

  void Shuffle8(std::vector<VReg>& rows, Shuffle shuffle) {
    ShuffleIn128(rows, shuffle);
    std::vector<VReg> columns(8);
    for (int c = 0; c < 4; ++c) {
      for (int high = 0; high < 2; ++high) {
        columns[c + 4 * high] =
            shuffle(ShuffleKind::kBlocks256, high == 0 ? 0x20 : 0x31, rows[c],
                    rows[c + 4]);
      }
    }
    rows = std::move(columns);
  }

  NestEditor editor_;
  const int lanes_;  // of 32 bits
};

}  // namespace

void TransposeLoads(Nest& nest, Isa isa) { Transposer(nest, isa).Run(); }

}  // namespace ocannl::jit
