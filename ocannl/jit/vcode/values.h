// SPDX-License-Identifier: Apache-2.0
//
// Values: what is known about memory and registers at one point of
// straight-line code: which register holds what a load would give, which
// computation was done before, and which store nothing has read yet.
#ifndef OCANNL_JIT_VCODE_VALUES_H_
#define OCANNL_JIT_VCODE_VALUES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// What a load or store touches.
struct Cells {
  int32_t buffer;
  Memory memory;
  uint8_t lanes;
  uint8_t valid;
  uint8_t size;  // of a cell, in bytes
};

class Values {
 public:
  // The value that a load of `cells` gives, where it is known; the last one.
  std::optional<Value> Find(const Cells& cells) const;

  // A load gave `value`.
  void AddLoad(const Cells& cells, Value value);

  // The instruction `inst` stores `value`. Returns the number of an earlier
  // store that nobody can see any more, or -1.
  int AddStore(const Cells& cells, Value value, int inst);

  // Any cell of the buffer may be read.
  void AddReads(int32_t buffer);

  // Every cell of the buffer may have been written.
  void ForgetBuffer(int32_t buffer);

  // The register gets another value.
  void ForgetRegister(int32_t reg);

  // The register that holds what `inst` computes, or -1. `inst` computes
  // without memory and without variables.
  int32_t FindComputation(const Inst& inst) const;
  void AddComputation(const Inst& inst);

  void Clear();

 private:
  struct Known {
    Value value;
    Memory memory;
    uint8_t lanes;
    uint8_t valid;
    int64_t end;  // in bytes from the pointer
    int store;    // the store that nothing has read yet, or -1
  };
  // Sorted by the first byte.
  using ByPlace = absl::btree_multimap<int64_t, Known>;
  using Computation =
      std::tuple<Code, Op, DType, DType, uint8_t, std::array<Value, 3>>;

  static std::pair<int64_t, int64_t> RangeOf(const Cells& cells);
  static Computation KeyOf(const Inst& inst);

  // Calls `visit(place, at)` for what may overlap `cells`; `visit` returns
  // whether to forget it.
  template <class F>
  void ForOverlaps(const Cells& cells, F visit);

  void Add(const Cells& cells, Value value, int store);

  // By buffer, then by pointer.
  absl::flat_hash_map<int32_t, absl::flat_hash_map<int32_t, ByPlace>> known_;
  int64_t longest_ = 0;                // range of cells, in bytes
  absl::flat_hash_set<int32_t> held_;  // registers in known_
  absl::flat_hash_map<Computation, int32_t> computed_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_VALUES_H_
