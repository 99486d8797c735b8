// SPDX-License-Identifier: Apache-2.0
//
// Stream: a queue of work for one device, done in order. The host's streams do
// each piece of work at once, so that there is never anything to wait for.
#ifndef OCANNL_CORE_RUNTIME_STREAM_H_
#define OCANNL_CORE_RUNTIME_STREAM_H_

#include <cstring>

#include "absl/types/span.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/runtime/device.h"

namespace ocannl {

class Stream {
 public:
  // The device must outlive the stream.
  explicit Stream(const Device* device) : device_(device) {}
  Stream(const Stream&) = delete;

  const Device& device() const { return *device_; }

  // Results do not depend on the rounding mode that the caller has set.
  void Run(const Executable& executable, absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) {
    DefaultFloatEnvironment guard;
    executable.Run(buffers, statics);
  }

  // Between memory of the device and of the host, either way.
  void Copy(const std::byte* from, size_t bytes, std::byte* to) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }

 private:
  const Device* device_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_STREAM_H_
