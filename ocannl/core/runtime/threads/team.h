// SPDX-License-Identifier: Apache-2.0
//
// Team: a fork-join thread pool: threads that do one piece of work together,
// with a centralized sense-reversing barrier (Mellor-Crummey and Scott 1991).
//
//   Team team(4);
//   team.TryRun([&](int member) {
//     ClaimAll(first_half, ...);
//     team.Wait();                 // until every member is here
//     ClaimAll(second_half, ...);
//   });
//
// Members spin, then park, so that work of microseconds is worth sharing.
#ifndef OCANNL_CORE_RUNTIME_THREADS_TEAM_H_
#define OCANNL_CORE_RUNTIME_THREADS_TEAM_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"

namespace ocannl {

class Worker;

class Team {
 public:
  // `size` members, of whom the caller of TryRun is one; at least 1. Fewer
  // where the system has no more threads.
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;

  // The caller of TryRun and the threads of `workers`, which outlive the team.
  // Only the thread that submits to them may call TryRun and end the team.
  explicit Team(absl::Span<Worker* const> workers);

  // The number of processors that this process may use.
  static int MaxSize();

  int size() const {
    return static_cast<int>(threads_.size() + workers_.size()) + 1;
  }

  // Calls work(member) with every member from 0 to size() - 1 at once and
  // returns when all have. The caller is member 0. False, with nothing called,
  // where the team is at work already, or, unless it is one of workers, another
  // thread is SideBySide. What a member throws, which is memory that ends, is
  // thrown again when all have returned: so none may between the first and the
  // last Wait.
  bool TryRun(absl::FunctionRef<void(int member)> work);

  // This thread has a processor for programs of its own: others call no team
  // meanwhile.
  class SideBySide {
   public:
    SideBySide() { Count(1), ++own_count; }
    ~SideBySide() { Count(-1), --own_count; }
    SideBySide(const SideBySide&) = delete;

    // Of a thread that others wake: they count it, as it has work before it
    // runs. It itself calls TakeShare once.
    static void Count(int more) {
      count.fetch_add(more, std::memory_order_relaxed);
    }
    static void TakeShare() { ++own_count; }

   private:
    friend class Team;
    static std::atomic<int> count;
    static thread_local int own_count;  // of `count`: this thread
  };

  // While it lives, `team`, unless that is null, does the programs that this
  // thread runs, in the place of their backend's.
  class Scope {
   public:
    explicit Scope(Team* team)
        : before_(std::exchange(current, team != nullptr ? team : current)) {}
    ~Scope() { current = before_; }
    Scope(const Scope&) = delete;

   private:
    friend class Team;
    static constinit thread_local Team* current;
    Team* const before_;
  };
  static Team* Current() { return Scope::current; }  // null: the backend's

  // Inside of `work`: returns when every member has called it.
  void Wait();

 private:
  using Work = absl::FunctionRef<void(int member)>;

  void Serve(int member);
  void DoShare(int member);

  std::vector<std::thread> threads_;  // its own
  std::vector<Worker*> workers_;
  std::mutex running_;
  int callers_processor_ = -1;  // where the last caller was; guarded by it
  std::optional<Work> work_;
  std::mutex throwing_;
  std::exception_ptr thrown_;  // by a member; guarded by it
  std::atomic<bool> stops_ = false;
  std::atomic<uint32_t> round_ = 0;    // of work
  std::atomic<uint32_t> arrived_ = 0;  // members that called Wait
  std::atomic<uint32_t> phase_ = 0;    // how often all of them had
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_THREADS_TEAM_H_
