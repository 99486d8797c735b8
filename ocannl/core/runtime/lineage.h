// SPDX-License-Identifier: Apache-2.0
//
// Lineage: which routines were linked before, one after the other, and the data
// hazards (read after write, write after read, write after write) that order a
// new one after them.
//
//   init writes w; step, linked after it, reads w:
//   Conflicts(lineage, step)   ->   {{init, "w", read after write}}
#ifndef OCANNL_CORE_RUNTIME_LINEAGE_H_
#define OCANNL_CORE_RUNTIME_LINEAGE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {

// An array of a context.
struct DeviceArray {
  std::string name;
  DType dtype;
  Dims dims;
  DeviceMemory memory;
  bool written = false;  // by the host or by a run
  // By a routine that is linked to it, or another context.
  bool used = false;
  bool unread = false;  // the host wrote it, and nothing has read it since
};

// With unwritten memory of `device`. Error: there is not so much.
absl::StatusOr<std::shared_ptr<DeviceArray>> MakeDeviceArray(
    const Device& device, absl::string_view name, DType dtype,
    const Dims& dims);

// What the lineage knows of a linked routine.
struct LinkedRoutine {
  std::string name;
  std::vector<DeviceArray*> reads;
  std::vector<const DeviceArray*> writes;
  const DeviceArray* merges = nullptr;  // what the merge buffer must hold
  int64_t runs = 0;
};

// The last routine and those linked before it; null: none.
struct LineageNode;
using Lineage = std::shared_ptr<const LineageNode>;
struct LineageNode {
  std::shared_ptr<const LinkedRoutine> routine;
  Lineage before;
};

enum class Hazard { kReadAfterWrite, kWriteAfterRead, kWriteAfterWrite };

struct Conflict {
  std::shared_ptr<const LinkedRoutine> earlier;
  std::string array;  // the first over which they conflict
  Hazard hazard;
};

// The routines of `lineage` that must have run before `later` may, the latest
// first.
std::vector<Conflict> Conflicts(const Lineage& lineage,
                                const LinkedRoutine& later);

// Why `later` may not run before conflict.earlier, and the fix.
std::string Describe(const Conflict& conflict, const LinkedRoutine& later);

// The error of a run of `user` while nothing uses `array`, which the host
// wrote.
absl::Status UnusedError(absl::string_view array, const LinkedRoutine& user);

// The error of the first run of `writer` if it replaces values that the host
// wrote and that nothing has read.
absl::Status LostError(const LinkedRoutine& writer);

// The error of a run of `reader`, which reads arrays that were never written.
// `all` are the arrays of its context.
absl::Status UnwrittenError(const LinkedRoutine& reader,
                            absl::Span<const DeviceArray* const> all);

// How to keep the array if it is a gradient: a part of a message, or nothing.
absl::string_view KeepHint(absl::string_view array);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_LINEAGE_H_
