// SPDX-License-Identifier: Apache-2.0
//
// EmulatedStreams: what the streams of emulated GPUs were given, and the order
// in which that is done: any that CUDA's rules allow, drawn at random.
#ifndef OCANNL_EMULATION_EMULATED_STREAMS_H_
#define OCANNL_EMULATION_EMULATED_STREAMS_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <vector>

namespace ocannl::emulation {

class EmulatedStreams {
 public:
  // Whoever calls its functions holds `mutex`.
  explicit EmulatedStreams(std::mutex& mutex) : mutex_(mutex) {}

  // Something that a stream was given.
  struct Work {
    std::function<void()> run;
    std::function<bool()> is_ready;                  // null: it is
    std::vector<std::shared_ptr<const Work>> after;  // beside what is before it
    bool is_done = false;
  };
  using WorkPtr = std::shared_ptr<const Work>;

  struct Stream {
    std::deque<std::shared_ptr<Work>> queue;
    WorkPtr last = nullptr;             // that it was given
    std::vector<WorkPtr> awaited = {};  // by what comes next
  };

  // Of a device. What its legacy stream is given comes after all that its
  // others were given before, and before all that they are given later.
  struct Context {
    int retained = 0;  // how often
    Stream legacy;
    std::set<Stream*> others;
  };

  std::array<Context, 4>& contexts() { return contexts_; }  // of all devices

  void Give(Context& context, Stream& stream, std::function<void()> run,
            std::function<bool()> is_ready = nullptr);

  // Does what streams were given, until `work` is done; null: it is. Waits for
  // what other threads give them, without the mutex.
  void RunUntil(WorkPtr work);
  // All that a context was given.
  void RunAll(const Context& context);

  // Ends it when all of it is done.
  void Remove(Stream& stream);

  // What is ready may be more than before.
  void NotifyAll() { changed_.notify_all(); }

 private:
  bool RunAny();

  std::mutex& mutex_;
  std::condition_variable_any changed_;
  std::array<Context, 4> contexts_;
  std::mt19937 random_{1};
};

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_STREAMS_H_
