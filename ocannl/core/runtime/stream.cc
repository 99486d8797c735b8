// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/stream.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

Stream::Stream(const Device* device, const StreamOptions& options)
    : device_(device), options_(options), trace_(device), merge_(device) {
  CHECK(device != nullptr) << "the device of a Stream is null";
  queue_ = device->backend().MakeQueue();
}

Stream::~Stream() {
  ReleaseMerge();
  Worker* worker = options_.worker;
  if (worker == nullptr) return;
  worker->Submit([this] {
    options_.worker->Forget(this);  // whatever Sync throws
    SyncTrace();
  });
  worker->Record().Wait();
}

void Stream::Submit(Worker::Command command) {
  recorded_ = false;
  options_.worker->Submit(std::move(command));
}

void Stream::Enqueue(const std::shared_ptr<const LinkedCode>& code,
                     absl::Span<const int64_t> statics) {
  absl::InlinedVector<int64_t, 4> values(statics.begin(), statics.end());
  Submit([this, code, values = std::move(values)] {
    RunNow(code, values);
    options_.worker->WhenIdle(this, [this] { SyncTrace(); });
  });
}

void Stream::SyncTrace() {
  const DeviceQueue::Scope scope(queue_.get());
  trace_.Sync();
}

absl::Status Stream::SyncTraceAndDo(absl::AnyInvocable<absl::Status()>& work) {
  const DeviceQueue::Scope scope(queue_.get());
  trace_.Sync();
  return work();
}

absl::Status Stream::Do(absl::AnyInvocable<absl::Status()> work) {
  if (options_.worker == nullptr) return SyncTraceAndDo(work);
  Submit([this, work = std::move(work)]() mutable {
    status_.Update(SyncTraceAndDo(work));
  });
  return absl::OkStatus();
}

absl::Status Stream::DoNow(absl::FunctionRef<absl::Status()> work) {
  Flush();
  const DeviceQueue::Scope scope(queue_.get());
  return work();
}

void Stream::Flush() {
  if (options_.worker == nullptr) return SyncTrace();
  const TraceSpan span("wait", "for the stream");
  Submit([this] { SyncTrace(); });
  options_.worker->Drain();
}

void Stream::Sync() {
  Flush();
  if (queue_ == nullptr) return;
  Record().Wait();
  status_.Update(device_->backend().RunStatus());
}

Event Stream::Record() {
  if (options_.worker == nullptr) {
    SyncTrace();
    return queue_ == nullptr ? Event() : Event(queue_->Record());
  }
  if (recorded_) return last_record_;
  Submit([this] { SyncTrace(); });
  last_record_ = options_.worker->Record(
      queue_ == nullptr ? Worker::DevicePoint()
                        : [this] { return queue_->Record(); });
  recorded_ = true;
  return last_record_;
}

void Stream::WaitFor(const Event& event) {
  if (event.IsDone() || event == last_wait_) return;
  last_wait_ = event;
  if (options_.worker == nullptr) return WaitOnDevice(event);
  Submit([this, event] { WaitOnDevice(event); });
}

void Stream::WaitOnDevice(const Event& event) {
  SyncTrace();  // what was deferred can be done meanwhile
  const TraceSpan span("wait", "for another stream");
  const auto on_device = event.WaitUntilSubmitted();
  if (on_device == nullptr) return;
  if (queue_ == nullptr) return on_device->Wait();
  queue_->WaitFor(*on_device);
}

// Forgets those who read no more.
void Stream::ForgetReaders(Readers& readers) {
  std::erase_if(readers, [](const Reader& reader) {
    const Event* done = std::get_if<Event>(&reader.until);
    const auto* sharer = std::get_if<std::weak_ptr<Stream*>>(&reader.until);
    return reader.array.expired() || (done != nullptr && done->IsDone()) ||
           (sharer != nullptr && sharer->expired());
  });
}

void Stream::AddReader(const std::shared_ptr<const DeviceArray>& array,
                       Event event) {
  ForgetReaders(*readers_);
  if (event.IsDone()) return;
  readers_->push_back(Reader(array, std::move(event)));
}

void Stream::AddSharer(const std::shared_ptr<const DeviceArray>& array,
                       Stream& other) {
  ForgetReaders(*readers_);
  readers_->push_back(Reader(array, other.handle()));
}

absl::Status Stream::WaitForReaders(const DeviceArray& array) {
  for (const Reader& reader : *readers_) {
    if (!reader.Reads(array)) continue;
    if (const Event* done = std::get_if<Event>(&reader.until)) {
      WaitFor(*done);
    } else if (const auto* sharer =
                   std::get_if<std::weak_ptr<Stream*>>(&reader.until)) {
      if (const auto stream = sharer->lock()) WaitFor((*stream)->Record());
    } else {
      return absl::FailedPreconditionError(absl::StrCat(
          "`", array.name, "` cannot be written while the merge buffer of ",
          "another stream points at it; call ReleaseMerge() on its context ",
          "after the routine that reads it, or use CopyToMerge"));
    }
  }
  std::erase_if(*readers_, [&](const Reader& reader) {
    return reader.Reads(array) && std::holds_alternative<Event>(reader.until);
  });
  return absl::OkStatus();
}

absl::Status Stream::WaitForReadersOf(const LinkedCode& code) {
  for (BufferId k : code.arrays.ids()) {
    if (!IsResult(code.program->buffers[k].role)) continue;
    OCANNL_RETURN_IF_ERROR(WaitForReaders(*code.arrays[k]));
  }
  return absl::OkStatus();
}

void Stream::HoldMerge(std::shared_ptr<DeviceArray> place) {
  ReleaseMerge();
  merge_.Hold(std::move(place), nullptr);
}

void Stream::PointMerge(std::shared_ptr<DeviceArray> place,
                        std::shared_ptr<const DeviceArray> points_at,
                        const Stream& source) {
  ReleaseMerge();
  source_ = source.readers_;
  ForgetReaders(*source_);
  source_->push_back(Reader(points_at, std::monostate()));
  merge_.Hold(std::move(place), std::move(points_at));
}

void Stream::ReleaseMerge() {
  if (source_ != nullptr) {
    for (Reader& reader : *source_) {
      if (!reader.Reads(*merge_.points_at()) ||
          !std::holds_alternative<std::monostate>(reader.until)) {
        continue;
      }
      reader.until = Record();
      break;
    }
    source_ = nullptr;
  }
  merge_.Hold(nullptr, nullptr);
}

}  // namespace ocannl
