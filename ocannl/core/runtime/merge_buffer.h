// SPDX-License-Identifier: Apache-2.0
//
// MergeBuffer: what a stream has of another context, one array at a time.
//
//   auto place = buffer.PlaceOf("w.grad", DType::kF32, {4});
//   buffer.Hold(*place, nullptr);   // w.grad : f32[4] is in it, nothing else
#ifndef OCANNL_CORE_RUNTIME_MERGE_BUFFER_H_
#define OCANNL_CORE_RUNTIME_MERGE_BUFFER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/lineage.h"

namespace ocannl {

// Not thread-safe.
class MergeBuffer {
 public:
  // The device must outlive the buffer.
  explicit MergeBuffer(const Device* device) : device_(device) {}

  // Where the array `name` of another context is while the buffer holds it:
  // always the same place, as long as anybody holds that. Error: no memory.
  absl::StatusOr<std::shared_ptr<DeviceArray>> PlaceOf(absl::string_view name,
                                                       DType dtype,
                                                       const Dims& dims);

  // From now on the buffer holds the array at `place`, and no other; what it
  // holds is there, or if it `points_at` an array, that one's. Null: nothing.
  void Hold(std::shared_ptr<DeviceArray> place,
            std::shared_ptr<const DeviceArray> points_at) {
    held_ = std::move(place);
    points_at_ = std::move(points_at);
  }

  const DeviceArray* held() const { return held_.get(); }
  const std::shared_ptr<const DeviceArray>& points_at() const {
    return points_at_;
  }

 private:
  const Device* device_;
  std::vector<std::weak_ptr<DeviceArray>> places_;
  std::shared_ptr<DeviceArray> held_;
  std::shared_ptr<const DeviceArray> points_at_;
};

// The array "g" of the buffer "g.merge" of `program`. Errors: the buffer has
// another name, or its array is another in this program.
absl::StatusOr<std::string> MergedArray(const LoopProgram& program,
                                        const loop_ir::Buffer& merge);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_MERGE_BUFFER_H_
