// SPDX-License-Identifier: Apache-2.0
//
// Unroller: walks a nest as machine code runs it: `unroll` loops are unrolled,
// `vec` loops strip-mined by the lanes of a register and unrolled, other loops
// entered once. Without vfixupimm, a loop that is a reduction by minimum or
// maximum is unrolled by 2 (pair_extremes.cc says why).
//
//   unroll i1 = 0 to 1 { vec i2 = 0 to 19 { S } }      16 lanes a register
//     ->  S at i1 = 0, i2 = 0..15;  S at i1 = 0, i2 = 16..19;  S at i1 = 1, ...
#ifndef OCANNL_JIT_VCODE_SELECT_UNROLL_H_
#define OCANNL_JIT_VCODE_SELECT_UNROLL_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The most for displacements and for strides between lanes: sums of both fit
// the 32 bits of an instruction.
inline constexpr int64_t kMaxDisp = int64_t{1} << 29;

using ExtentOf = absl::flat_hash_map<IteratorId, int64_t>;

// The iterations of a `vec` loop that one register holds.
struct Lanes {
  IteratorId iterator = {};  // of the loop; none: outside of every `vec` loop
  int64_t first = 0;
  int count = 1;   // 1, 4, 8 or 16
  int active = 1;  // iterations that exist
};

struct UnrollHooks {
  std::function<void(const Stmt&)> statement;  // anything but a loop
  std::function<void(const For&)> begin;
  std::function<void(const For&)> end;
};

class Unroller {
 public:
  Unroller(const LoopProgram& program, Isa isa);

  // Walks statements of the program's body.
  void Walk(const Block& block, const UnrollHooks& hooks);

  Isa isa() const { return isa_; }
  const Lanes& lanes() const { return lanes_; }
  const ExtentOf& extents() const { return extents_; }

  // `index` where the walk is now: only iterators of loops that were entered,
  // static indices and the iterator of the lanes are left; the latter counts
  // from the first lane.
  Affine Resolve(const Affine& index) const;

  // ByteOffset where the walk is now.
  Affine ByteOffsetOf(const Access& access) const;

 private:
  // Of an unrolled loop that the walk is in; null: of none.
  const Affine* FixedValue(IteratorId iterator) const;

  // sum += factor * index, resolved.
  void AddResolved(int64_t factor, const Affine& index, Affine& sum) const;

  void Visit(const Block& block, const UnrollHooks& hooks);
  void VisitLoop(const For& loop, const UnrollHooks& hooks);
  void VisitLanes(const For& loop, int lanes, const UnrollHooks& hooks);
  void VisitUnrolledBy2(const For& loop, const UnrollHooks& hooks);

  // The lanes of a register in a `vec` loop; 0: it must stay scalar.
  int LanesOf(const For& loop);

  const LoopProgram& program_;
  const Isa isa_;
  ExtentOf extents_;
  absl::flat_hash_map<IteratorId, int> lanes_of_;  // those known
  bool unrolls_ = true;
  Lanes lanes_;
  std::vector<std::pair<IteratorId, Affine>> fixed_;  // of unrolled loops
};

// Whether `index` is between the least and the greatest i32.
bool FitsI32(const LoopProgram& program, const ExtentOf& extents,
             const Affine& index);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_UNROLL_H_
