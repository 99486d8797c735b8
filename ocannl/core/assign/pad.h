// SPDX-License-Identifier: Apache-2.0
//
// Pad: code whose indices stay inside of its arrays, by copies with margins
// (zero padding, or with the value that is `outside`).
//
//   y[o] =:+ x[o + k - 1] * w[k]   with x and y of 5 cells and w of 3
//     ->
//   x.pad[i] =: 0 (of 7 cells);   x.pad[i + 1] =: x[i]
//   y[o] =:+ x.pad[o + k] * w[k]
//
// Reads with the same margins share a copy until the array is written. What is
// accumulated into cells outside of an array goes into a wider one, of which
// the inner cells are taken.
#ifndef OCANNL_CORE_ASSIGN_PAD_H_
#define OCANNL_CORE_ASSIGN_PAD_H_

#include <optional>
#include <string>
#include <vector>

#include "ocannl/core/assign/assignments.h"

namespace ocannl {

// nullopt: no index leaves its array.
std::optional<Assignments> Pad(const Assignments& code);

// Whether `read`, a source of `assign`, has indices outside of its array.
bool LeavesArray(const Assignments& code, const Assign& assign,
                 const ReadArray& read);

// What Pad does for `assign` of `code`, a text for each axis, from 0 in the
// order of memory: "pads x by 1 before and 2 after, axis 0".
std::vector<std::string> DescribePadding(const Assignments& code,
                                         const Assign& assign);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_PAD_H_
