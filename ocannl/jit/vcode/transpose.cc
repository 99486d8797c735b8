// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/transpose.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl::jit {
namespace {

// Fewer columns than this are gathered faster.
constexpr int kMinColumns = 5;

// Loads of columns that one transposition serves, by number of instruction.
using Group = std::vector<size_t>;

class Transposer {
 public:
  Transposer(Nest& nest, Isa isa)
      : nest_(nest), lanes_(isa == Isa::kAvx512 ? 16 : 8) {}

  void Run() {
    size_t begin = 0;
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      const Code code = nest_.insts[k].code;
      if (code == Code::kLoop || code == Code::kEndLoop) {
        FindGroups(begin, k);
        begin = k + 1;
      }
    }
    FindGroups(begin, nest_.insts.size());
    if (!made_.empty()) Insert();
  }

 private:
  bool IsColumn(const Inst& inst) const {
    return inst.code == Code::kLoad && inst.lanes == lanes_ &&
           (inst.dtype == DType::kF32 || inst.dtype == DType::kI32 ||
            inst.dtype == DType::kU32) &&
           inst.memory.stride != 0 && inst.memory.stride != 4 &&
           inst.valid >= kMinColumns;
  }

  // Straight-line code from `begin` to `end`.
  void FindGroups(size_t begin, size_t end) {
    using Key = std::tuple<int32_t, int32_t, int>;     // pointer, stride, valid
    std::map<Key, std::map<int32_t, size_t>> columns;  // by displacement
    auto flush = [&](int32_t base) {
      for (auto& [key, loads] : columns) {
        if (base != kAnyBase && nest_.pointers[std::get<0>(key)].base != base) {
          continue;
        }
        MakeGroups(loads);
        loads.clear();
      }
    };
    for (size_t k = begin; k < end; ++k) {
      const Inst& inst = nest_.insts[k];
      if (IsColumn(inst)) {
        const Memory& memory = inst.memory;
        columns[{memory.pointer, memory.stride, inst.valid}][memory.disp] = k;
      }
      // Loads do not move over stores to what they read.
      if (inst.code == Code::kStore || inst.code == Code::kZero) {
        flush(nest_.pointers[inst.memory.pointer].base);
      }
    }
    flush(kAnyBase);
  }

  // Runs of columns side by side.
  void MakeGroups(const std::map<int32_t, size_t>& loads) {
    Group group;
    int32_t next = 0;
    auto close = [&] {
      if (group.size() >= kMinColumns) Transpose(group);
      group.clear();
    };
    for (auto [disp, inst] : loads) {
      if (disp != next || static_cast<int>(group.size()) == lanes_) close();
      group.push_back(inst);
      next = disp + 4;
    }
    close();
  }

  int32_t NewRegister(DType dtype) {
    nest_.registers.push_back({.dtype = dtype,
                               .lanes = static_cast<uint8_t>(lanes_),
                               .is_variable = false});
    return static_cast<int32_t>(nest_.registers.size()) - 1;
  }

  void Transpose(const Group& group) {
    const Inst first = nest_.insts[group[0]];
    const size_t place = *std::min_element(group.begin(), group.end());
    std::vector<Inst>& made = made_[place];
    std::vector<int32_t> rows;
    for (int row = 0; row < first.valid; ++row) {
      Inst load = first;
      load.valid = static_cast<uint8_t>(group.size());
      load.memory.disp += row * first.memory.stride;
      load.memory.stride = 4;
      load.dst = NewRegister(first.dtype);
      made.push_back(load);
      rows.push_back(load.dst);
    }
    // Lanes without a row hold anything.
    while (static_cast<int>(rows.size()) < lanes_) rows.push_back(rows[0]);
    lanes_ == 16 ? Shuffle16(first.dtype, rows, made)
                 : Shuffle8(first.dtype, rows, made);
    for (size_t column = 0; column < group.size(); ++column) {
      renamed_[nest_.insts[group[column]].dst] = rows[column];
      nest_.insts[group[column]] = Nothing();
    }
  }

