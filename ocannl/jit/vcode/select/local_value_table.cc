// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/local_value_table.h"

#include <algorithm>
#include <utility>

namespace ocannl::jit {

std::pair<int64_t, int64_t> LocalValueTable::RangeOf(const MemoryRef& ref) {
  int64_t span = int64_t{ref.memory.stride} * (ref.active_lanes - 1);
  int64_t begin = ref.memory.disp + std::min<int64_t>(span, 0);
  return {begin, begin + std::abs(span) + ref.size};
}

template <class F>
void LocalValueTable::ForOverlaps(const MemoryRef& ref, OfBuffer& buffer,
                                  F visit) {
  auto [begin, end] = RangeOf(ref);
  for (auto& [pointer, entries] : buffer.by_pointer) {
    bool same = pointer == ref.memory.pointer;
    auto it = same ? entries.lower_bound(begin - longest_) : entries.begin();
    while (it != entries.end() && (!same || it->first < end)) {
      bool overlaps = !same || it->second.end > begin;
      if (overlaps && visit(it->second)) {
        it = entries.erase(it);
      } else {
        ++it;
      }
    }
  }
}

std::optional<Value> LocalValueTable::Find(const MemoryRef& ref) const {
  auto buffer = available_.find(ref.buffer);
  if (buffer == available_.end()) return std::nullopt;
  const auto& by_pointer = buffer->second.by_pointer;
  auto entries = by_pointer.find(ref.memory.pointer);
  if (entries == by_pointer.end()) return std::nullopt;
  const int64_t begin = RangeOf(ref).first;
  auto at = entries->second.upper_bound(begin);
  while (at != entries->second.begin() && (--at)->first == begin) {
    const Available& entry = at->second;
    if (entry.memory.disp == ref.memory.disp &&
        entry.memory.stride == ref.memory.stride && entry.lanes == ref.lanes &&
        entry.active_lanes == ref.active_lanes) {
      return entry.value;
    }
  }
  return std::nullopt;
}

void LocalValueTable::AddLoad(const MemoryRef& ref, Value value) {
  OfBuffer& buffer = available_[ref.buffer];
  if (buffer.has_stores) {
    ForOverlaps(ref, buffer, [](Available& entry) {
      entry.store = -1;
      return false;
    });
  }
  Add(ref, buffer, value, /*store=*/-1);
}

void LocalValueTable::Add(const MemoryRef& ref, OfBuffer& buffer, Value value,
                          int store) {
  auto [begin, end] = RangeOf(ref);
  longest_ = std::max(longest_, end - begin);
  if (value.kind == Value::kReg) {
    if (held_.size() <= static_cast<size_t>(value.index)) {
      held_.resize(value.index + 1);
    }
    held_[value.index] = true;
  }
  buffer.has_stores |= store >= 0;
  buffer.by_pointer[ref.memory.pointer].emplace(
      begin,
      Available{value, ref.memory, ref.lanes, ref.active_lanes, end, store});
}

int LocalValueTable::AddStore(const MemoryRef& ref, Value value, int inst) {
  int dead = -1;
  OfBuffer& buffer = available_[ref.buffer];
  ForOverlaps(ref, buffer, [&](Available& entry) {
    if (entry.memory.pointer == ref.memory.pointer &&
        entry.memory.disp == ref.memory.disp &&
        entry.memory.stride == ref.memory.stride &&
        entry.active_lanes == ref.active_lanes && entry.store >= 0) {
      dead = entry.store;
    }
    return true;
  });
  Add(ref, buffer, value, inst);
  return dead;
}

void LocalValueTable::MarkRead(BufferId buffer) {
  auto pointers = available_.find(buffer);
  if (pointers == available_.end()) return;
  for (auto& [pointer, entries] : pointers->second.by_pointer) {
    for (auto& [begin, entry] : entries) entry.store = -1;
  }
}

void LocalValueTable::KillBuffer(BufferId buffer) { available_.erase(buffer); }

void LocalValueTable::KillRegister(VReg reg) {
  if (static_cast<size_t>(reg.index) >= held_.size() || !held_[reg.index]) {
    return;
  }
  held_[reg.index] = false;
  const Value gone = RegValue(reg);
  for (auto& [buffer, of_buffer] : available_) {
    for (auto& [pointer, entries] : of_buffer.by_pointer) {
      for (auto it = entries.begin(); it != entries.end();) {
        it = it->second.value == gone ? entries.erase(it) : std::next(it);
      }
    }
  }
}

VReg& LocalValueTable::RegisterOf(const Inst& inst) {
  return computed_[{inst.opcode, inst.op, inst.dtype, inst.operand, inst.lanes,
                    inst.args, inst.memory.pointer, inst.memory.disp,
                    inst.memory.stride}];
}

void LocalValueTable::Clear() {
  available_.clear();
  computed_.clear();
  held_.clear();
  longest_ = 0;
}

void LocalValueTable::EndArm() {
  Clear();
  computed_ = std::move(outside_.back());
  outside_.pop_back();
}

}  // namespace ocannl::jit
