// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/allocate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {
namespace {

// Uses of a constant for which hoisting it pays. The gain is measured by
// `bazel run //experiments:bench -- --filter=map/,moons/`.
constexpr double kMinUses = 8;

// Whether the instruction may need scratch registers.
bool NeedsScratch(const Inst& inst) {
  const OpcodeInfo::Scratch scratch = Info(inst.opcode).scratch;
  if (scratch != OpcodeInfo::Scratch::kMay) {
    return scratch == OpcodeInfo::Scratch::kAlways;
  }
  if (inst.dtype != DType::kF32 && inst.dtype != DType::kF64) return true;
  if (!Computes(inst.opcode)) {
    return inst.active_lanes < inst.lanes ||
           inst.memory.stride != static_cast<int>(SizeOf(inst.dtype));
  }
  return inst.operand != inst.dtype ||
         (inst.op != Op::kAdd && inst.op != Op::kSub && inst.op != Op::kMul &&
          inst.op != Op::kFma);
}

bool HasScratch(const Nest& nest) {
  return std::any_of(nest.insts.begin(), nest.insts.end(), NeedsScratch);
}

// Where each loop ends, by its number.
std::vector<size_t> EndsOf(const Nest& nest) {
  std::vector<size_t> ends(nest.loops.size());
  for (size_t at = 0; at < nest.insts.size(); ++at) {
    const Inst& inst = nest.insts[at];
    if (inst.opcode == Opcode::kEndLoop) ends[inst.offset] = at;
  }
  return ends;
}

struct LiveInterval {
  int first = -1;
  int last = -1;
  double uses = 0;  // weighted by frequency
  int bytes = 0;    // of the widest use
};

class Liveness {
 public:
  explicit Liveness(const Nest& nest) : nest_(nest), ends_(EndsOf(nest)) {
    intervals_.resize(nest.registers.size());
  }

  std::vector<LiveInterval> Run() && {
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      const Inst& inst = nest_.insts[k];
      const int at = static_cast<int>(k);
      if (inst.opcode == Opcode::kLoop) {
        open_.push_back({at, static_cast<int>(ends_[inst.offset]),
                         nest_.loops[inst.offset].frequency});
      }
      if (inst.opcode == Opcode::kEndLoop) open_.pop_back();
      for (const Value& arg : inst.args) {
        if (arg.kind == Value::kReg) Touch(arg.reg(), at, inst);
      }
      if (inst.dst.is_valid()) Touch(inst.dst, at, inst);
    }
    return std::move(intervals_);
  }

 private:
  struct Open {
    int begin;
    int end;
    double frequency;
  };

  void Touch(VReg reg, int at, const Inst& inst) {
    LiveInterval& interval = intervals_[reg.index];
    if (interval.first < 0) {
      interval.first = at;
      // Not defined as a whole: live around the loops, from an iteration
      // before.
      const bool is_defined =
          inst.dst == reg && IsPure(inst.opcode) &&
          std::none_of(inst.args.begin(), inst.args.end(),
                       [&](const Value& arg) { return arg == RegValue(reg); });
      if (!is_defined && !open_.empty()) {
        interval.first = open_.front().begin;
        interval.last = open_.front().end;
      }
    }
    interval.last = std::max(interval.last, at);
    for (const Open& open : open_) {
      if (open.begin <= interval.first) continue;
      interval.last = std::max(interval.last, open.end);
      break;
    }
    interval.uses += open_.empty() ? 1 : open_.back().frequency;
    auto size = SizeOf(nest_.registers[reg.index].dtype) == 8 ? 8 : 4;
    interval.bytes = std::max<int>(interval.bytes, inst.lanes * size);
  }

  const Nest& nest_;
  const std::vector<size_t> ends_;
  std::vector<LiveInterval> intervals_;
  std::vector<Open> open_;
};

