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
// Unrolled loops are gone: what is left between two loop boundaries is
// straight-line code. A virtual register holds `lanes` numbers of one type;
// numbers of less than 32 bits fill 32, and bools are masks. Pointers are
// affine in the iterators; loops keep them up to date by adding constants.
#ifndef OCANNL_JIT_VCODE_VCODE_H_
#define OCANNL_JIT_VCODE_VCODE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl::jit {

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

  friend bool operator==(const Value&, const Value&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Value& value) {
    return H::combine(std::move(h), value.kind, value.index);
  }
};

// The bytes from pointer + disp on.
struct Memory {
  int32_t pointer = -1;
  int32_t disp = 0;
  int32_t stride = 0;  // bytes from one lane to the next; 0: all lanes the same
};

enum class Code : uint8_t {
  kApply,    // dst = op(args); args[1] of a float's neg or abs is a mask; of
             // minimum and maximum, args[2] is what vfixupimm does, or, without
             // AVX-512, a number that makes a NaN of it too, if any
  kOrAnd,    // dst = args[0] | (args[1] & args[2]), bit by bit; with AVX-512
  kCopy,     // dst = args[0]
  kSplat,    // dst = the first lane of args[0], in every lane
  kLoad,     // dst = memory
  kLookup,   // dst = memory moved by the rows that args[0] says, or 0; lookup
             // `offset` of the nest
  kStore,    // memory = args[0]
  kScatter,  // memory moved by the rows that args[1] says = args[0], where it
             // has such rows; lookup `offset` of the nest
  kIndex,    // dst = pointer + memory.disp + lane * memory.stride, a number
  kExtract,  // dst = the lanes of args[0] from `offset` on
  kInsert,   // the `valid` lanes of dst from `offset` on = args[0]
  kShuffle,  // dst = lanes of args[0] and args[1]; `offset` selects
  kZero,     // `offset` bytes of memory = 0
  kLoop,     // begins loop `offset` of the nest
  kEndLoop,  // ends it
  kNote,     // the source line `offset` of the nest
};

// Whether dst = f(args), of which some may be memory or constants: CanBeMemory.
inline bool Computes(Code code) {
  return code == Code::kApply || code == Code::kOrAnd;
}

inline bool WritesMemory(Code code) {
  switch (code) {
    case Code::kStore:
    case Code::kScatter:
    case Code::kZero:
      return true;
    case Code::kApply:
    case Code::kOrAnd:
    case Code::kCopy:
    case Code::kSplat:
    case Code::kLoad:
    case Code::kLookup:
    case Code::kIndex:
    case Code::kExtract:
    case Code::kInsert:
    case Code::kShuffle:
    case Code::kLoop:
    case Code::kEndLoop:
    case Code::kNote:
      return false;
  }
  return true;
}

enum class ShuffleKind : uint8_t {
  kLow32,      // in each 128 bits: a0 b0 a1 b1
  kHigh32,     // a2 b2 a3 b3
  kLow64,      // a0 a1 b0 b1
  kHigh64,     // a2 a3 b2 b3
  kBlocks256,  // as vperm2f128
  kBlocks512,  // as vshuff32x4
};

struct Inst {
  Code code;
  Op op = Op::kAdd;             // of kApply
  DType dtype = DType::kF32;    // of dst, or of what is stored
  DType operand = DType::kF32;  // of kApply: of the last operand; of kLookup
                                // and kScatter: of the rows
  uint8_t lanes = 1;            // of the registers: 1, 4, 8 or 16
  uint8_t valid = 1;            // lanes that memory has
  ShuffleKind shuffle = ShuffleKind::kLow32;
  int32_t dst = -1;
  std::array<Value, 3> args = {};
  Memory memory = {};
  int64_t offset = 0;
};

// An instruction that does nothing.
inline Inst Nothing() { return {.code = Code::kNote, .offset = -1}; }

struct Register {
  DType dtype;
  uint8_t lanes;
  bool is_variable;  // has more than one definition
};

// A pointer counts from a buffer, or is a number.
struct Pointer {
  static constexpr int32_t kNumber = -1;
  int32_t base;
  Affine value;   // in bytes; in ones for kNumber
  double weight;  // how often it is used in a run
};

struct LoopStep {
  int32_t pointer;
  int64_t stride;
};

struct Loop {
  int32_t iterator;
  int64_t extent;
  bool is_parallel;  // runs over [lo, hi) of the caller
  double weight;     // how often its body runs
  std::vector<LoopStep> steps;
};

// How rows are looked up: those from `size` on are none.
struct RowLookup {
  int64_t size;    // rows
  int64_t stride;  // bytes from one to the next
  bool is_one;     // the same row for all lanes: its operand has one lane
};

struct Nest {
  std::vector<Inst> insts;
  std::vector<Register> registers;
  std::vector<Pointer> pointers;
  std::vector<Loop> loops;
  std::vector<Constant> constants;
  std::vector<RowLookup> lookups;
  std::vector<std::string> notes;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_VCODE_H_
