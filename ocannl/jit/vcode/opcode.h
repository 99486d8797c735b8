// SPDX-License-Identifier: Apache-2.0
//
// Opcode: the instructions of VCode, and the row of instructions.def of each.
//
//   Info(Opcode::kInsert).result   // kTied
#ifndef OCANNL_JIT_VCODE_OPCODE_H_
#define OCANNL_JIT_VCODE_OPCODE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace ocannl::jit {

enum class Opcode : uint8_t {
#define INSTRUCTION(name, ...) k##name,
#include "ocannl/jit/vcode/instructions.def"
};

// A row of instructions.def.
struct OpcodeInfo {
  enum class Result : uint8_t {
    kNone,
    kWrite,  // dst, or the lanes of it that it has
    kEarly,  // the same, before it reads its mask and the operands behind the
             // first (early-clobber)
    kTied,   // some lanes of dst, whose others stay: it reads dst too
  };
  enum class Role : uint8_t {  // of an operand, which it reads
    kNone,
    kReg,       // a register
    kAny,       // also memory or a constant, if no other one is (CanBe)
    kConstant,  // also a constant
    kZero,      // also the constant 0
    kCount,     // also an immediate: of a shift
    kOfOp,      // as that of its op (encodings.def)
  };
  enum class Mask : uint8_t {
    kNone,
    kLanes,  // which lanes it has of memory or of dst (ReadsLanes)
  };
  enum class Memory : uint8_t {
    kNone,
    kOperand,  // operands may be memory
    kRead,
    kWritten,
    kAddress,  // only the address is computed
  };
  enum class Field : uint8_t {  // of Inst, by its name, that it has
    kNone,
    kLane,
    kSelector,
    kBytes,
    kLookup,
    kLoop,
    kLine,
  };

  absl::string_view text;
  Result result;
  Role roles[3];
  Mask mask;
  Memory memory;
  Field field;
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define INSTRUCTION(name, text, result, a, b, c, mask, memory, field)        \
  {text,                                                                     \
   OpcodeInfo::Result::k##result,                                            \
   {OpcodeInfo::Role::k##a, OpcodeInfo::Role::k##b, OpcodeInfo::Role::k##c}, \
   OpcodeInfo::Mask::k##mask,                                                \
   OpcodeInfo::Memory::k##memory,                                            \
   OpcodeInfo::Field::k##field},
#include "ocannl/jit/vcode/instructions.def"
};

inline const OpcodeInfo& Info(Opcode opcode) {
  return kOpcodes[static_cast<size_t>(opcode)];
}

// Whether dst = f(operands), of which some may be memory or constants.
inline bool Computes(Opcode opcode) {
  return Info(opcode).memory == OpcodeInfo::Memory::kOperand;
}

// Whether it has memory, whatever its operands are.
inline bool AccessesMemory(Opcode opcode) {
  return Info(opcode).memory != OpcodeInfo::Memory::kNone && !Computes(opcode);
}

inline bool WritesMemory(Opcode opcode) {
  return Info(opcode).memory == OpcodeInfo::Memory::kWritten;
}

inline bool IsLoopBoundary(Opcode opcode) {
  return Info(opcode).field == OpcodeInfo::Field::kLoop;
}

// Whether it is a boundary between basic blocks.
inline bool IsBlockBoundary(Opcode opcode) {
  return IsLoopBoundary(opcode) || opcode == Opcode::kWhen ||
         opcode == Opcode::kEndWhen;
}

// Whether it may change memory or ends a basic block.
inline bool IsBarrier(Opcode opcode) {
  return WritesMemory(opcode) || IsBlockBoundary(opcode);
}

// Whether it is for listings and debuggers only, or for nobody.
inline bool DoesNothing(Opcode opcode) {
  return opcode == Opcode::kSourceLoc || opcode == Opcode::kNop;
}

inline bool DefinesEarly(Opcode opcode) {
  return Info(opcode).result == OpcodeInfo::Result::kEarly;
}

// Whether all that it does is to define `dst`.
inline bool IsPure(Opcode opcode) {
  return Info(opcode).result == OpcodeInfo::Result::kWrite ||
         DefinesEarly(opcode);
}

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_OPCODE_H_
