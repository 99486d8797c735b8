// SPDX-License-Identifier: Apache-2.0
//
// RunInChild: runs code that may crash or hang where that does no harm.
//
//   ChildResult result = RunInChild(20, [&] { return trial.Try(x86); });
//   result.died     false
//   result.text     what the function returned, or "died of signal 6,
//                   Aborted: file.cc:7: CHECK failed: ..."
#ifndef OCANNL_FUZZ_CHILD_H_
#define OCANNL_FUZZ_CHILD_H_

#include <string>

#include "absl/functional/function_ref.h"

namespace ocannl::fuzz {

struct ChildResult {
  bool died;
  std::string text;
  bool timed_out = false;  // and so died
};

// The child is a copy of this process with this thread only, so nothing that
// `run` uses may have started threads before. It is killed after `seconds`.
ChildResult RunInChild(int seconds, absl::FunctionRef<std::string()> run);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_CHILD_H_