  int32_t Emit(ShuffleKind kind, int selector, DType dtype, int32_t a,
               int32_t b, std::vector<Inst>& made) {
    Inst inst{.code = Code::kShuffle, .dtype = dtype, .operand = dtype};
    inst.lanes = inst.valid = static_cast<uint8_t>(lanes_);
    inst.shuffle = kind;
    inst.offset = selector;
    inst.args = {Value{Value::kReg, a}, Value{Value::kReg, b}, Value{}};
    inst.dst = NewRegister(dtype);
    made.push_back(inst);
    return inst.dst;
  }

  // Blocks of 4 rows become, in each 128 bits, blocks of 4 columns.
  void ShuffleIn128(DType dtype, std::vector<int32_t>& rows,
                    std::vector<Inst>& made) {
    for (int block = 0; block < lanes_; block += 4) {
      int32_t* r = &rows[block];
      auto unpack = [&](ShuffleKind kind, int32_t a, int32_t b) {
        return Emit(kind, 0, dtype, a, b, made);
      };
      int32_t t0 = unpack(ShuffleKind::kLow32, r[0], r[1]);
      int32_t t1 = unpack(ShuffleKind::kHigh32, r[0], r[1]);
      int32_t t2 = unpack(ShuffleKind::kLow32, r[2], r[3]);
      int32_t t3 = unpack(ShuffleKind::kHigh32, r[2], r[3]);
      r[0] = unpack(ShuffleKind::kLow64, t0, t2);
      r[1] = unpack(ShuffleKind::kHigh64, t0, t2);
      r[2] = unpack(ShuffleKind::kLow64, t1, t3);
      r[3] = unpack(ShuffleKind::kHigh64, t1, t3);
    }
  }

  // Then the blocks of 128 bits change places.
  void Shuffle16(DType dtype, std::vector<int32_t>& rows,
                 std::vector<Inst>& made) {
    ShuffleIn128(dtype, rows, made);
    std::vector<int32_t> columns(16);
    auto mix = [&](int selector, int32_t a, int32_t b) {
      return Emit(ShuffleKind::kBlocks512, selector, dtype, a, b, made);
    };
    for (int c = 0; c < 4; ++c) {
      int32_t even01 = mix(0x88, rows[c], rows[c + 4]);
      int32_t odd01 = mix(0xdd, rows[c], rows[c + 4]);
      int32_t even23 = mix(0x88, rows[c + 8], rows[c + 12]);
      int32_t odd23 = mix(0xdd, rows[c + 8], rows[c + 12]);
      columns[c] = mix(0x88, even01, even23);
      columns[c + 8] = mix(0xdd, even01, even23);
      columns[c + 4] = mix(0x88, odd01, odd23);
      columns[c + 12] = mix(0xdd, odd01, odd23);
    }
    rows = std::move(columns);
  }

  void Shuffle8(DType dtype, std::vector<int32_t>& rows,
                std::vector<Inst>& made) {
    ShuffleIn128(dtype, rows, made);
    std::vector<int32_t> columns(8);
    for (int c = 0; c < 4; ++c) {
      for (int high = 0; high < 2; ++high) {
        columns[c + 4 * high] =
            Emit(ShuffleKind::kBlocks256, high == 0 ? 0x20 : 0x31, dtype,
                 rows[c], rows[c + 4], made);
      }
    }
    rows = std::move(columns);
  }

  // Puts what was made in its places and renames the columns.
  void Insert() {
    std::vector<Inst> insts;
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      auto made = made_.find(k);
      if (made != made_.end()) {
        insts.insert(insts.end(), made->second.begin(), made->second.end());
      }
      Inst inst = nest_.insts[k];
      for (Value& arg : inst.args) {
        if (arg.kind != Value::kReg) continue;
        auto renamed = renamed_.find(arg.index);
        if (renamed != renamed_.end()) arg.index = renamed->second;
      }
      insts.push_back(inst);
    }
    nest_.insts = std::move(insts);
  }

  static constexpr int32_t kAnyBase = -2;

  Nest& nest_;
  const int lanes_;
  std::map<size_t, std::vector<Inst>> made_;  // by place
  std::map<int32_t, int32_t> renamed_;        // registers of columns
};

}  // namespace

void TransposeLoads(Nest& nest, Isa isa) { Transposer(nest, isa).Run(); }

}  // namespace ocannl::jit
