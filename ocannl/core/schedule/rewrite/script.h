// SPDX-License-Identifier: Apache-2.0
//
// Rewrites as text, one a line or with semicolons between:
//
//   column = split i2 16          # i2 goes over strips, `column` over a strip
//   reorder i2 i1 i3 column
//   vectorize column
//   row = unroll_jam i1 6
//   privatize y i3
//   pack b i1
//   parallel i2
//   bind i1 grid; bind column thread
//
// A name before `=` stands for a new loop from there on; of `split` and
// `unroll_jam` a second one, behind a comma, for the loop over the rest; of
// `distribute` as many as there are new loops. Lines of `bind` that follow each
// other are one rewrite.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

// `program` after each line of `script`. Error: the line that is none or that
// cannot be done, and why.
absl::StatusOr<LoopProgram> RunScript(LoopProgram program,
                                      absl::string_view script);

// A rewrite of scripts. Its arguments, a letter each: l is a loop; i the one
// that is all of its body, n the one behind it and g one around threads; b a
// buffer; # a number; k a kind of loops. Behind these, * stands for more loops
// and ? for one or none.
struct RewriteForm {
  absl::string_view name;
  absl::string_view arguments;
  bool keeps_bits;  // of what the program computes
};
std::vector<RewriteForm> RewriteForms();

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_SCRIPT_H_
