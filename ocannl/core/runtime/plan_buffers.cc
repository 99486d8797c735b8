// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/plan_buffers.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {
namespace {

constexpr int64_t kAlignment = DeviceMemory::kAlignment;

struct Temp {
  BufferId buffer;
  int64_t bytes;   // a multiple of kAlignment
  int first = -1;  // live interval, in statements of the body; -1: none
  int last = -1;
};

// A temp that has its place.
struct Placed {
  int64_t offset;
  int64_t end;
  int first;
  int last;
};

// Calls `visit` with each buffer that `stmt` mentions.
void WalkBuffers(const LoopProgram& program, const Stmt& stmt,
                 absl::FunctionRef<void(BufferId)> visit) {
  const BufferId written = WrittenBy(program, stmt);
  if (written.valid()) visit(written);
  if (const For* loop = std::get_if<For>(&stmt)) {
    for (const Stmt& inner : loop->body.stmts) {
      WalkBuffers(program, inner, visit);
    }
  }
  WalkReads(program, stmt, [&](const Access& access) { visit(access.buffer); });
}

// The temps in use, by number.
absl::StatusOr<std::vector<Temp>> FindTemps(const LoopProgram& program) {
  IdVector<BufferId, Temp> all;
  for (BufferId id : program.buffers.ids()) {
    const Buffer& buffer = program.buffers[id];
    OCANNL_ASSIGN_OR_RETURN(int64_t bytes, ByteSize(buffer.dtype, buffer.dims));
    bytes = std::max<int64_t>(bytes + kAlignment - 1, kAlignment) / kAlignment *
            kAlignment;
    all.push_back({.buffer = id, .bytes = bytes});
  }
  int number = 0;
  for (const Stmt& stmt : program.body.stmts) {
    WalkBuffers(program, stmt, [&](BufferId buffer) {
      Temp& temp = all[buffer];
      if (temp.first < 0) temp.first = number;
      temp.last = number;
    });
    ++number;
  }
  std::vector<Temp> temps;
  for (const Temp& temp : all) {
    if (!IsScratch(program.buffers[temp.buffer].role)) continue;
    if (temp.first >= 0) temps.push_back(temp);
  }
  return temps;
}

// First fit: the lowest offset at which `temp` overlaps none of the `placed`
// temps that interfere with it; those ascend by offset.
int64_t LowestFree(const Temp& temp, const std::vector<Placed>& placed) {
  int64_t offset = 0;
  for (const Placed& other : placed) {
    if (other.first > temp.last || temp.first > other.last) continue;
    if (offset + temp.bytes <= other.offset) break;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

absl::StatusOr<BufferPlan> PlanBuffers(const LoopProgram& program) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Temp> temps, FindTemps(program));
  std::stable_sort(
      temps.begin(), temps.end(),
      [](const Temp& a, const Temp& b) { return a.bytes > b.bytes; });
  BufferPlan plan;
  plan.offsets.assign(program.buffers.size(), -1);
  std::vector<Placed> placed;  // ascending by offset
  for (const Temp& temp : temps) {
    int64_t offset = LowestFree(temp, placed);
    if (offset > (int64_t{1} << 62) - temp.bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the temps of `", program.name,
                       "` have more than 2^62 bytes; use smaller dims"));
    }
    plan.offsets[temp.buffer] = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + temp.bytes);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [](int64_t a, const Placed& b) { return a < b.offset; });
    placed.insert(at, {.offset = offset,
                       .end = offset + temp.bytes,
                       .first = temp.first,
                       .last = temp.last});
  }
  return plan;
}

std::vector<std::pair<BufferId, BufferId>> CallersBuffers(
    const LoopProgram& original, const LoopProgram& scheduled) {
  auto given = [](const LoopProgram& program) {
    std::vector<BufferId> buffers;
    for (BufferId k : program.buffers.ids()) {
      if (!IsScratch(program.buffers[k].role)) buffers.push_back(k);
    }
    return buffers;
  };
  const std::vector<BufferId> arguments = given(original);
  const std::vector<BufferId> buffers = given(scheduled);
  CHECK_EQ(arguments.size(), buffers.size());
  std::vector<std::pair<BufferId, BufferId>> pairs;
  for (size_t k = 0; k < buffers.size(); ++k) {
    pairs.emplace_back(buffers[k], arguments[k]);
  }
  return pairs;
}

}  // namespace ocannl
