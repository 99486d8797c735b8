// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/einsum/einsum_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

constexpr size_t kMaxPieces = 256;

using Parts = std::vector<std::string>;

// Whether every axis has a value without the parts that are left out.
bool HasValue(const EinsumSlot& slot, const EinsumPiece& piece) {
  bool has = true;
  ForEachAxis(slot, [&](EinsumAxis axis) {
    auto left_out = [&](const std::string* name) {
      return piece.left_out.contains(*name);
    };
    has = has && (axis.parts.empty() ? absl::c_none_of(axis.Names(), left_out)
                                     : !absl::c_all_of(axis.Names(), left_out));
  });
  return has;
}

// The parts that exclude each other: concatenations that share one are in one
// group.
std::vector<Parts> GroupsOf(const std::vector<Parts>& axes) {
  std::vector<Parts> groups;
  for (const Parts& axis : axes) {
    Parts group;
    auto add = [&](const Parts& parts) {
      for (const std::string& part : parts) {
        if (!absl::c_linear_search(group, part)) group.push_back(part);
      }
    };
    auto joins = [&](const Parts& other) {
      bool shares = absl::c_any_of(other, [&](const std::string& part) {
        return absl::c_linear_search(axis, part);
      });
      if (shares) add(other);
      return shares;
    };
    groups.erase(std::remove_if(groups.begin(), groups.end(), joins),
                 groups.end());
    add(axis);
    groups.push_back(std::move(group));
  }
  return groups;
}

// The ways to take one part of each group.
absl::StatusOr<std::vector<EinsumPiece>> Selections(
    const std::vector<Parts>& groups) {
  std::vector<EinsumPiece> pieces(1);
  for (const Parts& group : groups) {
    if (pieces.size() * group.size() > kMaxPieces) {
      return absl::InvalidArgumentError(
          absl::StrCat("its concatenations have over ", kMaxPieces,
                       " combinations of parts; concatenate in steps"));
    }
    std::vector<EinsumPiece> longer;
    for (const EinsumPiece& piece : pieces) {
      for (const std::string& part : group) {
        longer.push_back(piece);
        longer.back().left_out.insert(group.begin(), group.end());
        longer.back().left_out.erase(part);
      }
    }
    pieces = std::move(longer);
  }
  return pieces;
}

}  // namespace

absl::StatusOr<std::vector<EinsumPiece>> PiecesOf(const EinsumSpec& spec,
                                                  bool one_at_a_time) {
  std::vector<Parts> axes;
  auto collect = [&](const EinsumAxis& axis) {
    if (!axis.parts.empty()) axes.push_back(axis.parts);
  };
  for (const EinsumSlot& operand : spec.operands) ForEachAxis(operand, collect);
  ForEachAxis(spec.result, collect);
  OCANNL_ASSIGN_OR_RETURN(std::vector<EinsumPiece> pieces,
                          Selections(GroupsOf(axes)));
  std::vector<EinsumPiece> kept;
  for (EinsumPiece& piece : pieces) {
    if (!HasValue(spec.result, piece)) continue;
    for (size_t k = 0; k < spec.operands.size(); ++k) {
      if (HasValue(spec.operands[k], piece)) {
        piece.operands.push_back(static_cast<int>(k));
      }
    }
    const size_t wanted = one_at_a_time ? 1 : spec.operands.size();
    if (piece.operands.size() > wanted) {
      return absl::InvalidArgumentError(absl::StrCat(
          "operands ", piece.operands[0] + 1, " and ", piece.operands[1] + 1,
          " are for the same cells; each needs a part of a concatenation of "
          "its own"));
    }
    if (piece.operands.size() == wanted) kept.push_back(std::move(piece));
  }
  if (!kept.empty()) return kept;
  return absl::InvalidArgumentError(
      "nothing reaches the result: a tensor needs two parts of one "
      "concatenation at once; use one part at a time");
}

}  // namespace ocannl
