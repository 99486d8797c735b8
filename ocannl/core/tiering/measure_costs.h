// SPDX-License-Identifier: Apache-2.0
//
// MeasureMigrationCosts and KeptCosts: the constants of migration_cost.h for
// this machine. They are measured once, in about a second, and kept in a
// directory of the user's.
#ifndef OCANNL_CORE_TIERING_MEASURE_COSTS_H_
#define OCANNL_CORE_TIERING_MEASURE_COSTS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/tiering/migration_cost.h"

namespace ocannl {

// Of the arrays and the square matrices that are measured with.
struct MeasuredSizes {
  int64_t cells = int64_t{1} << 22;
  int64_t rows = 1024;
};

// All but open_seconds. `now` gives seconds. Errors: those of the backends.
absl::StatusOr<MigrationCosts> MeasureMigrationCosts(
    const Backend& host, const Backend& gpu, const std::function<double()>& now,
    const MeasuredSizes& sizes = {});

// $XDG_CACHE_HOME/ocannl, or ~/.cache/ocannl; "": neither is known.
std::string UserCacheDirectory();

struct FoundCosts {
  MigrationCosts costs;
  std::string note;  // "costs of 2 cores and H200 are from DIR"
};

// The costs that `directory` keeps for `machine`, which names the processor and
// the GPU. If it has none, or the file is damaged or somebody else's, those
// that `measure` gives are kept, and the note says so. "": keeps none. Errors:
// those of `measure`.
absl::StatusOr<FoundCosts> KeptCosts(
    const std::string& directory, absl::string_view machine,
    absl::FunctionRef<absl::StatusOr<MigrationCosts>()> measure);

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_MEASURE_COSTS_H_
