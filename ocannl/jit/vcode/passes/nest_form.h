// SPDX-License-Identifier: Apache-2.0
//
// NestForm: a nest with numbers in the place of its buffers, loops and locals.
// Nests with equal forms are alpha-equivalent: they differ only in names.
// CanonicalText does the same for whole programs.
//
//   for i4 = 0 to 9 { w1[i4] := w1[i4] - rate[] * g1[i4]; }
//   for i7 = 0 to 9 { w2[i7] := w2[i7] - rate[] * g2[i7]; }
//
// The layers of a network, and the updates of its parameters, have such nests.
// VCode is selected for the first one; for the others it is renamed.
#ifndef OCANNL_JIT_VCODE_PASSES_NEST_FORM_H_
#define OCANNL_JIT_VCODE_PASSES_NEST_FORM_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

struct NestForm {
  std::vector<int64_t> words;
  // What is renamed, by number: buffers in the order in which the nest mentions
  // them, iterators ascending.
  std::vector<BufferId> buffers;
  std::vector<IteratorId> iterators;
};

// A hash of the statements of `block`, the extents of its loops and the last
// operations of its values: equal for nests of equal forms, and much cheaper.
uint64_t SketchOf(const LoopProgram& program, const Block& block);

// The form of `block`, statements of the program's body.
NestForm FormOf(const LoopProgram& program, const Block& block);

// The pointers and loops of `nest`, VCode of a nest of the form `from`, renamed
// to those of the form `to`, whose words are equal. The instructions and what
// they refer to are those of `nest` (Nest::form).
Nest Renamed(const Nest& nest, const NestForm& from, const NestForm& to);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_NEST_FORM_H_
