// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/values.h"

#include <algorithm>
#include <utility>

namespace ocannl::jit {

std::pair<int64_t, int64_t> Values::RangeOf(const Cells& cells) {
  int64_t span = int64_t{cells.memory.stride} * (cells.valid - 1);
  int64_t begin = cells.memory.disp + std::min<int64_t>(span, 0);
  return {begin, begin + std::abs(span) + cells.size};
}

template <class F>
void Values::ForOverlaps(const Cells& cells, F visit) {
  auto buffer = known_.find(cells.buffer);
  if (buffer == known_.end()) return;
  auto [begin, end] = RangeOf(cells);
  for (auto& [pointer, places] : buffer->second) {
    bool same = pointer == cells.memory.pointer;
    auto it = same ? places.lower_bound(begin - longest_) : places.begin();
    while (it != places.end() && (!same || it->first < end)) {
      bool overlaps = !same || it->second.end > begin;
      if (overlaps && visit(it->second)) {
        it = places.erase(it);
      } else {
        ++it;
      }
    }
  }
}

std::optional<Value> Values::Find(const Cells& cells) const {
  auto buffer = known_.find(cells.buffer);
  if (buffer == known_.end()) return std::nullopt;
  auto places = buffer->second.find(cells.memory.pointer);
  if (places == buffer->second.end()) return std::nullopt;
  auto [first, last] = places->second.equal_range(RangeOf(cells).first);
  while (last != first) {
    const Known& known = (--last)->second;
    if (known.memory.disp == cells.memory.disp &&
        known.memory.stride == cells.memory.stride &&
        known.lanes == cells.lanes && known.valid == cells.valid) {
      return known.value;
    }
  }
  return std::nullopt;
}

void Values::AddLoad(const Cells& cells, Value value) {
  ForOverlaps(cells, [](Known& known) {
    known.store = -1;
    return false;
  });
  Add(cells, value, /*store=*/-1);
}

void Values::Add(const Cells& cells, Value value, int store) {
  auto [begin, end] = RangeOf(cells);
  longest_ = std::max(longest_, end - begin);
  if (value.kind == Value::kReg) held_.insert(value.index);
  known_[cells.buffer][cells.memory.pointer].emplace(
      begin, Known{value, cells.memory, cells.lanes, cells.valid, end, store});
}

int Values::AddStore(const Cells& cells, Value value, int inst) {
  int dead = -1;
  ForOverlaps(cells, [&](Known& known) {
    if (known.memory.pointer == cells.memory.pointer &&
        known.memory.disp == cells.memory.disp &&
        known.memory.stride == cells.memory.stride &&
        known.valid == cells.valid && known.store >= 0) {
      dead = known.store;
    }
    return true;
  });
  Add(cells, value, inst);
  return dead;
}

void Values::AddReads(int32_t buffer) {
  auto known = known_.find(buffer);
  if (known == known_.end()) return;
  for (auto& [pointer, places] : known->second) {
    for (auto& [place, at] : places) at.store = -1;
  }
}

void Values::ForgetBuffer(int32_t buffer) { known_.erase(buffer); }

void Values::ForgetRegister(int32_t reg) {
  if (held_.erase(reg) == 0) return;
  const Value gone{Value::kReg, reg};
  for (auto& [buffer, pointers] : known_) {
    for (auto& [pointer, places] : pointers) {
      for (auto it = places.begin(); it != places.end();) {
        it = it->second.value == gone ? places.erase(it) : std::next(it);
      }
    }
  }
}

Values::Computation Values::KeyOf(const Inst& inst) {
  return {inst.code, inst.op, inst.dtype, inst.operand, inst.lanes, inst.args};
}

int32_t Values::FindComputation(const Inst& inst) const {
  auto it = computed_.find(KeyOf(inst));
  return it == computed_.end() ? -1 : it->second;
}

void Values::AddComputation(const Inst& inst) {
  computed_[KeyOf(inst)] = inst.dst;
}

void Values::Clear() {
  known_.clear();
  computed_.clear();
  held_.clear();
  longest_ = 0;
}

}  // namespace ocannl::jit
