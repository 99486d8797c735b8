// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Between two instructions that use a loaded value, or its load and the first
// one, where nothing writes to its buffer.
struct Gap {
  size_t from, to;
  VReg value;
};

struct EndsEarlier {
  bool operator()(const Gap& a, const Gap& b) const { return a.to < b.to; }
};

class Rematerializer {
 public:
  Rematerializer(Nest& nest, Isa isa) : nest_(nest), isa_(isa) {}

  void Run() {
    const int registers = NumRegisters(/*masks=*/false, isa_);
    if (std::ssize(nest_.registers) <= registers) return;
    FindGaps();
    if (gaps_.empty()) return;
    const std::vector<int> pressure = RegisterPressure(nest_, isa_)[0];
    if (*std::max_element(pressure.begin(), pressure.end()) <= registers) {
      return;
    }
    ChooseGaps(pressure, registers);
    Reload();
  }

 private:
  // Whether it is one instruction of the machine, and defines a vector.
  bool IsCheap(const Inst& load) const {
    const Register& reg = nest_.registers[load.dst.index];
    return !reg.is_mutable && !IsMask(reg.dtype, isa_) &&
           (IsContiguous(load) || load.memory.stride == 0);
  }

  // Of values that are used in no other part of the nest.
  void FindGaps() {
    constexpr int32_t kElsewhere = -1;
    struct Use {
      int32_t part = kElsewhere;
      size_t last = 0;
    };
    std::vector<Use> uses(nest_.registers.size());
    int32_t part = 0;
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      const Inst& inst = nest_.insts[k];
      for (const Value& arg : inst.args) {
        if (arg.kind != Value::kReg) continue;
        Use& use = uses[arg.index];
        if (use.part != part || IsStoredAfter(use.last, loads_.at(arg.reg()))) {
          use.part = kElsewhere;
          continue;
        }
        if (k > use.last + 1) gaps_.push_back({use.last, k, arg.reg()});
        use.last = k;
      }
      if (WritesMemory(inst.opcode)) {
        stores_[nest_.pointers[inst.memory.pointer].base] = k;
      } else if (IsBlockBoundary(inst.opcode)) {
        ++part;
      }
      if (inst.opcode != Opcode::kLoad || !IsCheap(inst)) continue;
      uses[inst.dst.index] = {.part = part, .last = k};
      loads_[inst.dst] = k;
    }
    std::erase_if(gaps_, [&](const Gap& gap) {
      return uses[gap.value.index].part == kElsewhere;
    });
    std::sort(gaps_.begin(), gaps_.end(), [](const Gap& a, const Gap& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
  }

  // Whether an instruction after `place` so far writes to the buffer that the
  // load reads. Buffers do not overlap.
  bool IsStoredAfter(size_t place, size_t load) const {
    const Memory& memory = nest_.insts[load].memory;
    const auto store = stores_.find(nest_.pointers[memory.pointer].base);
    return store != stores_.end() && store->second > place;
  }

  // Keeps the gaps in which a value gives up its register: where the pressure
  // is too high, those that end last. A position is that of LiveInterval.
  void ChooseGaps(const std::vector<int>& pressure, int registers) {
    std::vector<Gap> chosen;
    std::priority_queue<Gap, std::vector<Gap>, EndsEarlier> open;
    std::vector<int> ends(pressure.size());
    int free = 0;  // registers that were given up
    size_t next = 0;
    for (size_t at = 0; at < pressure.size(); ++at) {
      for (; next < gaps_.size() && 2 * gaps_[next].from + 2 <= at; ++next) {
        open.push(gaps_[next]);
      }
      free -= ends[at];
      while (pressure[at] - free > registers && !open.empty() &&
             2 * open.top().to - 2 >= at) {
        chosen.push_back(open.top());
        open.pop();
        ++free;
        ++ends[2 * chosen.back().to - 1];
      }
    }
    std::sort(chosen.begin(), chosen.end(), EndsEarlier());
    gaps_ = std::move(chosen);
  }

  void Reload() {
    NestEditor editor(nest_);
    absl::flat_hash_map<VReg, VReg> reloaded;
    std::vector<size_t> unused;
    size_t next = 0;
    for (size_t k = gaps_.empty() ? nest_.insts.size() : gaps_[0].to;
         k < nest_.insts.size(); ++k) {
      for (; next < gaps_.size() && gaps_[next].to == k; ++next) {
        const auto& [from, to, value] = gaps_[next];
        const size_t load = loads_.at(value);
        reloaded[value] = editor.Define(k, nest_.insts[load]);
        if (from == load) unused.push_back(load);
      }
      for (Value& arg : nest_.insts[k].args) {
        if (arg.kind != Value::kReg) continue;
        const auto found = reloaded.find(arg.reg());
        if (found != reloaded.end()) arg = RegValue(found->second);
      }
    }
    for (size_t load : unused) editor.Remove(load);
    editor.Finish();
  }

  Nest& nest_;
  const Isa isa_;
  std::vector<Gap> gaps_;
  absl::flat_hash_map<VReg, size_t> loads_;       // the instructions
  absl::flat_hash_map<BufferId, size_t> stores_;  // the last into each buffer
};

}  // namespace

void RematerializeLoads(Nest& nest, Isa isa) {
  Rematerializer(nest, isa).Run();
}

}  // namespace ocannl::jit
