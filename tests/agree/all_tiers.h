// SPDX-License-Identifier: Apache-2.0
//
// What every tier of this machine makes of a program.
//
//   EXPECT_TRUE(TiersAgree(program));
#ifndef TESTS_AGREE_ALL_TIERS_H_
#define TESTS_AGREE_ALL_TIERS_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl::fuzz {

// Calls `differ` with each tier, in a child process. Fails where it returns a
// text or dies, and names the tier.
testing::AssertionResult OnEachTier(
    absl::FunctionRef<std::string(const Backend& tier)> differ);

// Whether all tiers leave what the interpreter leaves, on inputs of each kind.
testing::AssertionResult TiersAgree(const LoopProgram& program);

}  // namespace ocannl::fuzz

#endif  // TESTS_AGREE_ALL_TIERS_H_
