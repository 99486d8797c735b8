// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/nccl.h"

#include <xxhash.h>

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {
namespace {

constexpr char kLibrary[] = "libnccl.so.2";

class NcclLink : public DeviceLink {
 public:
  NcclLink(const Gpu& gpu, const NcclFunctions& nccl, NcclCommHandle comm)
      : gpu_(gpu), nccl_(nccl), comm_(comm) {}
  NcclLink(const NcclLink&) = delete;
  ~NcclLink() override { Abort(); }

  // CommDestroy would wait for all ranks, of which one may have failed.
  void Abort() override {
    if (is_aborted_.exchange(true)) return;
    (void)gpu_.Enter();
    nccl_.CommAbort(comm_);
  }

  absl::Status Send(int to, absl::Span<const std::byte> bytes) override {
    OCANNL_RETURN_IF_ERROR(Enter());
    return nccl_.Check(nccl_.Send(bytes.data(), bytes.size(), kNcclUint8, to,
                                  comm_, gpu_.CurrentQueue().handle()),
                       absl::StrCat("message to rank ", to));
  }

  absl::Status Receive(int from, absl::Span<std::byte> bytes) override {
    OCANNL_RETURN_IF_ERROR(Enter());
    return nccl_.Check(nccl_.Recv(bytes.data(), bytes.size(), kNcclUint8, from,
                                  comm_, gpu_.CurrentQueue().handle()),
                       absl::StrCat("message of rank ", from));
  }

 private:
  absl::Status Enter() const {
    if (is_aborted_) return absl::CancelledError("NCCL: messages were ended");
    return gpu_.Enter();
  }

  const Gpu& gpu_;
  const NcclFunctions& nccl_;
  const NcclCommHandle comm_;
  std::atomic<bool> is_aborted_ = false;
};

}  // namespace

absl::Status NcclFunctions::Check(NcclResult result,
                                  absl::string_view what) const {
  if (result == 0) return absl::OkStatus();  // ncclSuccess
  return absl::UnavailableError(
      absl::StrCat("NCCL, ", what, ": ", GetErrorString(result)));
}

absl::StatusOr<NcclFunctions> FindNccl() {
  auto library = SharedLibrary::Open(kLibrary, /*stays=*/true);
  if (!library.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "no NCCL: ", library.status().message(), "; ", kLibrary,
        " comes with NVIDIA's package libnccl2, and is looked for in the "
        "loader's directories and in LD_LIBRARY_PATH"));
  }
  NcclFunctions nccl;
  nccl.library = *std::move(library);
  nccl.GetErrorString =
      nccl.library->Find<const char*(NcclResult)>("ncclGetErrorString");
  bool all = nccl.GetErrorString != nullptr;
#define OCANNL_FIND(name, parameters)                                  \
  nccl.name = nccl.library->Find<NcclResult parameters>("nccl" #name); \
  all = all && nccl.name != nullptr;
  OCANNL_NCCL_FUNCTIONS(OCANNL_FIND)
#undef OCANNL_FIND
  if (all) return nccl;
  return absl::NotFoundError(absl::StrCat(
      kLibrary, " cannot send from GPU to GPU, which NCCL can since 2.7; ",
      "install a newer one"));
}

uint64_t NcclNetwork::DeviceId() const {
  return XXH64(gpu_.uuid().bytes.data(), gpu_.uuid().bytes.size(), 0);
}

absl::StatusOr<DeviceNetwork::Key> NcclNetwork::MakeKey() const {
  NcclUniqueId id;
  OCANNL_RETURN_IF_ERROR(nccl_.Check(nccl_.GetUniqueId(&id), "key"));
  return id.bytes;
}

absl::StatusOr<std::unique_ptr<DeviceLink>> NcclNetwork::Connect(
    int rank, int ranks, const Key& key) const {
  OCANNL_RETURN_IF_ERROR(gpu_.Enter());
  NcclCommHandle comm = nullptr;
  OCANNL_RETURN_IF_ERROR(nccl_.Check(
      nccl_.CommInitRank(&comm, ranks, NcclUniqueId{key}, rank), "start"));
  return std::make_unique<NcclLink>(gpu_, nccl_, comm);
}

}  // namespace ocannl::cuda
