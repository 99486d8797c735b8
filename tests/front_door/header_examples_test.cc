// SPDX-License-Identifier: Apache-2.0
//
// The examples in the comments of public headers, which header_examples.py
// found. That they compile is the test. 20 seconds.
#include "tests/front_door/header_examples.inc"

#include <cstdio>

#include "ocannl/eigen.h"
#include "ocannl/ocannl.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/session.h"

int main() { std::printf("%d examples\n", kExamples); }
