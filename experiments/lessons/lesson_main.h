// SPDX-License-Identifier: Apache-2.0
//
// The main function of a lesson, which has no flags but those of all programs.
#ifndef EXPERIMENTS_LESSONS_LESSON_MAIN_H_
#define EXPERIMENTS_LESSONS_LESSON_MAIN_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "experiments/support/experiment_main.h"

namespace ocannl {

inline int LessonMain(const std::string& name,
                      absl::FunctionRef<absl::Status()> lesson, int argc,
                      char** argv) {
  return ProgramMain(
      name,
      "A lesson: it prints what its source shows, which is "
      "experiments/lessons/" +
          name + ".cc.",
      {}, [&](const CommandLine&) { return lesson(); }, argc, argv);
}

}  // namespace ocannl

#endif  // EXPERIMENTS_LESSONS_LESSON_MAIN_H_
