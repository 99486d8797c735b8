// SPDX-License-Identifier: Apache-2.0
//
// Recording: what an array held after each of many runs, kept on the device,
// so that following a loss interrupts nothing.
//
//   OCANNL_ASSIGN_OR_RETURN(auto losses,
//                           Recording::Make(step.context(), "loss", 80));
//   for (int k = 0; k < 80; ++k) {
//     OCANNL_RETURN_IF_ERROR(step.Run());
//     OCANNL_RETURN_IF_ERROR(losses.Append());
//   }
//   OCANNL_ASSIGN_OR_RETURN(NdArray curve, losses.Take());   // [80, ...]
#ifndef OCANNL_CORE_RUNTIME_RECORDING_H_
#define OCANNL_CORE_RUNTIME_RECORDING_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"

namespace ocannl {

class Recording {
 public:
  // For at most `capacity` values of the array `name` of `context` between two
  // calls of Take. They are kept in a new array `NAME.recorded` of the context.
  // Errors: no such array; a capacity below 1; no memory.
  static absl::StatusOr<Recording> Make(const Context& context,
                                        absl::string_view name,
                                        int64_t capacity);

  // Keeps the value that the array has now, in the order of the stream.
  // Errors: as of Routine::Run; full.
  absl::Status Append();

  // The values since the last call, [their number, dims of the array...].
  // Error: there is none.
  absl::StatusOr<NdArray> Take();

 private:
  Recording(Routine append, StaticRef place, std::string array,
            int64_t capacity)
      : append_(std::move(append)),
        place_(std::move(place)),
        array_(std::move(array)),
        capacity_(capacity) {}

  Routine append_;
  StaticRef place_;
  std::string array_;  // of the values
  int64_t capacity_;
  int64_t count_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_RECORDING_H_
