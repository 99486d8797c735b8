// SPDX-License-Identifier: Apache-2.0
//
// EmulatedStreams: what the streams of emulated GPUs were given, and the order
// in which that is done: any that CUDA's rules allow, drawn at random.
#ifndef OCANNL_FUZZ_EMULATED_STREAMS_H_
#define OCANNL_FUZZ_EMULATED_STREAMS_H_

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace ocannl::fuzz {

class EmulatedStreams {
 public:
  // Something that a stream was given.
  struct Work {
    std::function<void()> run;
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
    Stream legacy;
    std::set<Stream*> others;
  };

  Context& context(int device) {
    return contexts_[static_cast<size_t>(device)];
  }

  void Give(Context& context, Stream& stream, std::function<void()> run);

  // Does what streams were given, until `work` is done; null: it is.
  void RunUntil(const WorkPtr& work);
  void RunAll();

  // Ends it when all of it is done.
  void Remove(Stream& stream);

 private:
  bool RunAny();

  std::array<Context, 2> contexts_;
  std::mt19937 random_{1};
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_EMULATED_STREAMS_H_
