// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/mpi.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl::train {
namespace {

constexpr char kLibrary[] = "libmpi.so.40";  // Open MPI 2 to 5

// MPI: A Message-Passing Interface Standard 3.1 (2015), with the handles of
// Open MPI's mpi.h, which are addresses of its objects.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kThreadSerialized = 2;  // one thread after the other
constexpr int kAnySource = -1;
struct Status {  // as long as any, and no part of it is looked at
  alignas(16) char bytes[128];
};

// Tags of messages: bytes of the training, the question of a rank what another
// one waits for, and the answer. The last two are a rank's number, as an int.
constexpr int kBytes = 0, kQuestion = 1, kAnswer = 2;

using Clock = std::chrono::steady_clock;
// How long a rank that waits takes to answer; one that computes or hangs does
// not.
constexpr auto kSoon = std::chrono::seconds(2);
constexpr auto kBetweenAnswers = std::chrono::milliseconds(10);

// The time for which a rank has polled. A rank that is suspended, or gets no
// processor, does not wait for others meanwhile: a longer pause between two
// polls counts as kMostPerPoll.
class PolledTime {
 public:
  Clock::duration Now() {
    const Clock::time_point now = Clock::now();
    polled_ += std::min<Clock::duration>(now - last_, kMostPerPoll);
    last_ = now;
    return polled_;
  }

 private:
  static constexpr auto kMostPerPoll = std::chrono::milliseconds(100);
  Clock::time_point last_ = Clock::now();
  Clock::duration polled_{0};
};

// X(name, symbol, parameters)
#define OCANNL_MPI_FUNCTIONS(X)                                 \
  X(InitThread, "MPI_Init_thread", (int*, char***, int, int*))  \
  X(Finalize, "MPI_Finalize", ())                               \
  X(CommRank, "MPI_Comm_rank", (Handle, int*))                  \
  X(CommSize, "MPI_Comm_size", (Handle, int*))                  \
  X(SetErrhandler, "MPI_Comm_set_errhandler", (Handle, Handle)) \
  X(ErrorString, "MPI_Error_string", (int, char*, int*))        \
  X(Abort, "MPI_Abort", (Handle, int))                          \
  X(StartSend, "MPI_Isend",                                     \
    (const void*, int, Handle, int, int, Handle, Handle*))      \
  X(Test, "MPI_Test", (Handle*, int*, Status*))                 \
  X(Probe, "MPI_Iprobe", (int, int, Handle, int*, Status*))     \
  X(GetCount, "MPI_Get_count", (const Status*, Handle, int*))   \
  X(Receive, "MPI_Recv", (void*, int, Handle, int, int, Handle, Status*))

struct Functions {
  std::shared_ptr<const SharedLibrary> library;
#define OCANNL_DECLARE(name, symbol, parameters) \
  int(*name) parameters = nullptr;
  OCANNL_MPI_FUNCTIONS(OCANNL_DECLARE)
#undef OCANNL_DECLARE
  Handle world = nullptr, byte = nullptr, errors_return = nullptr;

  absl::Status Check(int result, absl::string_view what) const {
    if (result == kSuccess) return absl::OkStatus();
    char text[1024] = "";  // MPI_MAX_ERROR_STRING is 256
    int length = 0;
    ErrorString(result, text, &length);
    return absl::UnavailableError(absl::StrCat("MPI, ", what, ": ", text));
  }
};

absl::StatusOr<Functions> FindFunctions() {
  auto library = SharedLibrary::Open(kLibrary, /*stays=*/true);
  if (!library.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "there is no MPI: ", library.status().message(), "; install Debian's ",
        "package openmpi-bin, and start with mpirun"));
  }
  Functions mpi;
  mpi.library = *std::move(library);
  bool all = true;
#define OCANNL_FIND(name, symbol, parameters)           \
  mpi.name = mpi.library->Find<int parameters>(symbol); \
  all = all && mpi.name != nullptr;
  OCANNL_MPI_FUNCTIONS(OCANNL_FIND)
#undef OCANNL_FIND
  auto object = [&](const char* name) {
    Handle found = mpi.library->Find<char>(name);
    all = all && found != nullptr;
    return found;
  };
  mpi.world = object("ompi_mpi_comm_world");
  mpi.byte = object("ompi_mpi_byte");
  mpi.errors_return = object("ompi_mpi_errors_return");
  if (all) return mpi;
  return absl::NotFoundError(absl::StrCat(
      kLibrary, " is not Open MPI's; install Debian's package openmpi-bin"));
}

