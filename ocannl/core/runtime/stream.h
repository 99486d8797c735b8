// SPDX-License-Identifier: Apache-2.0
//
// Stream: a queue of work for one device, done in order. Work may be deferred
// until somebody looks at what it changes. With a worker, a thread of its own
// does it, at the same time as other streams' work.
//
//   Worker worker;
//   Stream stream(&device, {.worker = &worker});
#ifndef OCANNL_CORE_RUNTIME_STREAM_H_
#define OCANNL_CORE_RUNTIME_STREAM_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/device_queue.h"
#include "ocannl/core/runtime/linked_code.h"
#include "ocannl/core/runtime/merge_buffer.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/core/runtime/trace.h"

namespace ocannl {

struct StreamOptions {
  bool traces = true;        // false: nothing is deferred
  Worker* worker = nullptr;  // null: the thread that calls does the work
};

// Not thread-safe.
class Stream {
 public:
  // The device must outlive the stream, and so must its worker, which may serve
  // streams of other devices too, all of one thread.
  explicit Stream(const Device* device, const StreamOptions& options = {});
  // Returns when all work is submitted.
  ~Stream();
  Stream(const Stream&) = delete;

  const Device& device() const { return *device_; }

  // Results do not depend on the rounding mode that the caller has set.
  void Run(const std::shared_ptr<const LinkedCode>& code,
           absl::Span<const int64_t> statics) {
    if (options_.worker != nullptr) return Enqueue(code, statics);
    RunNow(code, statics);
  }

  // Does `work` after what came before. Its error is returned, or with a worker
  // that of status().
  absl::Status Do(absl::AnyInvocable<absl::Status()> work);

  // Does `work` now, after what came before.
  absl::Status DoNow(absl::FunctionRef<absl::Status()> work);

  // Returns when all work is done.
  void Sync();

  // The first error of work that a worker did, or that a device of its own
  // queue had; to be asked after Sync.
  const absl::Status& status() const { return status_; }

  // The stream, for those who must not outlive it.
  std::weak_ptr<Stream*> handle() const { return self_; }

  // Is done when all work so far is, which begins now at the latest. Without a
  // worker, it is done, but for what the device has.
  Event Record();

  // What comes from now on is done after `event`.
  void WaitFor(const Event& event);

  // That other streams read `array` until `event`.
  void AddReader(const std::shared_ptr<const DeviceArray>& array, Event event);

  // That whatever work `other` has may read `array`.
  void AddSharer(const std::shared_ptr<const DeviceArray>& array,
                 Stream& other);

  // To be called before work that writes arrays is given to the stream: it is
  // done after what reads them. Error: a merge buffer points at one.
  absl::Status WaitForReaders(const LinkedCode& code) {
    return readers_->empty() ? absl::OkStatus() : WaitForReadersOf(code);
  }
  absl::Status WaitForReaders(const DeviceArray& array);

  // What arrays of other contexts come through.
  MergeBuffer& merge() { return merge_; }

  // The merge buffer holds what was copied to `place`, or with a `source`, what
  // its array `points_at` holds, which nobody may write until ReleaseMerge, or
  // until it holds something else.
  void HoldMerge(std::shared_ptr<DeviceArray> place);
  void PointMerge(std::shared_ptr<DeviceArray> place,
                  std::shared_ptr<const DeviceArray> points_at,
                  const Stream& source);
  void ReleaseMerge();

  // After Sync: what was deferred and run together so far, for people; may be
  // empty.
  std::string Report() const { return trace_.Report(); }

  // After Sync: the programs that were made of such; see trace.h.
  std::vector<const LoopProgram*> Programs() const { return trace_.Programs(); }

 private:
  void RunNow(const std::shared_ptr<const LinkedCode>& code,
              absl::Span<const int64_t> statics) {
    const DeviceQueue::Scope scope(queue_.get());
    if (options_.traces) return trace_.Run(code, statics);
    DefaultFloatEnvironment guard;
    code->executable->Run(code->buffers, statics);
  }
  void Enqueue(const std::shared_ptr<const LinkedCode>& code,
               absl::Span<const int64_t> statics);
  void Submit(Worker::Command command);
  // Of the thread that does the work: runs what was deferred, and then `work`.
  void SyncTrace();
  absl::Status SyncTraceAndDo(absl::AnyInvocable<absl::Status()>& work);
  void WaitOnDevice(const Event& event);
  // Returns when all work is submitted: done, but for what the device has.
  void Flush();
  absl::Status WaitForReadersOf(const LinkedCode& code);

  // Of an array of this stream.
  struct Reader {
    // Until it is done; a merge buffer that points at the array, nobody knows
    // for how long; a stream that shares it, if it is still there.
    using Until = std::variant<Event, std::monostate, std::weak_ptr<Stream*>>;

    Reader(const std::shared_ptr<const DeviceArray>& of, Until while_reading)
        : array(of), address(of.get()), until(std::move(while_reading)) {}

    // Without weak_ptr::lock, whose count threads would contend for.
    bool Reads(const DeviceArray& of) const {
      return address == &of && !array.expired();
    }

    std::weak_ptr<const DeviceArray> array;
    const DeviceArray* address;
    Until until;
  };
  using Readers = std::vector<Reader>;
  static void ForgetReaders(Readers& readers);

  const Device* device_;
  StreamOptions options_;
  std::shared_ptr<DeviceQueue> queue_;  // of the worker; null: none
  Trace trace_;                         // of the worker, but for Sync
  absl::Status status_;                 // likewise
  MergeBuffer merge_;
  std::shared_ptr<Stream*> self_ = std::make_shared<Stream*>(this);
  std::shared_ptr<Readers> readers_ = std::make_shared<Readers>();
  std::shared_ptr<Readers> source_;  // of what the merge buffer points at
  bool recorded_ = false;            // nothing came since the last Record
  Event last_record_, last_wait_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_STREAM_H_
