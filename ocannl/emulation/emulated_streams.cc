// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_streams.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl::emulation {
namespace {

constexpr std::chrono::minutes kPatience(2);

}  // namespace

void EmulatedStreams::Give(Context& context, Stream& stream,
                           std::function<void()> run,
                           std::function<bool()> is_ready) {
  auto work = std::make_shared<Work>(Work{std::move(run), std::move(is_ready),
                                          std::exchange(stream.awaited, {})});
  const auto wait_for = [&](const Stream& other) {
    if (other.last != nullptr) work->after.push_back(other.last);
  };
  if (&stream == &context.legacy) {
    for (const Stream* other : context.others) wait_for(*other);
  } else {
    wait_for(context.legacy);
  }
  stream.last = work;
  stream.queue.push_back(std::move(work));
}

void EmulatedStreams::RunUntil(WorkPtr work) {
  while (work != nullptr && !work->is_done) {
    if (RunAny()) continue;
    CHECK(changed_.wait_for(mutex_, kPatience) == std::cv_status::no_timeout)
        << "a stream waits for what nobody gives";
  }
}

void EmulatedStreams::RunAll(const Context& context) {
  std::vector<WorkPtr> all = {context.legacy.last};
  for (const Stream* stream : context.others) all.push_back(stream->last);
  for (WorkPtr& work : all) RunUntil(std::move(work));
}

void EmulatedStreams::Remove(Stream& stream) {
  RunUntil(stream.last);
  for (Context& context : contexts_) context.others.erase(&stream);
}

// Whatever may be next; whether there is any.
bool EmulatedStreams::RunAny() {
  std::vector<Stream*> ready;
  const auto add = [&](Stream& stream) {
    if (stream.queue.empty()) return;
    const Work& next = *stream.queue.front();
    if (next.is_ready != nullptr && !next.is_ready()) return;
    if (std::ranges::all_of(
            next.after, [](const WorkPtr& work) { return work->is_done; })) {
      ready.push_back(&stream);
    }
  };
  for (Context& context : contexts_) {
    add(context.legacy);
    for (Stream* stream : context.others) add(*stream);
  }
  if (ready.empty()) return false;
  Stream& stream = *ready[random_() % ready.size()];
  const std::shared_ptr<Work> work = std::move(stream.queue.front());
  stream.queue.pop_front();
  work->run();
  work->after.clear();
  work->is_done = true;
  changed_.notify_all();
  return true;
}

}  // namespace ocannl::emulation
