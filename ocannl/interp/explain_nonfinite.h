// SPDX-License-Identifier: Apache-2.0
//
// ExplainNonfinite: ends with an error a run that leaves a NaN or an infinity
// in a result, and says where that comes from.
//
//   `p` makes -inf of finite numbers in
//     y[i0] := log(x[i0]) * 2;
//   where
//     i0 = 3
//     x[3] = 0
//     log(x[i0]) = -inf
//     y[3] = -inf
//
// The origin is an operation with finite operands and another result, from
// which the result was computed: what a select throws away, or a later store
// replaces, is no error. Neither is a number that the program has as a
// constant, such as the start of a maximum, or as an input, and what depends on
// it.
//
// It follows each cell that is not finite to its origin, as a taint analysis
// does (Newsome and Song, "Dynamic taint analysis", 2005).
#ifndef OCANNL_INTERP_EXPLAIN_NONFINITE_H_
#define OCANNL_INTERP_EXPLAIN_NONFINITE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/interp/observer.h"

namespace ocannl::interp {

class ExplainNonfinite : public RunObserver {
 public:
  absl::Status Starts(const RunState& run) override;
  absl::Status Meets(const RunState& run, const Stmt& stmt) override;
  absl::Status Stores(const RunState& run, const Stmt& stmt,
                      const Constant& result) override;
  absl::Status Ends() override;

 private:
  // A cell of a buffer, by its number in memory order, or a local.
  using Cell = std::pair<int32_t, int64_t>;
  struct Taint {
    size_t origin;  // in origins_
    bool is_result;
  };
  // What made `value`, which is not finite, so: the number of the origin.
  std::optional<size_t> FindOrigin(const RunState& run, const Stmt& stmt,
                                   ExprId value, const Constant& result);
  size_t AddOrigin(const RunState& run, const Stmt& stmt, ExprId origin,
                   const Constant& result);
  static Cell CellOf(const RunState& run, const LeafValue& leaf);

  std::vector<std::string>
      origins_;  // what errors say, in the order of the run
  absl::flat_hash_map<Cell, Taint> taints_;
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_EXPLAIN_NONFINITE_H_
