// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/emulated_streams.h"

#include <algorithm>
#include <utility>

#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {

void EmulatedStreams::Give(Context& context, Stream& stream,
                           std::function<void()> run) {
  auto work = std::make_shared<Work>(
      Work{std::move(run), std::exchange(stream.awaited, {})});
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

void EmulatedStreams::RunUntil(const WorkPtr& work) {
  while (work != nullptr && !work->is_done) CHECK(RunAny());
}

void EmulatedStreams::RunAll() {
  while (RunAny()) continue;
}

void EmulatedStreams::Remove(Stream& stream) {
  RunUntil(stream.last);
  for (Context& context : contexts_) context.others.erase(&stream);
}

// Whatever may be next; whether there is any.
bool EmulatedStreams::RunAny() {
  std::vector<Stream*> ready;
  const auto add = [&](Stream& stream) {
    if (!stream.queue.empty() &&
        std::ranges::all_of(
            stream.queue.front()->after,
            [](const WorkPtr& work) { return work->is_done; })) {
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
  return true;
}

}  // namespace ocannl::fuzz
