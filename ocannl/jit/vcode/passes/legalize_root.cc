// SPDX-License-Identifier: Apache-2.0
//
// Square roots by fma, beside those of the divider, with the same bits:
// Markstein, "Computation of elementary functions on the IBM RISC System/6000
// processor" (1990). An estimate of 1 / sqrt(x) within 2^-14 becomes a root g
// within 1 ulp and an h = 1 / (2 sqrt(x)); g + h (x - g^2), whose residue is
// exact, then rounds to the nearest number. tests/jit/root_test.cc compares all
// 2^32 numbers.
#include <algorithm>
#include <vector>

#include "ocannl/jit/vcode/encoding.h"
#include "ocannl/jit/vcode/passes/legalizer.h"

namespace ocannl::jit {
namespace {

// Cycles of 16 numbers, with an instruction for each half of one
// (`bazel run //experiments:bench -- --filter=function/sqrt`).
constexpr int kRootCycles = 12;
constexpr int kDivisionCycles = 10;
constexpr int kExpandedCycles = 8;

bool IsRoot(const Inst& inst) {
  return inst.opcode == Opcode::kApply && inst.op == Op::kSqrt &&
         inst.dtype == DType::kF32 && inst.lanes == 16;
}

}  // namespace

// The first roots of a basic block, as many as make the greater one of the
// divider's time and the time of all other instructions least.
std::vector<bool> Legalizer::RootsToExpand(
    const std::vector<Inst>& insts) const {
  std::vector<bool> expand(insts.size(), false);
  if (!Info(isa_).fixup) return expand;
  std::vector<size_t> roots;
  int divider = 0, instructions = 0;
  for (size_t k = 0; k < insts.size(); ++k) {
    const Inst& inst = insts[k];
    if (IsRoot(inst)) {
      roots.push_back(k);
      divider += kRootCycles;
    } else if (inst.opcode == Opcode::kApply && inst.op == Op::kDiv) {
      divider += kDivisionCycles;
    } else if (Computes(inst.opcode)) {
      ++instructions;
    }
    if (!IsBlockBoundary(inst.opcode) && k + 1 < insts.size()) continue;
    int others = instructions / 2;
    for (size_t root : roots) {
      others += kExpandedCycles;
      if (divider <= std::max(divider - kRootCycles, others)) break;
      divider -= kRootCycles;
      expand[root] = true;
    }
    roots.clear();
    divider = instructions = 0;
  }
  return expand;
}

// Scaled, since the residue of a small x would underflow.
Value Legalizer::ExpandRoot(const Inst& inst) {
  constexpr DType kType = DType::kF32;
  constexpr double kSmall = 0x1p-64, kUp = 0x1p+64, kDown = 0x1p-32;
  // vfixupimm's response table, as in ExpandExtreme: a NaN is made quiet, less
  // than 0 has the quiet NaN of no sign (3), 0 and infinity are their roots
  // (1).
  constexpr uint64_t kSpecialRoots = 0x03130122;
  const Value x = inst.args[0];
  auto fma = [&](Opcode opcode, Value a, Value b, Value c) {
    return Define(New(opcode, kType, kType, a, b, c));
  };
  const Value half = Number(kType, 0.5);
  const Value small = Compare(Op::kLess, kType, x, Number(kType, kSmall));
  const Value scaled =
      Select(kType, small, Apply(Op::kMul, kType, x, Number(kType, kUp)), x);
  const Value estimate = Make(Opcode::kEstimateRsqrt, kType, scaled);
  Value g = Apply(Op::kMul, kType, scaled, estimate);
  Value h = Apply(Op::kMul, kType, estimate, half);
  const Value error = fma(Opcode::kFnmadd, g, h, half);
  g = fma(Opcode::kFma, g, error, g);
  h = fma(Opcode::kFma, h, error, h);
  const Value residue = fma(Opcode::kFnmadd, g, g, scaled);
  const Value root = fma(Opcode::kFma, h, residue, g);
  const Value unscaled = Select(
      kType, small, Apply(Op::kMul, kType, root, Number(kType, kDown)), root);
  return fma(Opcode::kFixNan, unscaled, x,
             ConstantOf(DType::kI32, kSpecialRoots));
}

}  // namespace ocannl::jit
