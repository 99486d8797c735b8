// SPDX-License-Identifier: Apache-2.0
//
// Texts with faults, as somebody hostile would write them.
#ifndef TESTS_SUPPORT_MUTATED_H_
#define TESTS_SUPPORT_MUTATED_H_

#include <random>
#include <string>

namespace ocannl {

// Bytes and numbers become others; parts go, come from elsewhere, of the text
// or of another one, or come again and again.
std::string Mutated(std::string text, const std::string& other,
                    std::mt19937_64& random);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_MUTATED_H_
