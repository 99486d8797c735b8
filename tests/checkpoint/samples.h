// SPDX-License-Identifier: Apache-2.0
//
// Arrays to save, and places to restore them in.
#ifndef TESTS_CHECKPOINT_SAMPLES_H_
#define TESTS_CHECKPOINT_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/train/checkpoint/saved_arrays.h"
#include "tests/support/test_device.h"

namespace ocannl {

// One of each dtype, with random bits: any NaN, -0, infinities; and a scalar,
// an array without elements and one with the payloads of NaNs.
std::vector<train::NamedArray> SampleArrays(uint64_t seed);

// What to ask for.
std::vector<Array> ArraysOf(absl::Span<const train::NamedArray> values);

// A context of its own.
struct Place : TestDevice {
  Place() = default;
  explicit Place(absl::Span<const train::NamedArray> values);
};

// All that is in the context, to the bit.
std::string Contents(const Context& context);

// A new, empty folder for the files of one test.
std::string NewFolder(const std::string& name);

}  // namespace ocannl

#endif  // TESTS_CHECKPOINT_SAMPLES_H_
