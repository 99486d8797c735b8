// SPDX-License-Identifier: Apache-2.0
//
// UniqueName: a name that nothing else has.
//
//   UniqueName("acc", taken)   ->   acc, or the first of acc_2, acc_3, ...
#ifndef OCANNL_CORE_BASE_UNIQUE_NAME_H_
#define OCANNL_CORE_BASE_UNIQUE_NAME_H_

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"

namespace ocannl {

inline std::string UniqueName(
    const std::string& base,
    absl::FunctionRef<bool(const std::string&)> is_taken) {
  std::string name = base;
  for (int k = 2; is_taken(name); ++k) name = absl::StrCat(base, "_", k);
  return name;
}

// The same, and from then on `taken`.
inline std::string UniqueName(const std::string& base,
                              absl::flat_hash_set<std::string>& taken) {
  return UniqueName(base, [&](const std::string& candidate) {
    return !taken.insert(candidate).second;
  });
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_UNIQUE_NAME_H_
