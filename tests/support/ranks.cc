// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ranks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// What all ranks share; the mutex is that of all of it.
struct Exchange {
  explicit Exchange(int ranks) : gone(ranks, false) {}

  absl::Status CheckAborted() const {
    if (aborted.empty()) return absl::OkStatus();
    return absl::AbortedError(aborted);
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> messages;
  std::vector<bool> gone;
  std::string aborted;  // why; empty: not
};

class InProcessRank : public train::Communicator {
 public:
  InProcessRank(std::shared_ptr<Exchange> exchange, int rank,
                const Delays& delays)
      : exchange_(std::move(exchange)),
        rank_(rank),
        random_(delays.seed * exchange_->gone.size() + rank),
        delay_(0, delays.most_microseconds) {}

  ~InProcessRank() override {
    const std::lock_guard lock(exchange_->mutex);
    exchange_->gone[rank_] = true;
    exchange_->changed.notify_all();
  }

  int rank() const override { return rank_; }
  int ranks() const override {
    return static_cast<int>(exchange_->gone.size());
  }

  absl::Status Send(int to, absl::Span<const std::byte> bytes) override {
    CHECK(to != rank_);
    Sleep();
    const std::lock_guard lock(exchange_->mutex);
    OCANNL_RETURN_IF_ERROR(exchange_->CheckAborted());
    if (exchange_->gone.at(to)) return Gone(to);
    exchange_->messages[{rank_, to}].emplace_back(bytes.begin(), bytes.end());
    exchange_->changed.notify_all();
    return absl::OkStatus();
  }

  absl::Status Receive(int from, absl::Span<std::byte> bytes) override {
    CHECK(from != rank_);
    Sleep();
    std::unique_lock lock(exchange_->mutex);
    auto& messages = exchange_->messages[{from, rank_}];
    exchange_->changed.wait(lock, [&] {
      return !messages.empty() || exchange_->gone.at(from) ||
             !exchange_->aborted.empty();
    });
    OCANNL_RETURN_IF_ERROR(exchange_->CheckAborted());
    if (messages.empty()) return Gone(from);
    const std::vector<std::byte> message = std::move(messages.front());
    messages.pop_front();
    if (message.size() != bytes.size()) {
      return train::OtherLength(from, message.size(), bytes.size());
    }
    std::copy(message.begin(), message.end(), bytes.begin());
    return absl::OkStatus();
  }

  void Abort(absl::string_view why) override {
    const std::lock_guard lock(exchange_->mutex);
    if (exchange_->aborted.empty()) {
      exchange_->aborted = absl::StrCat("rank ", rank_, " ended: ", why);
    }
    exchange_->changed.notify_all();
  }

 private:
  static absl::Status Gone(int rank) {
    return absl::UnavailableError(absl::StrCat("rank ", rank, " is gone"));
  }

  void Sleep() {
    if (delay_.max() == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(delay_(random_)));
  }

  std::shared_ptr<Exchange> exchange_;
  int rank_;
  std::mt19937_64 random_;
  std::uniform_int_distribution<int> delay_;
};

}  // namespace

std::vector<std::unique_ptr<train::Communicator>> InProcessRanks(
    int count, const Delays& delays) {
  CHECK_GE(count, 1);
  auto exchange = std::make_shared<Exchange>(count);
  std::vector<std::unique_ptr<train::Communicator>> all;
  for (int rank = 0; rank < count; ++rank) {
    all.push_back(std::make_unique<InProcessRank>(exchange, rank, delays));
  }
  return all;
}

std::vector<absl::Status> OnRanks(
    int count, absl::FunctionRef<absl::Status(train::Communicator& rank)> work,
    const Delays& delays) {
  auto ranks = InProcessRanks(count, delays);
  std::vector<absl::Status> results(count);
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) {
    threads.emplace_back([&, k] {
      results[k] = work(*ranks[k]);
      ranks[k].reset();  // nobody waits for it any longer
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace ocannl
