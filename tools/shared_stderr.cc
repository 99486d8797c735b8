// SPDX-License-Identifier: Apache-2.0
//
// The `stderr` of our shared libraries: see shared_library.bzl.
#include <cstdio>

extern "C" {

// glibc's, to which its `stderr` points.
extern FILE _IO_2_1_stderr_;

[[gnu::visibility("hidden")]] FILE* ocannl_stderr = &_IO_2_1_stderr_;

}  // extern "C"
