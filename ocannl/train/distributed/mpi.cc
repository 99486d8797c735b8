// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/mpi.h"

#include <algorithm>
#include <exception>
#include <iostream>
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
constexpr int kTag = 0;
struct Status {  // as long as any, and no part of it is looked at
  alignas(16) char bytes[128];
};

// X(name, symbol, parameters)
#define OCANNL_MPI_FUNCTIONS(X)                                     \
  X(InitThread, "MPI_Init_thread", (int*, char***, int, int*))      \
  X(Finalize, "MPI_Finalize", ())                                   \
  X(CommRank, "MPI_Comm_rank", (Handle, int*))                      \
  X(CommSize, "MPI_Comm_size", (Handle, int*))                      \
  X(SetErrhandler, "MPI_Comm_set_errhandler", (Handle, Handle))     \
  X(ErrorString, "MPI_Error_string", (int, char*, int*))            \
  X(Abort, "MPI_Abort", (Handle, int))                              \
  X(Send, "MPI_Send", (const void*, int, Handle, int, int, Handle)) \
  X(Probe, "MPI_Probe", (int, int, Handle, Status*))                \
  X(GetCount, "MPI_Get_count", (const Status*, Handle, int*))       \
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
  explicit MpiRank(Functions mpi) : mpi_(std::move(mpi)) {}
  // Finalize waits for all ranks: not where an exception ends only this one.
  ~MpiRank() override {
    if (!is_started_) return;
    if (std::uncaught_exceptions() > 0) Abort("it ended by an exception");
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
      return mpi_.Check(mpi_.Send(piece.data(), static_cast<int>(piece.size()),
                                  mpi_.byte, to, kTag, mpi_.world),
                        absl::StrCat("message to rank ", to));
    });
  }

  absl::Status Receive(int from, absl::Span<std::byte> bytes) override {
    return InPieces(bytes, [&](absl::Span<std::byte> piece) -> absl::Status {
      const std::string what = absl::StrCat("message of rank ", from);
      Status status;
      int count = 0;
      OCANNL_RETURN_IF_ERROR(
          mpi_.Check(mpi_.Probe(from, kTag, mpi_.world, &status), what));
      OCANNL_RETURN_IF_ERROR(
          mpi_.Check(mpi_.GetCount(&status, mpi_.byte, &count), what));
      if (static_cast<size_t>(count) != piece.size()) {
        return OtherLength(from, count, piece.size());
      }
      return mpi_.Check(mpi_.Receive(piece.data(), count, mpi_.byte, from, kTag,
                                     mpi_.world, &status),
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
  bool is_started_ = false;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> StartMpi() {
  OCANNL_ASSIGN_OR_RETURN(Functions mpi, FindFunctions());
  auto rank = std::make_unique<MpiRank>(std::move(mpi));
  OCANNL_RETURN_IF_ERROR(rank->Start());
  return rank;
}

}  // namespace ocannl::train
