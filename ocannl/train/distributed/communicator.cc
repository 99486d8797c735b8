// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/communicator.h"

#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

template <class T>
absl::Span<std::byte> BytesOf(absl::Span<T> values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

// The part of a rank that has the bytes in Broadcast: in the round of `step`,
// those below it have them.
absl::Status Forward(Communicator& ranks, absl::Span<const std::byte> bytes) {
  for (int step = 1; step < ranks.ranks(); step *= 2) {
    if (ranks.rank() >= step || ranks.rank() + step >= ranks.ranks()) continue;
    OCANNL_RETURN_IF_ERROR(ranks.Send(ranks.rank() + step, bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OtherLength(int from, size_t sent, size_t expected) {
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", from, " sent ", sent, " bytes, not the ", expected,
      " that were to come; start all ranks with the same program and flags"));
}

absl::Status Broadcast(Communicator& ranks, absl::Span<std::byte> bytes) {
  const auto rank = static_cast<unsigned>(ranks.rank());
  if (rank > 0) {
    OCANNL_RETURN_IF_ERROR(
        ranks.Receive(static_cast<int>(rank - std::bit_floor(rank)), bytes));
  }
  return Forward(ranks, bytes);
}

absl::Status BroadcastOwn(Communicator& ranks,
                          absl::Span<const std::byte> bytes) {
  CHECK_EQ(ranks.rank(), 0);
  return Forward(ranks, bytes);
}

absl::Status AllGather(Communicator& ranks, absl::Span<uint64_t> values) {
  const auto count = static_cast<size_t>(ranks.ranks());
  for (size_t other = 1; other < count; ++other) {
    std::vector<uint64_t> part;
    for (size_t k = other; k < values.size(); k += count) {
      part.push_back(values[k]);
    }
    const absl::Span<std::byte> bytes = BytesOf(absl::MakeSpan(part));
    if (ranks.rank() == static_cast<int>(other)) {
      OCANNL_RETURN_IF_ERROR(ranks.Send(0, bytes));
    } else if (ranks.rank() == 0) {
      OCANNL_RETURN_IF_ERROR(ranks.Receive(static_cast<int>(other), bytes));
      for (size_t k = 0; k < part.size(); ++k) {
        values[other + k * count] = part[k];
      }
    }
  }
  return Broadcast(ranks, BytesOf(values));
}

absl::StatusOr<std::vector<uint64_t>> AllGather(Communicator& ranks,
                                                uint64_t here) {
  std::vector<uint64_t> all(ranks.ranks(), here);
  OCANNL_RETURN_IF_ERROR(AllGather(ranks, absl::MakeSpan(all)));
  return all;
}

absl::Status CheckAgree(Communicator& ranks, absl::string_view what,
                        uint64_t bits, absl::string_view fix) {
  OCANNL_ASSIGN_OR_RETURN(const auto all, AllGather(ranks, bits));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", rank, " has other ", what, " than rank 0: the hashes are ",
        absl::Hex(all[rank], absl::kZeroPad16), " and ",
        absl::Hex(all[0], absl::kZeroPad16), "; ", fix));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::train
