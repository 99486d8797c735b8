// SPDX-License-Identifier: Apache-2.0
//
// ReadSpec: what a spec means for operands of known shapes, worked out anew:
// by going over its equations until none of them tells more.
#ifndef OCANNL_FUZZ_NOTATION_READ_SPEC_H_
#define OCANNL_FUZZ_NOTATION_READ_SPEC_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/types/span.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/fuzz/notation/einsum_program.h"

namespace ocannl::fuzz {

struct SpecMeaning {
  enum Kind : uint8_t {
    kFits,     // `program` is what it means
    kIllegal,  // the shapes contradict it
    kOpen,     // they leave some size open
  };
  Kind kind;
  EinsumProgram program;  // but its op and accum
};

// `names` have sizes, and the result has a shape, if that is given: both are
// held against the spec.
SpecMeaning ReadSpec(const EinsumSpec& spec, absl::Span<const Shape> operands,
                     const std::map<std::string, int64_t>& names,
                     const Shape* result);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_READ_SPEC_H_