class Allocator {
 public:
  Allocator(const Nest& nest, const std::vector<LiveInterval>& intervals,
            Isa isa, bool spills)
      : nest_(nest), intervals_(intervals), isa_(isa) {
    result_.has_scratch = HasScratch(nest);
    for (bool masks : {false, true}) {
      std::vector<VReg>& owners = owners_[masks];
      owners.assign(NumRegisters(masks, isa), VReg());
      if (owners.empty()) continue;
      if (masks) owners[0] = kReserved;
      const int scratch = FirstScratch(masks, isa);
      const int first = spills ? FirstSpillScratch(masks, isa) : scratch;
      const int end = result_.has_scratch ? scratch + kNumScratch : scratch;
      std::fill(owners.begin() + first, owners.begin() + end, kReserved);
    }
    result_.locations.resize(nest.registers.size());
  }

  // Whether no value was spilled.
  bool Run() {
    std::vector<VReg> order;
    for (size_t reg = 0; reg < intervals_.size(); ++reg) {
      if (intervals_[reg].first < 0) continue;
      order.push_back(VReg(reg));
    }
    std::stable_sort(order.begin(), order.end(), [&](VReg a, VReg b) {
      return intervals_[a.index].first < intervals_[b.index].first;
    });
    for (VReg reg : order) Assign(reg);
    return !spilled_;
  }

  Allocation Take() && { return std::move(result_); }

 private:
  static constexpr VReg kReserved = VReg(-2);

  void Assign(VReg reg) {
    const LiveInterval& interval = intervals_[reg.index];
    std::vector<VReg>& owners =
        owners_[IsMask(nest_.registers[reg.index].dtype, isa_)];
    if (int hint = CoalescingHint(reg, owners); hint >= 0) {
      owners[hint] = reg;
      result_.locations[reg.index] = {.reg = static_cast<int8_t>(hint)};
      return;
    }
    int best = -1;
    double least = SpillWeight(reg);
    for (size_t k = 0; k < owners.size(); ++k) {
      VReg owner = owners[k];
      if (owner == kReserved) continue;
      // An operand's register may be the result's.
      bool free =
          !owner.is_valid() || intervals_[owner.index].last <= interval.first;
      double weight = free ? -1 : SpillWeight(owner);
      if (weight >= least) continue;
      best = static_cast<int>(k);
      least = weight;
      if (free) break;
    }
    if (best < 0) return Spill(reg);
    if (least >= 0) Spill(owners[best]);
    owners[best] = reg;
    result_.locations[reg.index] = {.reg = static_cast<int8_t>(best)};
  }

  // The register of an operand whose interval the defining instruction ends, or
  // -1: two-address forms, as of vfmadd, need no copy then.
  int CoalescingHint(VReg reg, const std::vector<VReg>& owners) const {
    const Inst& inst = nest_.insts[intervals_[reg.index].first];
    if (inst.dst != reg || !Computes(inst.opcode)) return -1;
    for (int k : {2, 0, 1}) {
      const Value& arg = inst.args[k];
      if (arg.kind != Value::kReg) continue;
      const int hint = result_.locations[arg.index].reg;
      if (hint < 0 || static_cast<size_t>(hint) >= owners.size()) continue;
      if (owners[hint] == arg.reg() &&
          intervals_[arg.index].last <= intervals_[reg.index].first) {
        return hint;
      }
    }
    return -1;
  }

  double SpillWeight(VReg reg) const {
    const LiveInterval& interval = intervals_[reg.index];
    return interval.uses / (interval.last - interval.first + 1);
  }

  void Spill(VReg reg) {
    spilled_ = true;
    const Inst& inst = nest_.insts[intervals_[reg.index].first];
    const bool is_constant = inst.opcode == Opcode::kCopy && inst.dst == reg &&
                             inst.args[0].kind == Value::kConst;
    if (is_constant && !nest_.registers[reg.index].is_mutable) {
      result_.locations[reg.index] = {.constant = inst.args[0].index};
      return;
    }
    const int bytes = intervals_[reg.index].bytes <= 16   ? 16
                      : intervals_[reg.index].bytes <= 32 ? 32
                                                          : 64;
    const int32_t slot = (result_.spill_bytes + bytes - 1) / bytes * bytes;
    result_.locations[reg.index] = {.slot = slot};
    result_.spill_bytes = slot + bytes;
  }

