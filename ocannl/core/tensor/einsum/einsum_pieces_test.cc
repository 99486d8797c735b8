// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum/einsum_pieces.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

// "0 without b; 1 without a", or the message of the error.
std::string Pieces(absl::string_view text, int operands, bool one_at_a_time) {
  absl::StatusOr<EinsumSpec> spec = ParseEinsum(text, operands);
  CHECK_OK(spec.status());
  auto pieces = PiecesOf(*spec, one_at_a_time);
  if (!pieces.ok()) return std::string(pieces.status().message());
  return absl::StrJoin(*pieces, "; ", [](std::string* out, const auto& piece) {
    std::set<std::string> names(piece.left_out.begin(), piece.left_out.end());
    absl::StrAppend(out, absl::StrJoin(piece.operands, ","), " without ",
                    absl::StrJoin(names, ","));
  });
}

TEST(EinsumPieces, WithoutConcatenationsThereIsOne) {
  EXPECT_EQ(Pieces("2*i; j => ij,", 2, false), "0,1 without ");
  EXPECT_EQ(Pieces("_ => 0", 1, false), "0 without ");
}

TEST(EinsumPieces, EachOperandFillsItsPart) {
  EXPECT_EQ(Pieces("a; b => a^b", 2, true), "0 without b; 1 without a");
  EXPECT_EQ(Pieces("a, c; a, d; b, c; b, d => a^b, c^d", 4, true),
            "0 without b,d; 1 without b,c; 2 without a,d; 3 without a,c");
  EXPECT_EQ(Pieces("a^b; c => a^b^c", 2, true),
            "0 without b,c; 0 without a,c; 1 without a,b");
}

TEST(EinsumPieces, APartIsReadAlone) {
  EXPECT_EQ(Pieces("a^b^c => b", 1, false), "0 without a,c");
  EXPECT_EQ(Pieces("a^b; a => 0", 2, false), "0,1 without b");
  EXPECT_EQ(Pieces("a^b; 2*b => 0", 2, false), "0,1 without a");
  EXPECT_EQ(Pieces("a^b => 0", 1, false), "0 without b; 0 without a");
}

TEST(EinsumPieces, EqualConcatenationsGoTogether) {
  EXPECT_EQ(Pieces("a^b; b^a => a^b", 2, false),
            "0,1 without b; 0,1 without a");
  EXPECT_EQ(Pieces("a^b; c^d; b^c => b", 3, false),
            "nothing reaches the result: a tensor needs two parts of one "
            "concatenation at once; use one part at a time");
  EXPECT_EQ(Pieces("a^b; b^c => b", 2, false), "0,1 without a,c");
}

TEST(EinsumPieces, SaysWhatIsWrong) {
  EXPECT_EQ(Pieces("a; a => a", 2, true),
            "operands 1 and 2 are for the same cells; each needs a part of a "
            "concatenation of its own");
  EXPECT_EQ(Pieces("a^b => a, b", 1, false),
            "nothing reaches the result: a tensor needs two parts of one "
            "concatenation at once; use one part at a time");
  EXPECT_EQ(Pieces("a^b^c^d^e^f^g, h^i^j^k^l^m, n^o^p^q^r^s^t => 0", 1, false),
            "its concatenations have over 256 combinations of parts; "
            "concatenate in steps");
}

}  // namespace
}  // namespace ocannl
