// SPDX-License-Identifier: Apache-2.0
//
// LocalValueTable: local value numbering (Cocke and Schwartz 1970) of one basic
// block. Registers that are not mutable are the numbers of values. It finds
// common subexpressions, store-to-load forwarding, and dead stores, which are
// overwritten before any read.
#ifndef OCANNL_JIT_VCODE_SELECT_LOCAL_VALUE_TABLE_H_
#define OCANNL_JIT_VCODE_SELECT_LOCAL_VALUE_TABLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// What a load or store touches.
struct MemoryRef {
  BufferId buffer;
  Memory memory;
  uint8_t lanes;
  uint8_t active_lanes;
  uint8_t size;  // of a cell, in bytes
};

class LocalValueTable {
 public:
  // The value that a load of `ref` gives, where that is available; the last
  // one.
  std::optional<Value> Find(const MemoryRef& ref) const;

  // A load gave `value`.
  void AddLoad(const MemoryRef& ref, Value value);

  // The instruction `inst` stores `value`. Returns the number of an earlier
  // store that is dead now, or -1.
  int AddStore(const MemoryRef& ref, Value value, int inst);

  // Any cell of the buffer may be read.
  void MarkRead(BufferId buffer);

  // Every cell of the buffer may have been written.
  void KillBuffer(BufferId buffer);

  // The register gets another value.
  void KillRegister(VReg reg);

  // The register that holds what `inst` computes, to be set where it is none.
  // The operands are neither in memory nor mutable; a kIndex is a number.
  VReg& RegisterOf(const Inst& inst);

  void Clear();

  // What is computed up to EndArm may not be there after it. What memory holds
  // is not known then: a load in the arm reads what was stored before it.
  void BeginArm() { outside_.push_back(computed_); }
  void EndArm();

 private:
  struct Available {
    Value value;
    Memory memory;
    uint8_t lanes;
    uint8_t active_lanes;
    int64_t end;  // in bytes from the pointer
    int store;    // the store that nothing has read yet, or -1
  };
  // Sorted by the first byte.
  using ByOffset = absl::btree_multimap<int64_t, Available>;
  using Computation =
      std::tuple<Opcode, Op, DType, DType, uint8_t, std::array<Value, 3>,
                 int32_t, int32_t, int32_t>;  // the last ones of an index

  struct OfBuffer {
    absl::flat_hash_map<int32_t, ByOffset> by_pointer;
    bool has_stores = false;
  };

  static std::pair<int64_t, int64_t> RangeOf(const MemoryRef& ref);

  // Calls `visit(entry)` for what may alias `ref` in its buffer; `visit`
  // returns whether to kill it.
  template <class F>
  void ForOverlaps(const MemoryRef& ref, OfBuffer& buffer, F visit);

  void Add(const MemoryRef& ref, OfBuffer& buffer, Value value, int store);

  absl::flat_hash_map<BufferId, OfBuffer> available_;
  int64_t longest_ = 0;     // range, in bytes
  std::vector<bool> held_;  // whether the register is in available_
  absl::flat_hash_map<Computation, VReg> computed_;
  std::vector<absl::flat_hash_map<Computation, VReg>> outside_;  // of arms
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_LOCAL_VALUE_TABLE_H_
