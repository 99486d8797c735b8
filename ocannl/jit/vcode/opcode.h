// SPDX-License-Identifier: Apache-2.0
//
// Opcode: the instructions of VCode, and the row of instructions.def of each.
//
//   Info(Opcode::kInsert).result   // kUpdates
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

inline constexpr int kOfOp = -1;  // as many operands as the op

struct OpcodeInfo {
  enum class Result : uint8_t {
    kNone,
    kDefines,       // dst, or the lanes of it that it has
    kDefinesEarly,  // the same, before it reads the operands behind the first
                    // (early-clobber)
    kUpdates,       // some lanes of dst, whose others stay: it reads dst too
  };
  enum class Memory : uint8_t {
    kNone,
    kOperand,  // operands may be memory or constants: CanBeMemory
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
  int operands;  // or kOfOp
  Result result;
  Memory memory;
  Field field;
};

inline constexpr OpcodeInfo kOpcodes[] = {
#define INSTRUCTION(name, text, operands, result, memory, field)           \
  {text, operands, OpcodeInfo::Result::result, OpcodeInfo::Memory::memory, \
   OpcodeInfo::Field::field},
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

// Whether it is a boundary between basic blocks.
inline bool IsLoopBoundary(Opcode opcode) {
  return Info(opcode).field == OpcodeInfo::Field::kLoop;
}

// Whether it is for listings and debuggers only, or for nobody.
inline bool DoesNothing(Opcode opcode) {
  return opcode == Opcode::kSourceLoc || opcode == Opcode::kNop;
}

inline bool DefinesEarly(Opcode opcode) {
  return Info(opcode).result == OpcodeInfo::Result::kDefinesEarly;
}

// Whether all that it does is to define `dst`.
inline bool IsPure(Opcode opcode) {
  return Info(opcode).result == OpcodeInfo::Result::kDefines ||
         DefinesEarly(opcode);
}

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_OPCODE_H_