  const Nest& nest_;
  const std::vector<LiveInterval>& intervals_;
  const Isa isa_;
  std::vector<VReg> owners_[2];  // vectors, masks
  bool spilled_ = false;
  Allocation result_;
};

// Whether operand k is a constant that is loaded.
bool IsLoaded(const Inst& inst, int k) {
  return Computes(inst.opcode) && inst.operand != DType::kBool &&
         inst.args[k].kind == Value::kConst && CanBeMemory(inst, k);
}

class ConstantHoister {
 public:
  ConstantHoister(Nest& nest, Isa isa)
      : nest_(nest), isa_(isa), ends_(EndsOf(nest)) {
    FindPressure();
    const int scratch = HasScratch(nest) ? kNumScratch : 0;
    usable_ = NumRegisters(/*masks=*/false, isa) - scratch;
    // k0 is not used; without AVX-512 there are no masks.
    const int masks =
        std::max(0, NumRegisters(/*masks=*/true, isa) - 1 - scratch);
    const bool spills =
        Pressure(0, pressure_.size()) > usable_ || most_masks_ > masks;
    if (spills) usable_ -= kNumSpillScratch;
  }

  void Run() {
    if (nest_.loops.empty()) {
      HoistBefore(0, nest_.insts.size(), 1,
                  usable_ - Pressure(0, pressure_.size()));
    } else {
      HoistFromLoops(0, nest_.insts.size(), 1, 0);
    }
    std::vector<Inst> insts;
    insts.reserve(nest_.insts.size() + hoisted_.size());
    auto next = hoisted_.begin();
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      for (; next != hoisted_.end() && next->first == k; ++next) {
        insts.push_back(next->second);
      }
      insts.push_back(nest_.insts[k]);
    }
    nest_.insts = std::move(insts);
  }

 private:
  // A constant, and the bytes of one in memory.
  using Key = std::pair<int32_t, int>;

  // Register pressure: how many vectors are live behind each instruction, and
  // the most masks.
  void FindPressure() {
    const std::vector<LiveInterval> intervals = Liveness(nest_).Run();
    std::vector<int> change[2];  // of vectors, of masks
    for (std::vector<int>& kind : change) kind.resize(nest_.insts.size() + 1);
    for (size_t reg = 0; reg < intervals.size(); ++reg) {
      const LiveInterval& interval = intervals[reg];
      if (interval.first < 0) continue;
      std::vector<int>& kind = change[IsMask(nest_.registers[reg].dtype, isa_)];
      ++kind[interval.first];
      --kind[std::max(interval.last, interval.first + 1)];
    }
    int vectors = 0;
    int masks = 0;
    for (size_t k = 0; k < nest_.insts.size(); ++k) {
      vectors += change[0][k];
      masks += change[1][k];
      pressure_.push_back(vectors);
      most_masks_ = std::max(most_masks_, masks);
    }
  }

  // The most vectors that are live at once.
  int Pressure(size_t first, size_t last) const {
    return *std::max_element(pressure_.begin() + first,
                             pressure_.begin() + last);
  }

  static Key KeyOf(const Inst& inst, int k) {
    return {inst.args[k].index, SizeOf(inst.operand) == 8 ? 8 : 4};
  }

  // For the loops in [begin, end), which runs `frequency` times; `taken`
  // registers hold constants there already.
  void HoistFromLoops(size_t begin, size_t end, double frequency, int taken) {
    for (size_t k = begin; k < end; ++k) {
      if (nest_.insts[k].opcode != Opcode::kLoop) continue;
      const size_t last = ends_[nest_.insts[k].offset];
      const int free = usable_ - taken - Pressure(k, last);
      const int hoisted = HoistBefore(k, last, frequency, free);
      const double inner = nest_.loops[nest_.insts[k].offset].frequency;
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
    std::stable_sort(
        uses.begin(), uses.end(),
        [](const auto& a, const auto& b) { return a.first > b.first; });
    if (uses.size() > static_cast<size_t>(free)) uses.resize(free);
    std::map<Key, VReg> registers;
    for (const auto& [times, key] : uses) registers[key] = VReg();
    for (size_t k = first; k < last; ++k) {
      Inst& inst = nest_.insts[k];
      for (int arg = 0; arg < 3; ++arg) {
        if (!IsLoaded(inst, arg)) continue;
        auto found = registers.find(KeyOf(inst, arg));
        if (found == registers.end()) continue;
        VReg& reg = found->second;
        if (!reg.is_valid()) {
          reg = NewRegister(first, found->first, inst.operand);
        }
        inst.args[arg] = RegValue(reg);
      }
    }
    return static_cast<int>(uses.size());
  }

  std::map<Key, double> CountUses(size_t first, size_t last) const {
    std::map<Key, double> uses;
    std::vector<double> frequencies = {1};
    for (size_t k = first; k < last; ++k) {
      const Inst& inst = nest_.insts[k];
      if (inst.opcode == Opcode::kEndLoop) frequencies.pop_back();
      if (inst.opcode == Opcode::kLoop) {
        frequencies.push_back(nest_.loops[inst.offset].frequency);
      }
      for (int arg = 0; arg < 3; ++arg) {
        if (IsLoaded(inst, arg)) uses[KeyOf(inst, arg)] += frequencies.back();
      }
    }
    return uses;
  }

  // One that holds the constant in all lanes from instruction `at` on.
  VReg NewRegister(size_t at, Key key, DType dtype) {
    const VReg reg(nest_.registers.size());
    const int bytes = isa_ == Isa::kAvx512 ? 64 : 32;
    const auto lanes = static_cast<uint8_t>(bytes / key.second);
    nest_.registers.push_back({dtype, lanes, /*is_mutable=*/false});
    Inst copy = {.opcode = Opcode::kCopy,
                 .dtype = dtype,
                 .lanes = lanes,
                 .active_lanes = lanes};
    copy.dst = reg;
    copy.args[0] = {Value::kConst, key.first};
    hoisted_.emplace(at, copy);
    return reg;
  }

  Nest& nest_;
  const Isa isa_;
  const std::vector<size_t> ends_;  // of loops
  int usable_ = 0;                  // vector registers
  int most_masks_ = 0;
  std::vector<int> pressure_;            // by instruction
  std::multimap<size_t, Inst> hoisted_;  // and before which they are set
};

}  // namespace

