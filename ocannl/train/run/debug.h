// SPDX-License-Identifier: Apache-2.0
//
// Debugging of whole programs: what becomes of every routine that is compiled.
//
//   train::EnableAllDebugs({.directory = "stages"});
//   ...                                     // stages/NAME.cd, .ll and so on
//   train::DisableAllDebugs();
//
// What each statement of a run does is for the interpreter to log
// (interp/run_log.h, or --log_runs).
#ifndef OCANNL_TRAIN_RUN_DEBUG_H_
#define OCANNL_TRAIN_RUN_DEBUG_H_

#include <string>

namespace ocannl::train {

struct DebugSettings {
  // Gets every stage of each routine on the way to code, a file each, as
  // `explain` prints them; is made if need be. Empty: none.
  std::string directory = "";
  // Every array keeps its value after a run, to be read from the context. Only
  // arrays that were asked to be virtual are inlined away. The bits are the
  // same; runs are slower.
  bool hosted = true;
  // 1: a line for each routine that is compiled, with its arrays; 2: its code,
  // too. To stderr.
  int log_level = 1;
};

// For all routines that are compiled from now on, until DisableAllDebugs. To be
// called while nothing is compiled. A directory that cannot be written is an
// error of the compilations.
void EnableAllDebugs(const DebugSettings& settings = {});
void DisableAllDebugs();

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_DEBUG_H_
