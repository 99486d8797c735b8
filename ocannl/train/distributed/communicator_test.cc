// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/distributed/communicator.h"

#include <array>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/status_macros.h"
#include "tests/support/ranks.h"
#include "tests/support/status_matchers.h"

namespace ocannl::train {
namespace {

using absl::StatusCode;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using Bytes = std::array<std::byte, 5>;

Bytes Five(int first) {
  Bytes bytes;
  for (int k = 0; k < 5; ++k) bytes[k] = static_cast<std::byte>(first + k);
  return bytes;
}

TEST(Communicator, MessagesComeInOrder) {
  for (int delay : {0, 200}) {
    auto work = [](Communicator& rank) -> absl::Status {
      for (int k = 0; k < 20; ++k) {
        Bytes bytes = Five(k + rank.rank());
        if (rank.rank() > 0) OCANNL_RETURN_IF_ERROR(rank.Send(0, bytes));
        for (int from = 1; rank.rank() == 0 && from < rank.ranks(); ++from) {
          OCANNL_RETURN_IF_ERROR(rank.Receive(from, absl::MakeSpan(bytes)));
          EXPECT_EQ(bytes, Five(k + from));
        }
      }
      return absl::OkStatus();
    };
    EXPECT_THAT(OnRanks(4, work, {.seed = 3, .most_microseconds = delay}),
                Each(IsOk()));
  }
}

TEST(Communicator, RankZeroTellsAll) {
  for (int count = 1; count <= 17; ++count) {
    auto work = [](Communicator& rank) -> absl::Status {
      Bytes bytes = Five(rank.rank() + 7);
      OCANNL_RETURN_IF_ERROR(Broadcast(rank, absl::MakeSpan(bytes)));
      EXPECT_EQ(bytes, Five(7));
      return absl::OkStatus();
    };
    EXPECT_THAT(OnRanks(count, work), Each(IsOk()));
  }
}

TEST(Communicator, EachRankTellsAll) {
  for (int count : {1, 2, 3, 5}) {
    auto work = [](Communicator& rank) -> absl::Status {
      std::vector<uint64_t> values(7, 99);
      for (int k = rank.rank(); k < 7; k += rank.ranks()) values[k] = k;
      OCANNL_RETURN_IF_ERROR(AllGather(rank, absl::MakeSpan(values)));
      EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5, 6));
      return absl::OkStatus();
    };
    EXPECT_THAT(OnRanks(count, work), Each(IsOk()));
  }
}

TEST(Communicator, RanksThatDisagree) {
  auto agree = [](Communicator& rank) {
    return CheckAgree(rank, "hats", 17, "buy one");
  };
  EXPECT_THAT(OnRanks(3, agree), Each(IsOk()));
  auto disagree = [](Communicator& rank) {
    return CheckAgree(rank, "hats", rank.rank() == 2 ? 16 : 17, "buy one");
  };
  EXPECT_THAT(OnRanks(4, disagree),
              Each(StatusIs(StatusCode::kFailedPrecondition,
                            "rank 2 has other hats than rank 0: the hashes are "
                            "0000000000000010 and 0000000000000011; buy one")));
}

TEST(Communicator, OneThatAbortsEndsAll) {
  auto work = [](Communicator& rank) -> absl::Status {
    Bytes bytes;
    if (rank.rank() != 2) return rank.Receive(2, absl::MakeSpan(bytes));
    rank.Abort("no memory");
    return absl::UnknownError("no memory");
  };
  const auto results = OnRanks(4, work);
  for (int k : {0, 1, 3}) {
    EXPECT_THAT(results[k],
                StatusIs(StatusCode::kAborted, "rank 2 ended: no memory"));
  }
}

TEST(Communicator, NobodyWaitsForOneThatIsGone) {
  auto work = [](Communicator& rank) -> absl::Status {
    if (rank.rank() == 1) return absl::OkStatus();
    Bytes bytes;
    return rank.Receive(1, absl::MakeSpan(bytes));
  };
  const auto results = OnRanks(3, work);
  for (int k : {0, 2}) {
    EXPECT_THAT(results[k],
                StatusIs(StatusCode::kUnavailable, "rank 1 is gone"));
  }
}

TEST(Communicator, LengthsThatDiffer) {
  auto work = [](Communicator& rank) -> absl::Status {
    Bytes bytes = {};
    if (rank.rank() == 0) return rank.Send(1, bytes);
    return rank.Receive(0, absl::MakeSpan(bytes).first(3));
  };
  EXPECT_THAT(OnRanks(2, work)[1],
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("rank 0 sent 5 bytes, not the 3 that were")));
}

}  // namespace
}  // namespace ocannl::train
