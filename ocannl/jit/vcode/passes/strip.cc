// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/strip.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "ocannl/jit/vcode/operands.h"

namespace ocannl::jit {

std::vector<Part> PartsRead(absl::Span<const Inst> body, int32_t pointer) {
  std::vector<Part> all, parts;
  for (const Inst& inst : body) {
    if (inst.memory.pointer != pointer) continue;
    const bool is_one = inst.memory.stride == 0;
    if (!is_one && !IsContiguous(inst)) return {};
    const auto size = static_cast<int64_t>(SizeOf(inst.dtype));
    const int64_t begin = inst.memory.disp;
    all.push_back({begin, begin + (is_one ? size : size * inst.active_lanes)});
  }
  absl::c_sort(all);
  for (const Part& part : all) {
    if (parts.empty() || part.begin > parts.back().end) {
      parts.push_back(part);
    } else {
      parts.back().end = std::max(parts.back().end, part.end);
    }
  }
  return parts;
}

int64_t DistanceOf(const std::vector<Part>& parts) {
  if (parts.size() < 2) return 0;
  const int64_t distance = parts[1].begin - parts[0].begin;
  for (size_t k = 2; k < parts.size(); ++k) {
    if (parts[k].begin - parts[k - 1].begin != distance) return 0;
  }
  return distance;
}

Rows RowsOf(const Strip& strip, int64_t step) {
  const auto count = std::ssize(strip.parts);
  const int64_t bytes = strip.parts[0].size();
  const int64_t distance = count == 1 ? step : DistanceOf(strip.parts);
  const bool is_same = absl::c_all_of(
      strip.parts, [&](const Part& part) { return part.size() == bytes; });
  if (strip.runs != 1 || !is_same || distance == 0) return {};
  if (step == bytes) return {count, distance, bytes * strip.iterations};
  if (step == distance * count) {
    return {count * strip.iterations, distance, bytes};
  }
  return {};
}

}  // namespace ocannl::jit
