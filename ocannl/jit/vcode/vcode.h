// SPDX-License-Identifier: Apache-2.0
//
// VCode: one nest of loops as machine instructions on virtual registers.
//
//   for i1 = 0 to 9 { vec i2 = 0 to 15 { z[i1, i2] := x[i1, i2] + y[i2]; } }
//
//     loop 10 times
//       r0 = load x+0, 16 lanes        x = &x + 64*i1
//       r1 = load y+0, 16 lanes
//       r2 = add r0, r1
//       store z+0, r2                  z = &z + 64*i1
//     end: x += 64, z += 64
//
// Unrolled loops are gone: between two loop boundaries is one basic block, or
// several around a `when`, which has the long arm of a select. A virtual
// register holds `lanes` numbers of one type; numbers of less than 32
// bits fill 32, and bools are masks, until legalization packs words and widens
// masks (passes/legalizer.h). One that is not mutable has a single
// definition (SSA). Pointers are induction variables, affine in the iterators
// and strength-reduced: each loop adds a constant to those that depend on it.
#ifndef OCANNL_JIT_VCODE_VCODE_H_
#define OCANNL_JIT_VCODE_VCODE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/jit/vcode/opcode.h"

namespace ocannl::jit {

// A virtual register, by its index in `registers` of the nest.
struct VReg {
  constexpr VReg() = default;
  constexpr explicit VReg(int64_t number)
      : index(static_cast<int32_t>(number)) {}

  constexpr bool is_valid() const { return index >= 0; }
  friend constexpr auto operator<=>(const VReg&, const VReg&) = default;
  template <class H>
  friend H AbslHashValue(H h, VReg reg) {
    return H::combine(std::move(h), reg.index);
  }

  int32_t index = -1;
};

// An operand of an instruction.
struct Value {
  enum Kind : uint8_t {
    kNone,
    kReg,     // virtual register `index`
    kConst,   // constant `index` of the nest, in every lane
    kMemory,  // what the instruction's `memory` holds
  };
  Kind kind = kNone;
  int32_t index = -1;

  VReg reg() const { return VReg(index); }  // of kReg

  friend bool operator==(const Value&, const Value&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Value& value) {
    return H::combine(std::move(h), value.kind, value.index);
  }
};

inline Value RegValue(VReg reg) { return {Value::kReg, reg.index}; }

// The bytes from pointer + disp + lane * stride on.
struct Memory {
  int32_t pointer = -1;
  int32_t disp = 0;
  int32_t stride = 0;  // bytes from one lane to the next; 0: all lanes the same

  friend bool operator==(const Memory&, const Memory&) = default;
};

enum class ShuffleKind : uint8_t {
  kLow32,      // in each 128 bits: a0 b0 a1 b1
  kHigh32,     // a2 b2 a3 b3
  kLow64,      // a0 a1 b0 b1
  kHigh64,     // a2 a3 b2 b3
  kBlocks256,  // as vperm2f128
  kBlocks512,  // as vshuff32x4
  kSelect32,   // as vshufps
};

struct Inst {
  Opcode opcode;
  Op op = Op::kAdd;             // of kApply
  DType dtype = DType::kF32;    // of dst, or of what is stored
  DType operand = DType::kF32;  // of what Computes: of the last operand; of
                                // kLookup and kScatter: of the rows
  uint8_t lanes = 1;            // of the registers: 1, 4, 8 or 16
  uint8_t active_lanes = 1;     // lanes that memory has
  ShuffleKind shuffle = ShuffleKind::kLow32;
  uint8_t selector = 0;  // of kShuffle: the immediate of `shuffle`, if any
  uint8_t lane = 0;      // the first one, of kExtract, kInsert and kLanes
  VReg dst = {};
  VReg mask = {};  // of the lanes, if it is in a register (HoistConstants)
  std::array<Value, 3> args = {};
  Memory memory = {};
  // Numbers of entries of the nest.
  int32_t lookup = -1;  // of `lookups`: of kLookup and kScatter
  int32_t loop = -1;    // of `loops`: of kLoop and kEndLoop
  int32_t line = -1;    // of `source_lines`: of kSourceLoc
  int64_t bytes = 0;    // of kMemset

  friend bool operator==(const Inst&, const Inst&) = default;
};

inline Inst Nop() { return {.opcode = Opcode::kNop}; }

struct Register {
  DType dtype;
  uint8_t lanes;
  bool is_mutable;  // has more than one definition: not in SSA form

  friend bool operator==(const Register&, const Register&) = default;
};

// A pointer counts from a buffer, or is a number.
struct Pointer {
  static constexpr BufferId kNumber = {};
  BufferId base;
  Affine value;      // in bytes; in ones for kNumber
  int64_t size;      // of the buffer, in bytes
  double frequency;  // uses in a run

  friend bool operator==(const Pointer&, const Pointer&) = default;
};

struct PointerIncrement {
  int32_t pointer;
  int64_t bytes;  // in ones for Pointer::kNumber

  friend bool operator==(const PointerIncrement&,
                         const PointerIncrement&) = default;
};

struct Loop {
  IteratorId iterator;
  int64_t extent;
  bool is_parallel;  // runs over [lo, hi) of the caller
  double frequency;  // runs of its body
  std::vector<PointerIncrement> increments;

  friend bool operator==(const Loop&, const Loop&) = default;
};

// The table of a kLookup or kScatter: rows from `size` on are out of bounds.
struct RowLookup {
  int64_t size;     // rows
  int64_t stride;   // bytes from one to the next
  bool is_uniform;  // the same row for all lanes: its operand has one lane

  friend bool operator==(const RowLookup&, const RowLookup&) = default;
};

// A statement that instructions come from.
struct SourceLine {
  const Stmt* stmt;  // of the block that was selected
  std::string text;  // its first line

  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

struct Nest {
  std::vector<Inst> insts;
  // Loop versioning: where the buffer `aligned`, if any, does not begin at a
  // cache line, `otherwise` runs in the place of `insts`, with the same
  // registers and loops (StreamStores).
  BufferId aligned = {};
  std::vector<Inst> otherwise = {};
  std::vector<Register> registers;
  std::vector<Pointer> pointers;
  std::vector<Loop> loops;
  std::vector<Constant> constants;
  std::vector<RowLookup> lookups;
  std::vector<SourceLine> source_lines;
  // Nests of one form differ in pointers and names of loops only (Renamed). The
  // nest of this number, the first of them, has the instructions, registers,
  // constants, lookups and source lines of all.
  int32_t form = -1;  // no other nest has the form

  friend bool operator==(const Nest&, const Nest&) = default;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_VCODE_H_
