// SPDX-License-Identifier: Apache-2.0
//
// PiecesOf: which loops a spec with concatenations needs, one after the other.
//
//   "a; b => a^b"   with a and without b: the first operand alone has terms;
//                   with b and without a: the second
//   "a^b => a"      with a; the cells of b reach nothing
//
// Of parts of one concatenation, and of those that share a part, one is there
// at a time.
#ifndef OCANNL_CORE_TENSOR_EINSUM_EINSUM_PIECES_H_
#define OCANNL_CORE_TENSOR_EINSUM_EINSUM_PIECES_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "ocannl/core/tensor/einsum/einsum.h"

namespace ocannl {

struct EinsumPiece {
  // The parts of concatenations that have no value.
  absl::flat_hash_set<std::string> left_out;
  std::vector<int> operands;  // whose cells the terms are made of
};

// One piece, of all operands, where nothing is concatenated. If the operands
// come `one_at_a_time`, each piece is of the only one all of whose axes have a
// value. Errors: two operands in one piece; no piece at all; too many.
absl::StatusOr<std::vector<EinsumPiece>> PiecesOf(const EinsumSpec& spec,
                                                  bool one_at_a_time);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_EINSUM_EINSUM_PIECES_H_
