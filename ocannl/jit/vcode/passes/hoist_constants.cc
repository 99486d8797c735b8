// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/jit/vcode/allocate.h"
#include "ocannl/jit/vcode/encoding.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/nest_editor.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Uses of a constant for which hoisting it pays. The gain is measured by
// `bazel run //experiments:bench -- --filter=map/,moons/`.
constexpr double kMinUses = 8;

// Whether operand k is a constant that is loaded: from memory as an operand, or
// into a register that holds nothing else. A zero is made without a load.
bool IsLoaded(const Nest& nest, const Inst& inst, int k) {
  if (inst.operand == DType::kBool || inst.args[k].kind != Value::kConst ||
      IsImmediate(inst, k)) {
    return false;
  }
  if (inst.opcode == Opcode::kCopy) {
    return !nest.registers[inst.dst.index].is_mutable &&
           nest.constants[inst.args[k].index].bits != 0;
  }
  return Computes(inst.opcode) && CanBe(Value::kConst, inst, k);
}

class ConstantHoister {
 public:
  ConstantHoister(Nest& nest, Isa isa)
      : nest_(nest),
        isa_(isa),
        editor_(nest),
        ends_(EndsOfLoops(nest)),
        pressure_(RegisterPressure(nest, isa)) {
    usable_ = NumRegisters(/*masks=*/false, isa);
    // k0 is not used, where there are masks.
    free_masks_ = std::max(0, NumRegisters(/*masks=*/true, isa) - 1) -
                  *absl::c_max_element(pressure_[true]);
    const bool spills =
        Pressure(0, nest.insts.size()) > usable_ || free_masks_ < 0;
    if (spills) usable_ -= kNumReloads;
  }

  void Run() {
    HoistLanes();
    if (nest_.loops.empty()) {
      HoistBefore(0, nest_.insts.size(), 1,
                  usable_ - Pressure(0, nest_.insts.size()));
    } else {
      HoistFromLoops(0, nest_.insts.size(), 1, 0);
    }
    editor_.Finish();
  }

 private:
  // A constant, and the bytes of one in memory.
  using Key = std::pair<int32_t, int>;

  // The most vectors that are live at once.
  int Pressure(size_t first, size_t last) const {
    return *std::max_element(pressure_[false].begin() + 2 * first,
                             pressure_[false].begin() + 2 * last);
  }

  // Each mask of lanes, as long as registers are free, is made before all.
  void HoistLanes() {
    std::map<std::pair<int, int>, VReg> masks;
    for (Inst& inst : nest_.insts) {
      if (!ReadsLanes(nest_, inst, HasMasks(isa_))) continue;
      const uint8_t first = FirstLane(inst);
      VReg& mask = masks[{first, inst.active_lanes}];
      if (!mask.is_valid()) {
        if (std::ssize(masks) > free_masks_) continue;
        mask = editor_.Define(0, {.opcode = Opcode::kLanes,
                                  .dtype = DType::kBool,
                                  .operand = DType::kBool,
                                  .lanes = inst.lanes,
                                  .active_lanes = inst.active_lanes,
                                  .lane = first});
      }
      inst.mask = mask;
    }
  }

  static Key KeyOf(const Inst& inst, int k) {
    return {inst.args[k].index, IsWide(inst.operand) ? 8 : 4};
  }

  // For the loops in [begin, end), which runs `frequency` times; `taken`
  // registers hold constants there already.
  void HoistFromLoops(size_t begin, size_t end, double frequency, int taken) {
    for (size_t k = begin; k < end; ++k) {
      if (nest_.insts[k].opcode != Opcode::kLoop) continue;
      const size_t last = ends_[nest_.insts[k].loop];
      const int free = usable_ - taken - Pressure(k, last);
      const int hoisted = HoistBefore(k, last, frequency, free);
      const double inner = nest_.loops[nest_.insts[k].loop].frequency;
      HoistFromLoops(k + 1, last, inner, taken + hoisted);
      k = last;
    }
  }

  // Returns how many constants of the instructions got one of `free` registers.
  int HoistBefore(size_t first, size_t last, double frequency, int free) {
    if (free <= 0) return 0;
    std::vector<std::pair<double, Key>> uses;
    for (const auto& [key, times] : CountUses(first, last)) {
      if (times >= kMinUses * frequency) uses.push_back({times, key});
    }
    if (uses.empty()) return 0;
    std::stable_sort(
        uses.begin(), uses.end(),
        [](const auto& a, const auto& b) { return a.first > b.first; });
    if (uses.size() > static_cast<size_t>(free)) uses.resize(free);
    std::map<Key, VReg> registers;
    for (const auto& [times, key] : uses) registers[key] = VReg();
    for (size_t k = first; k < last; ++k) {
      Inst& inst = nest_.insts[k];
      for (int arg = 0; arg < 3; ++arg) {
        if (!IsLoaded(nest_, inst, arg)) continue;
        auto found = registers.find(KeyOf(inst, arg));
        if (found == registers.end()) continue;
        VReg& reg = found->second;
        if (!reg.is_valid()) {
          reg = HoistConstant(first, found->first, inst.operand);
        }
        if (inst.opcode == Opcode::kCopy) {
          editor_.Replace(k, reg);
        } else {
          inst.args[arg] = RegValue(reg);
        }
      }
    }
    return static_cast<int>(uses.size());
  }

  std::map<Key, double> CountUses(size_t first, size_t last) const {
    std::map<Key, double> uses;
    std::vector<double> frequencies = {1};
    for (size_t k = first; k < last; ++k) {
      const Inst& inst = nest_.insts[k];
      if (inst.opcode == Opcode::kWhen) frequencies.push_back(0);
      if (inst.opcode == Opcode::kEndWhen) frequencies.pop_back();
      if (inst.opcode == Opcode::kEndLoop) frequencies.pop_back();
      if (inst.opcode == Opcode::kLoop) {
        frequencies.push_back(nest_.loops[inst.loop].frequency);
      }
      for (int arg = 0; arg < 3; ++arg) {
        if (IsLoaded(nest_, inst, arg)) {
          uses[KeyOf(inst, arg)] += frequencies.back();
        }
      }
    }
    return uses;
  }

  // One with the constant in all lanes.
  VReg HoistConstant(size_t at, Key key, DType dtype) {
    const auto lanes = static_cast<uint8_t>(VectorBytes(isa_) / key.second);
    return editor_.Define(at, {.opcode = Opcode::kCopy,
                               .dtype = dtype,
                               .operand = dtype,
                               .lanes = lanes,
                               .active_lanes = lanes,
                               .args = {{{Value::kConst, key.first}}}});
  }

  Nest& nest_;
  const Isa isa_;
  NestEditor editor_;
  const std::vector<size_t> ends_;                  // of loops
  const std::array<std::vector<int>, 2> pressure_;  // of vectors, of masks
  int usable_ = 0;                                  // vector registers
  int free_masks_ = 0;
};

}  // namespace

void HoistConstants(Nest& nest, Isa isa) {
  const bool has_any = absl::c_any_of(nest.insts, [&](const Inst& inst) {
    return IsLoaded(nest, inst, 0) || IsLoaded(nest, inst, 1) ||
           IsLoaded(nest, inst, 2) || ReadsLanes(nest, inst, HasMasks(isa));
  });
  if (has_any) ConstantHoister(nest, isa).Run();
}

}  // namespace ocannl::jit
