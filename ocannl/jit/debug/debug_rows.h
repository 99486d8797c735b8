// SPDX-License-Identifier: Apache-2.0
//
// DebugRows: what the emitter tells of machine code for a debugger: rows of the
// line table and of the call frame information, as DWARF has them. Each holds
// from its first byte up to the next row's.
#ifndef OCANNL_JIT_DEBUG_DEBUG_ROWS_H_
#define OCANNL_JIT_DEBUG_DEBUG_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::jit {

struct DebugRows {
  struct Line {
    int64_t begin;  // in the code
    int64_t line;   // of the program's text, from 1
  };

  // The canonical frame address, the caller's rsp before the call, is `base`
  // and 8 bytes for the return address and for each register that is pushed.
  enum class Base : uint8_t {  // but for kSlot, a register, as DWARF numbers it
    kRax = 0,  // which is what rsp was before it became the frame's
    kRbx = 3,  // likewise, of the stub; rdi is pushed behind rbx
    kRsp = 7,
    kSlot = 255,  // what the frame's first slot holds
  };
  struct Frame {
    int64_t begin;
    Base base;
    int32_t pushed;  // registers, in the order of kPushed
  };
  // DWARF's numbers of rbx, rbp and r12 to r15.
  static constexpr uint8_t kPushed[] = {3, 6, 12, 13, 14, 15};

  // What the emitter asks: the lines of statements and of loops.
  absl::flat_hash_map<const Stmt*, int64_t> line_of = {};
  absl::flat_hash_map<IteratorId, int64_t> line_of_loop = {};

  // What it tells.
  std::vector<Line> lines = {};
  std::vector<Frame> frames = {};
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_DEBUG_DEBUG_ROWS_H_
