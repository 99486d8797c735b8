// SPDX-License-Identifier: Apache-2.0
//
// PrintCd: Assignments as .cd text, in the notation of assignments.h.
#ifndef OCANNL_CORE_ASSIGN_PRINT_H_
#define OCANNL_CORE_ASSIGN_PRINT_H_

#include <string>

#include "ocannl/core/assign/ir.h"

namespace ocannl {

std::string PrintCd(const Assignments& assignments);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_PRINT_H_
