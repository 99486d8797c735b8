// SPDX-License-Identifier: Apache-2.0
//
// ProfilingBackend: another backend that measures each nest of what it runs. It
// is a decorator (Gamma et al., "Design Patterns", 1994), so that runs without
// a profile cost nothing.
//
//   ProfilingBackend backend(
//       {.name = "interp", .whole = &interp, .nests = &interp}, &profile);
//   Device device("host", &backend);
//
// Each program is compiled twice: as a whole, as without a profile, and nest by
// nest after the same schedule. Runs alternate: one takes the nests in order
// with the clock read between them, the next the whole. After 64 runs, at most
// one in eight is nest by nest, and fewer if that costs 2 % of the time. The
// run after each of them is timed as a whole. The same statements run on the
// same arrays in the same order. Every run therefore leaves the same bits, and
// the times of the nests can be compared with that of the whole. What reading
// the clock takes is subtracted.
#ifndef OCANNL_CORE_TIERING_PROFILING_BACKEND_H_
#define OCANNL_CORE_TIERING_PROFILING_BACKEND_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/tiering/profile.h"

namespace ocannl {

// Backends outlive the ProfilingBackend. Their memory is the host's.
struct ProfiledTier {
  std::string name;      // in the profile: "x86-avx512"
  const Backend* whole;  // compiles programs
  const Backend* nests;  // compiles nests of scheduled programs as they are
  // What `whole` makes of a program before it writes code; null: nothing.
  std::function<LoopProgram(const LoopProgram&)> schedule = nullptr;
  int threads = 1;  // that share `par` loops
};

// Executables are thread-safe, but threads that run at the same time disturb
// each other's times.
class ProfilingBackend : public Backend {
 public:
  // `profile` outlives it.
  ProfilingBackend(ProfiledTier tier, Profile* profile);

  absl::string_view name() const override { return tier_.whole->name(); }

  // Adds the program to the profile. Errors: those of the backends.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  absl::Status RunStatus() const override { return tier_.whole->RunStatus(); }
  std::string Report() const override { return tier_.whole->Report(); }

 private:
  const ProfiledTier tier_;
  Profile& profile_;
  const std::shared_ptr<Team> team_;  // null: one thread
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_PROFILING_BACKEND_H_
