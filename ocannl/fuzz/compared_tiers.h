// SPDX-License-Identifier: Apache-2.0
//
// The tiers that must give the interpreter's bits. A new one is a row of the
// table in compared_tiers.cc; the fuzzer and the tests of tests/agree take it
// from there.
#ifndef OCANNL_FUZZ_COMPARED_TIERS_H_
#define OCANNL_FUZZ_COMPARED_TIERS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::fuzz {

// A processor on which small programs already need what is for large ones.
inline constexpr Target kSmallCachesTarget{.vector_bytes = 8,
                                           .vector_registers = 12,
                                           .l1_bytes = 256,
                                           .l2_bytes = 1024,
                                           .threads = 2};

// What programs are scheduled for: the instruction sets, and that processor.
struct ComparedTarget {
  absl::string_view name;
  Target target;
};
inline constexpr ComparedTarget kComparedTargets[] = {
#define ISA(name, text, ...) {text, TargetOf(jit::Isa::k##name)},
#include "ocannl/jit/vcode/isas.def"
    {"small caches", kSmallCachesTarget}};

struct ComparedTier {
  std::string name;
  bool available;  // on this machine
  // Lives as long as the process. May have threads, so a process that forks
  // leaves the call to its children.
  std::function<const Backend*()> backend;
  bool is_slow = false;  // campaigns spare it programs of Policy::kLayers
};

absl::Span<const ComparedTier> ComparedTiers();

// The tiers with these names; those above for "all". By name only, as they take
// gcc or NVRTC for each program: cuda-emulated, cuda, cuda-as-is. Error: there
// is no such tier; none is named; this machine has none of them.
absl::StatusOr<std::vector<ComparedTier>> FindComparedTiers(
    absl::Span<const std::string> names);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_COMPARED_TIERS_H_