bool IsMask(DType dtype, Isa isa) {
  return dtype == DType::kBool && isa == Isa::kAvx512;
}

int NumRegisters(bool masks, Isa isa) {
  if (masks) return isa == Isa::kAvx512 ? 8 : 0;
  return isa == Isa::kAvx512 ? 32 : 16;
}

int FirstScratch(bool masks, Isa isa) {
  // Vectors of AVX-512 too: some instructions have only the first 16.
  return (masks ? NumRegisters(masks, isa) : 16) - kNumScratch;
}

int FirstSpillScratch(bool masks, Isa isa) {
  return FirstScratch(masks, isa) - kNumSpillScratch;
}

void HoistConstants(Nest& nest, Isa isa) {
  const bool has_some = std::any_of(
      nest.insts.begin(), nest.insts.end(),
      [](const Inst& inst) { return IsLoaded(inst, 1) || IsLoaded(inst, 2); });
  if (has_some) ConstantHoister(nest, isa).Run();
}

Allocation Allocate(const Nest& nest, Isa isa) {
  std::vector<LiveInterval> intervals = Liveness(nest).Run();
  Allocator without(nest, intervals, isa, /*spills=*/false);
  if (without.Run()) return std::move(without).Take();
  Allocator with(nest, intervals, isa, /*spills=*/true);
  with.Run();
  return std::move(with).Take();
}

}  // namespace ocannl::jit
