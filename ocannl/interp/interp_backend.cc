// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/interp_backend.h"

#include <utility>
#include <vector>

#include "ocannl/interp/bytecode.h"
#include "ocannl/interp/decode.h"

namespace ocannl::interp {
namespace {

uint64_t AddressOf(const void* memory) {
  return reinterpret_cast<uint64_t>(memory);
}

class InterpExecutable : public Executable {
 public:
  explicit InterpExecutable(Bytecode code) : code_(std::move(code)) {}

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    // Kept for the next run, as memory is slow to get.
    thread_local std::vector<uint64_t> slots;
    thread_local std::vector<uint64_t> registers;
    slots = code_.slots;
    registers.resize(code_.registers.size());
    for (size_t i = 0; i < registers.size(); ++i) {
      const Register& start = code_.registers[i];
      registers[i] = start.base == kNumber  ? 0
                     : start.base == kSlots ? AddressOf(slots.data())
                     : start.base == kRegisters
                         ? AddressOf(registers.data())
                         : AddressOf(buffers[start.base]);
      registers[i] += ValueAtStart(start.value, statics);
    }
    const Instruction* at = code_.instructions.data();
    while (at != nullptr) {
      at = at->handler(at, registers.data(), code_.loops.data());
    }
  }

 private:
  // Outside of its loop, an iterator counts as 0.
  static uint64_t ValueAtStart(const Affine& value,
                               absl::Span<const int64_t> statics) {
    uint64_t sum = value.offset();
    for (const Affine::Term& term : value.terms()) {
      if (term.symbol.kind != Symbol::kStatic) continue;
      sum += static_cast<uint64_t>(term.factor) * statics[term.symbol.number];
    }
    return sum;
  }

  Bytecode code_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> InterpBackend::Compile(
    const LoopProgram& program) const {
  return std::make_unique<InterpExecutable>(Decode(program));
}

}  // namespace ocannl::interp
