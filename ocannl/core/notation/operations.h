// SPDX-License-Identifier: Apache-2.0
//
// The names that operations have in values of statements, where the source
// documents' %cd has them: add(a, b), lt(a, b), id(x). What has a name in the
// notation already, such as max and where, keeps it.
#ifndef OCANNL_CORE_NOTATION_OPERATIONS_H_
#define OCANNL_CORE_NOTATION_OPERATIONS_H_

#include "absl/strings/string_view.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/operators.h"

namespace ocannl {

// The operator of that name, such as + of "add", or null.
const InfixOperator* FindNamedInfix(absl::string_view name);

// The operation of that name, or null.
const Function* FindOperation(absl::string_view name);

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_OPERATIONS_H_
