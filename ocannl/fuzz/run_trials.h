// SPDX-License-Identifier: Apache-2.0
//
// RunTrials: tries many random cases, each from its seed, in child processes.
// A case that crashes or hangs is a failure like any other.
//
//   const TrialCount count = RunTrials<Progress>(
//       limits,
//       [&](uint64_t seed, Progress& progress) { return ErrorOf(seed); },
//       [&](const Progress& progress, const FailedTrial* failed) {
//         return failed == nullptr;
//       });
#ifndef OCANNL_FUZZ_RUN_TRIALS_H_
#define OCANNL_FUZZ_RUN_TRIALS_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ocannl/core/base/check.h"
#include "ocannl/fuzz/child.h"
#include "ocannl/fuzz/stopwatch.h"

namespace ocannl::fuzz {

// A value that a child process writes and its parent reads, also after the
// child died.
template <class T>
class SharedMemory {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  SharedMemory() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    value_ = new (memory) T();
  }
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(value_, sizeof(T)); }

  T& operator*() { return *value_; }
  T* operator->() { return value_; }

 private:
  T* value_;
};

struct TrialLimits {
  uint64_t seed;      // of the first case; the next ones count up
  int64_t cases;      // the most
  double seconds;     // no case starts later than this
  int64_t of_child;   // the most cases of one child
  int child_seconds;  // after these a child is killed
};

struct FailedTrial {
  uint64_t seed;
  ChildResult result;
};

struct TrialCount {
  int64_t cases = 0;  // with those that failed
  double seconds = 0;
};

// `trial` runs in a child. It notes in the child's Progress what it does, and
// returns what is wrong with the case; empty: nothing. A case that fails ends
// its child. `report` runs here after each child, and says whether to go on;
// `failed` is the case that has ended the child, or nullptr.
template <class Progress>
TrialCount RunTrials(
    const TrialLimits& limits,
    absl::FunctionRef<std::string(uint64_t seed, Progress& progress)> trial,
    absl::FunctionRef<bool(const Progress& progress, const FailedTrial* failed)>
        report) {
  struct Child {
    int64_t cases;
    Progress progress;
  };
  const Stopwatch watch;
  TrialCount count;
  bool goes_on = true;
  auto is_over = [&] { return watch.Seconds() > limits.seconds; };
  while (goes_on && count.cases < limits.cases && !is_over()) {
    const uint64_t first = limits.seed + count.cases;
    const int64_t most = std::min(limits.cases - count.cases, limits.of_child);
    SharedMemory<Child> child;
    ChildResult result = RunInChild(limits.child_seconds, [&]() -> std::string {
      for (; child->cases < most && !is_over(); ++child->cases) {
        std::string error = trial(first + child->cases, child->progress);
        if (!error.empty()) return error;
      }
      return "";
    });
    count.cases += child->cases;
    if (result.text.empty()) {
      goes_on = report(child->progress, nullptr);
      continue;
    }
    const FailedTrial failed = {limits.seed + count.cases, std::move(result)};
    ++count.cases;
    goes_on = report(child->progress, &failed);
  }
  count.seconds = watch.Seconds();
  return count;
}

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_RUN_TRIALS_H_
