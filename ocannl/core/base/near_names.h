// SPDX-License-Identifier: Apache-2.0
//
// Which names someone may have meant, by edit distance (Levenshtein 1966), for
// error messages.
#ifndef OCANNL_CORE_BASE_NEAR_NAMES_H_
#define OCANNL_CORE_BASE_NEAR_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ocannl {

// Those of `candidates` that differ from `name` by a slip or two of the
// keyboard: at most three, nearest first, then by the alphabet.
std::vector<std::string> NearNames(absl::string_view name,
                                   const std::vector<std::string>& candidates);

// The same as a part of a message: "; near names: w1, w2", or nothing.
std::string NearNamesHint(absl::string_view name,
                          const std::vector<std::string>& candidates);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_NEAR_NAMES_H_
