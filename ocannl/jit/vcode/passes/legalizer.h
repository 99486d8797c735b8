// SPDX-License-Identifier: Apache-2.0
//
// Legalizer: the expansions of Legalize. An expansion is made of instructions
// that may need one themselves: Define appends those of the lanes at hand until
// all are legal.
//
// Lanes of 32 bits hold integers and floats of less, zero-extended; as u32,
// they are operands as all others are. A mask is a bool: in a mask register, or
// in lanes of 32 bits. Without mask registers, comparisons of numbers of 64
// bits make masks of 64 bits, which select reads, in registers of i64.
#ifndef OCANNL_JIT_VCODE_PASSES_LEGALIZER_H_
#define OCANNL_JIT_VCODE_PASSES_LEGALIZER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

class Legalizer {
 public:
  Legalizer(Nest& nest, Isa isa) : nest_(nest), isa_(isa) {}

  // Whether the set has it as one instruction, or the emitter a form of its
  // own.
  bool IsLegal(const Inst& inst) const;

  void Run();

 private:
  // The value of `inst`, which is not legal; none: a helper computes it.
  std::optional<Value> Expand(const Inst& inst);

  // legalize.cc
  std::optional<Value> ExpandInteger(const Inst& inst);
  std::optional<Value> ExpandMask(const Inst& inst);
  Value ExpandCompare(const Inst& inst);
  Value ExpandSelect(const Inst& inst);
  Value ExpandExtreme(const Inst& inst);
  Value SignOf(Value a);
  Value Greater(DType type, Value a, Value b);
  // Lanes of 32 bits, as `type`, of those of 64; without masks.
  Value LowHalves(DType type, Value lanes);
  Value MultiplyWide(DType type, Value a, Value b);
  Value RotateBits(const Inst& inst);

  // legalize_root.cc
  // For each of `insts`, whether it is a root that is faster expanded.
  std::vector<bool> RootsToExpand(const std::vector<Inst>& insts) const;
  Value ExpandRoot(const Inst& inst);

  // legalize_convert.cc
  std::optional<Value> ExpandConvert(const Inst& inst);
  std::optional<Value> ToFloat(const Inst& inst);
  std::optional<Value> ToInteger(const Inst& inst);
  Value BetweenIntegers(const Inst& inst);
  Value U32ToFloat(DType to, Value a);
  Value F32ToI32(Value a);
  std::optional<Value> Widen(const Inst& inst);
  std::optional<Value> Narrow(const Inst& inst);
  Value NarrowToWords(Value lanes);

  // The type to whose lanes numbers of `dtype` are promoted.
  static DType Promoted(DType dtype);
  // A mask of the numbers' own width.
  DType MaskOf(DType dtype) const;
  // Clears the bits that an integer of less than 32 bits does not have.
  Value ZeroExtend(DType dtype, Value lanes);

  // Instructions for the lanes at hand.
  Inst New(Opcode opcode, DType dtype, DType operand, Value a, Value b = {},
           Value c = {}) const;
  Value Define(Inst inst);
  Value Apply(Op op, DType type, Value a, Value b = {});
  Value Select(DType type, Value mask, Value a, Value b);
  Value Compare(Op op, DType type, Value a, Value b);
  Value Convert(DType to, DType from, Value a);
  Value Make(Opcode opcode, DType type, Value a, Value b = {});
  Value ConstantOf(DType dtype, uint64_t bits);
  Value Number(DType dtype, double value);
  Value InRegister(Value value, DType dtype);

  Nest& nest_;
  const Isa isa_;
  std::vector<Inst> insts_;
  uint8_t lanes_ = 1;
  absl::flat_hash_map<Constant, int32_t> constants_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_LEGALIZER_H_
