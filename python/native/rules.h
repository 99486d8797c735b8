// SPDX-License-Identifier: Apache-2.0
//
// Rule: what a step does with the gradients, or why it cannot.
#ifndef PYTHON_NATIVE_RULES_H_
#define PYTHON_NATIVE_RULES_H_

#include "ocannl/ocannl.h"

namespace ocannl::python {

struct Rule {
  absl::StatusOr<train::UpdateRule> rule;
};

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_RULES_H_
