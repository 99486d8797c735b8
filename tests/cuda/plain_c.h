// SPDX-License-Identifier: Apache-2.0
//
// PlainC: a tier that compiles the C of core/codegen/c_text.h with gcc.
//
//   EXPECT_EQ(fuzz::Trial(program, kind, seed).Try(PlainC()), "");
#ifndef TESTS_CUDA_PLAIN_C_H_
#define TESTS_CUDA_PLAIN_C_H_

#include "ocannl/core/runtime/backend.h"

namespace ocannl {

const Backend& PlainC();

}  // namespace ocannl

#endif  // TESTS_CUDA_PLAIN_C_H_
