// SPDX-License-Identifier: Apache-2.0
//
// What the user of a program asks of the engine: settings of the environment
// (OCANNL_TIER=interp) and of files, for programs that ask for them.
// SETTINGS.md lists them.
//
//   OCANNL_ASSIGN_OR_RETURN(UserSettings user, FindUserSettings());
//   Device device("host", user.backend);
//   auto step = ToRoutine(context, code, user.passes);
//   ...
//   ReportTier(user, stream);
#ifndef OCANNL_FLAGS_USER_SETTINGS_H_
#define OCANNL_FLAGS_USER_SETTINGS_H_

#include "absl/status/statusor.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/stream.h"

namespace ocannl {

struct UserSettings {
  const Backend* backend;  // lives as long as the program
  PassOptions passes;
  bool tier_report = false;
};

// Reads them now; what nobody set has its default. Errors, which name the
// variable or the file and its line: a setting that is none, a bad value, a
// tier that this machine cannot run. Call it before other threads start, since
// it puts OCANNL_JIT_SYMBOLS into the environment.
absl::StatusOr<UserSettings> FindUserSettings();

// Writes what ran on which tier, and why, to stderr where the user asks for it.
void ReportTier(const UserSettings& settings, const Stream& stream);

}  // namespace ocannl

#endif  // OCANNL_FLAGS_USER_SETTINGS_H_
