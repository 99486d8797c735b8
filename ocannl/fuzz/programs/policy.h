// SPDX-License-Identifier: Apache-2.0
//
// Policies: what one random program is to have much of. Each program draws its
// own, so that some programs are all odd sizes and others all permuted strides,
// and the optimisations that look for such things fire.
#ifndef OCANNL_FUZZ_PROGRAMS_POLICY_H_
#define OCANNL_FUZZ_PROGRAMS_POLICY_H_

#include <bitset>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/random.h"

// POLICY(enumerator, text): every policy, once.
#define OCANNL_POLICIES(POLICY)                    \
  /* Whole computations: products, reductions, */  \
  /* rows, training steps; else any statements. */ \
  POLICY(Structured, "structured")                 \
  POLICY(OddExtents, "odd_extents")                \
  POLICY(UnitAxes, "unit_axes")                    \
  /* Axes and loops in any order. */               \
  POLICY(Permuted, "permuted")                     \
  /* Indices that step, offsets that are far. */   \
  POLICY(BigStrides, "big_strides")                \
  POLICY(LongReductions, "long_reductions")        \
  /* Many statements and locals in a nest. */      \
  POLICY(DeepNests, "deep_nests")                  \
  POLICY(InPlace, "in_place")                      \
  /* Every dtype, conversions and bit casts. */    \
  POLICY(MixedPrecision, "mixed_precision")        \
  POLICY(DerivedFunctions, "derived_functions")    \
  /* Nothing keeps values small or defined. */     \
  POLICY(WildValues, "wild_values")                \
  POLICY(StaticIndices, "static_indices")          \
  POLICY(ZeroOuts, "zero_outs")                    \
  POLICY(PrivateBuffers, "private_buffers")        \
  /* vec, par and unroll at random places. */      \
  POLICY(LoopKinds, "loop_kinds")                  \
  /* Loops cut in two, with a tail. */             \
  POLICY(SplitLoops, "split_loops")                \
  /* Matrix products that the scheduler knows; */  \
  /* rules out the others but for cells. */        \
  POLICY(Layers, "layers")                         \
  /* Cells that a buffer of indices says. */       \
  POLICY(Lookups, "lookups")

namespace ocannl::fuzz {

enum class Policy : uint8_t {
#define OCANNL_ENUMERATOR(name, text) k##name,
  OCANNL_POLICIES(OCANNL_ENUMERATOR)
#undef OCANNL_ENUMERATOR
};

inline constexpr int kNumPolicies = 0
#define OCANNL_COUNT(...) +1
    OCANNL_POLICIES(OCANNL_COUNT)
#undef OCANNL_COUNT
    ;

absl::string_view Name(Policy policy);

class Policies {
 public:
  bool Has(Policy policy) const { return set_[static_cast<int>(policy)]; }
  void Add(Policy policy) { set_.set(static_cast<int>(policy)); }

 private:
  std::bitset<kNumPolicies> set_;
};

Policies DrawPolicies(Random& random);

// A size of an axis or a loop: small, or around a multiple of the lanes.
int64_t DrawExtent(Random& random, const Policies& policies);

// The kind of a loop of `extent` iterations; `par` only where `outermost`.
LoopKind DrawKind(Random& random, const Policies& policies, int64_t extent,
                  bool outermost);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_POLICY_H_