class MpiRank : public Communicator {
 public:
  MpiRank(Functions mpi, const MpiOptions& options)
      : mpi_(std::move(mpi)), most_seconds_(options.most_seconds) {}
  // Finalize waits for all ranks: not where an exception ends only this one,
  // and without a limit, so that they meet before.
  ~MpiRank() override {
    if (!is_started_) return;
    if (std::uncaught_exceptions() > 0) Abort("it ended by an exception");
    if (const absl::Status met = Meet(); !met.ok()) Abort(met.message());
    mpi_.Finalize();
  }

  absl::Status Start() {
    int provided = 0;
    OCANNL_RETURN_IF_ERROR(mpi_.Check(
        mpi_.InitThread(nullptr, nullptr, kThreadSerialized, &provided),
        "start"));
    is_started_ = true;
    OCANNL_RETURN_IF_ERROR(mpi_.Check(
        mpi_.SetErrhandler(mpi_.world, mpi_.errors_return), "start"));
    OCANNL_RETURN_IF_ERROR(
        mpi_.Check(mpi_.CommRank(mpi_.world, &rank_), "rank"));
    OCANNL_RETURN_IF_ERROR(
        mpi_.Check(mpi_.CommSize(mpi_.world, &ranks_), "number of ranks"));
    if (provided >= kThreadSerialized || ranks_ == 1) return absl::OkStatus();
    return absl::UnimplementedError(
        "MPI was built for programs of one thread; install Debian's package "
        "openmpi-bin");
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  absl::Status Send(int to, absl::Span<const std::byte> bytes) override {
    return InPieces(bytes, [&](absl::Span<const std::byte> piece) {
      return SendTagged(to, kBytes, piece);
    });
  }

  absl::Status Receive(int from, absl::Span<std::byte> bytes) override {
    return InPieces(bytes, [&](absl::Span<std::byte> piece) -> absl::Status {
      const std::string what = absl::StrCat("message of rank ", from);
      Status status;
      int count = 0;
      OCANNL_RETURN_IF_ERROR(WaitFor(from, what, [&](int* is_there) {
        return mpi_.Probe(from, kBytes, mpi_.world, is_there, &status);
      }));
      OCANNL_RETURN_IF_ERROR(
          mpi_.Check(mpi_.GetCount(&status, mpi_.byte, &count), what));
      if (static_cast<size_t>(count) != piece.size()) {
        return OtherLength(from, count, piece.size());
      }
      return mpi_.Check(mpi_.Receive(piece.data(), count, mpi_.byte, from,
                                     kBytes, mpi_.world, &status),
                        what);
    });
  }

  void Abort(absl::string_view why) override {
    std::cout.flush();
    // In one piece: other ranks may say why at the same time.
    std::cerr << absl::StrCat("rank ", rank_, ": ", why, "\n") << std::flush;
    mpi_.Abort(mpi_.world, 1);
  }

 private:
  absl::Status SendTagged(int to, int tag, absl::Span<const std::byte> bytes) {
    const std::string what = absl::StrCat("message to rank ", to);
    Handle request = nullptr;
    OCANNL_RETURN_IF_ERROR(
        mpi_.Check(mpi_.StartSend(bytes.data(), static_cast<int>(bytes.size()),
                                  mpi_.byte, to, tag, mpi_.world, &request),
                   what));
    return WaitFor(to, what, [&](int* is_sent) {
      Status status;
      return mpi_.Test(&request, is_sent, &status);
    });
  }

  // A message of one int, which MPI copies at once: its other end need not be
  // ready.
  absl::Status SendNumber(int to, int tag, int number) {
    Handle request = nullptr;
    numbers_.push_back(number);  // until the end of the process
    return mpi_.Check(mpi_.StartSend(&numbers_.back(), sizeof(int), mpi_.byte,
                                     to, tag, mpi_.world, &request),
                      "question");
  }

  // None: there is no such message now.
  absl::StatusOr<std::optional<int>> ReceiveNumber(int from, int tag) {
    int is_there = 0;
    Status status;
    OCANNL_RETURN_IF_ERROR(mpi_.Check(
        mpi_.Probe(from, tag, mpi_.world, &is_there, &status), "question"));
    if (is_there == 0) return std::nullopt;
    int number = 0;
    OCANNL_RETURN_IF_ERROR(
        mpi_.Check(mpi_.Receive(&number, sizeof(int), mpi_.byte, from, tag,
                                mpi_.world, &status),
                   "question"));
    return number;
  }

  // Tells all ranks that ask that this one waits for `rank`.
  absl::Status AnswerQuestions(int rank) {
    while (true) {
      OCANNL_ASSIGN_OR_RETURN(const std::optional<int> asker,
                              ReceiveNumber(kAnySource, kQuestion));
      if (!asker) return absl::OkStatus();
      OCANNL_RETURN_IF_ERROR(SendNumber(*asker, kAnswer, rank));
    }
  }

  // Calls `test`, which sets its argument where what is waited for is there,
  // until it is. Error: rank `other` takes too long for it.
  template <class Test>
  absl::Status WaitFor(int other, const std::string& what, const Test& test) {
    PolledTime time;
    Clock::duration next = kBetweenAnswers;
    while (true) {
      int is_there = 0;
      OCANNL_RETURN_IF_ERROR(mpi_.Check(test(&is_there), what));
      if (is_there != 0) return absl::OkStatus();
      const Clock::duration waited = time.Now();
      if (waited >= next) {
        OCANNL_RETURN_IF_ERROR(AnswerQuestions(other));
        next = waited + kBetweenAnswers;
      }
      if (std::chrono::duration<double>(waited).count() > most_seconds_) {
        return HangError(other);
      }
      // For ranks that share a processor.
      if (waited > std::chrono::microseconds(50)) sched_yield();
    }
  }

  // The rank for which this one has waited too long may itself wait for
  // another one: the last of them, who does not answer, is who hangs.
  absl::Status HangError(int other) {
    int hangs = other;
    for (int hops = 0; hops < ranks_ && hangs != rank_; ++hops) {
      OCANNL_RETURN_IF_ERROR(SendNumber(hangs, kQuestion, rank_));
      std::optional<int> answer;
      PolledTime time;
      while (!answer && time.Now() < kSoon) {
        OCANNL_RETURN_IF_ERROR(AnswerQuestions(other));
        OCANNL_ASSIGN_OR_RETURN(answer, ReceiveNumber(hangs, kAnswer));
        sched_yield();
      }
      if (!answer) break;
      hangs = *answer;
    }
    if (hangs == rank_) hangs = other;  // the two wait for each other
    return absl::DeadlineExceededError(absl::StrCat(
        "rank ", hangs, " has sent nothing for ", most_seconds_,
        " s: it hangs, or its work takes longer; allow more seconds by ",
        "--rank_timeout or MpiOptions if it does"));
  }

  // Returns when all ranks are here.
  absl::Status Meet() {
    std::byte token = {};
    if (rank_ > 0) {
      OCANNL_RETURN_IF_ERROR(Send(0, {&token, 1}));
      return Receive(0, {&token, 1});
    }
    for (int rank = 1; rank < ranks_; ++rank) {
      OCANNL_RETURN_IF_ERROR(Receive(rank, {&token, 1}));
    }
    for (int rank = 1; rank < ranks_; ++rank) {
      OCANNL_RETURN_IF_ERROR(Send(rank, {&token, 1}));
    }
    return absl::OkStatus();
  }

  // MPI counts bytes as an int.
  template <class T, class Work>
  static absl::Status InPieces(absl::Span<T> bytes, const Work& work) {
    constexpr size_t kMost = size_t{1} << 30;
    do {
      OCANNL_RETURN_IF_ERROR(work(bytes.first(std::min(kMost, bytes.size()))));
      bytes.remove_prefix(std::min(kMost, bytes.size()));
    } while (!bytes.empty());
    return absl::OkStatus();
  }

  Functions mpi_;
  const double most_seconds_;
  std::deque<int> numbers_;  // that were sent
  bool is_started_ = false;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> StartMpi(
    const MpiOptions& options) {
  if (!(options.most_seconds > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ranks cannot wait ", options.most_seconds, " s; give more than 0"));
  }
  OCANNL_ASSIGN_OR_RETURN(Functions mpi, FindFunctions());
  auto rank = std::make_unique<MpiRank>(std::move(mpi), options);
  OCANNL_RETURN_IF_ERROR(rank->Start());
  return rank;
}

}  // namespace ocannl::train
