// SPDX-License-Identifier: Apache-2.0
//
// The tiers of this binary by name, as flags choose them.
#ifndef OCANNL_TIERS_TIERS_H_
#define OCANNL_TIERS_TIERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/interp/observer.h"

namespace ocannl {

struct TierOptions {
  int threads = 0;      // that run one program; 0: one a processor
  bool report = false;  // Report shall have something to tell, where it can
  // The directory that keeps machine code for other processes
  // (core/codegen/code_cache.h); "": none.
  std::string code_cache = "";
  int cuda_device = 0;                 // the GPU of `cuda` and `auto`
  std::string cuda_home = "";          // where CUDA's toolkit is (cuda/nvrtc.h)
  std::vector<std::string> skip = {};  // passes of machine code to leave out
  bool trace = false;  // compilations and runs are spans (traced_backend.h)
  // Nests are measured for Profile::OfProcess (profiling_backend.h).
  bool profile = false;
};

// Those below but for cuda:0 and the like, and auto; as in messages and helps.
std::string TierNames();

// The backend of tier `name`, which lives as long as the program:
//
//   interp                  the interpreter
//   x86                     machine code for the best instruction set there is
//   x86-avx2, ...           for that one (jit/vcode/isas.def)
//   cuda                    kernels for a GPU, in whose memory arrays are then
//   cuda:0, cuda:1, ...     for that GPU
//   auto                    the interpreter, then the best tier there is of
//                           those for the host, and the GPU
//                           `cuda_device` where it pays
//                           (core/tiering/tiered_backend.h)
//
// Errors: a tier that is unknown, or that this machine cannot run, and a
// directory that cannot be used; a profile of a tier that is not the host's.
// The message says why.
absl::StatusOr<const Backend*> FindTier(absl::string_view name,
                                        TierOptions options = {});

// How many devices the tier has that are machines of their own: the host, or
// the GPUs. Errors: those of FindTier.
absl::StatusOr<int> NumDevices(absl::string_view name);

// The backend of device `ordinal` of those. Errors: those of FindTier; there is
// no such device.
absl::StatusOr<const Backend*> GetDevice(absl::string_view name, int ordinal,
                                         TierOptions options = {});

// Devices of all of those, as many as suggested
// (core/runtime/virtual_devices.h) and at most `max`. Errors: those of
// FindTier.
absl::StatusOr<VirtualDevices> GetAllSuggestedDevices(absl::string_view name,
                                                      int max,
                                                      TierOptions options = {});

// The backend of tier `name` as if nothing had been done before: no machine
// code is there that is not in options.code_cache. Lives as long as the
// program. Errors: those of FindTier.
absl::StatusOr<const Backend*> FreshBackend(absl::string_view name,
                                            TierOptions options = {});

// `tier`, each run of which is compared with the interpreter's
// (core/tiering/checking_backend.h). Lives as long as the program.
const Backend* Checked(const Backend* tier);

// `tier`, whose compilations and runs are spans of the trace of the process
// (core/tiering/traced_backend.h). Lives as long as the program.
const Backend* Traced(const Backend* tier);

// The interpreter, watched by `observers` (interp/tree_backend.h). Lives as
// long as the program.
const Backend* Observed(
    std::vector<std::unique_ptr<interp::RunObserver>> observers);

// The tiers that this machine can run whose buffers are the host's, the
// interpreter first: "interp", "x86-avx2", ...
std::vector<std::string> AvailableTiers();

}  // namespace ocannl

#endif  // OCANNL_TIERS_TIERS_H_
