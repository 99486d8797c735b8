// SPDX-License-Identifier: Apache-2.0
//
// SlotText: the axes of one operand as a spec of the notation writes them.
//
//   SlotText({{{"b"}, {"o"}, {"i"}}})   "b|i->o"
#ifndef OCANNL_FUZZ_NOTATION_SLOT_TEXT_H_
#define OCANNL_FUZZ_NOTATION_SLOT_TEXT_H_

#include <array>
#include <string>
#include <vector>

namespace ocannl::fuzz {

// The texts of the axes of each row, which is numbered by its RowKind.
using RowTexts = std::array<std::vector<std::string>, 3>;

// Rows without axes are left out.
std::string SlotText(const RowTexts& rows);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_SLOT_TEXT_H_
