// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of the notation: operations and indexing functions composed at
// random, valid by construction, each program by policies of its own: which
// sizes, which operations, how deep.
//
//   let v0 = {w0; o=[34, 20]} in
//   let v1 = (v0 ++ "a, b => b, a") in
//   let v2 = reshape("40,17", v1) in v2
#ifndef OCANNL_FUZZ_NOTATION_RANDOM_GRAPH_H_
#define OCANNL_FUZZ_NOTATION_RANDOM_GRAPH_H_

#include <cstdint>

#include "ocannl/fuzz/notation/random_text.h"

namespace ocannl::fuzz {

RandomText MakeGraph(uint64_t seed);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_RANDOM_GRAPH_H_
