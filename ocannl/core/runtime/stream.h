// SPDX-License-Identifier: Apache-2.0
//
// Stream: a queue of work for one device, done in order. Work may be deferred
// until somebody looks at what it changes.
#ifndef OCANNL_CORE_RUNTIME_STREAM_H_
#define OCANNL_CORE_RUNTIME_STREAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/linked_code.h"
#include "ocannl/core/runtime/merge_buffer.h"
#include "ocannl/core/runtime/trace.h"

namespace ocannl {

// Not thread-safe.
class Stream {
 public:
  // The device must outlive the stream. `traces` false: nothing is deferred.
  explicit Stream(const Device* device, bool traces = true)
      : device_(device), traces_(traces), trace_(device), merge_(device) {}
  Stream(const Stream&) = delete;

  const Device& device() const { return *device_; }

  // Results do not depend on the rounding mode that the caller has set.
  void Run(const std::shared_ptr<const LinkedCode>& code,
           absl::Span<const int64_t> statics) {
    if (traces_) return trace_.Run(code, statics);
    DefaultFloatEnvironment guard;
    code->executable->Run(code->buffers, statics);
  }

  // Returns when all work is done.
  void Sync() { trace_.Sync(); }

  // What copies of the arrays of other contexts go through.
  MergeBuffer& merge() { return merge_; }

  // What was deferred and run together so far, for people; may be empty.
  std::string Report() const { return trace_.Report(); }

  // The programs that were made of such; see trace.h.
  std::vector<const LoopProgram*> Programs() const { return trace_.Programs(); }

 private:
  const Device* device_;
  bool traces_;
  Trace trace_;
  MergeBuffer merge_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_STREAM_H_
