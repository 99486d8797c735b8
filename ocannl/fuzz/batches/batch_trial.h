// SPDX-License-Identifier: Apache-2.0
//
// BatchTrial: computes a graph, with its gradients, for several batches, and
// compares the rows that these share.
//
//   OCANNL_ASSIGN_OR_RETURN(BatchTrial trial, BatchTrial::Make(one));
//   std::string difference = trial.Try(x86);   // empty: the same bits
#ifndef OCANNL_FUZZ_BATCHES_BATCH_TRIAL_H_
#define OCANNL_FUZZ_BATCHES_BATCH_TRIAL_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/fuzz/batches/batch_case.h"

namespace ocannl::fuzz {

class BatchTrial {
 public:
  // Lowers the graph for each batch and fills its operands. Compared are the
  // result and the gradients of its sum for each operand, parameter and the
  // first value of the graph. Error: the graph does not fit its sizes.
  static absl::StatusOr<BatchTrial> Make(const BatchCase& one);

  // Runs all batches and tells of the first cell that differs from that of the
  // first batch; empty: there is none.
  std::string Try(const Backend& backend) const;

 private:
  struct Run {
    Batch batch;
    LoopProgram program;
    std::vector<NdArray> before;  // of each buffer
  };
  using Arrays = std::map<std::string, NdArray>;

  static absl::StatusOr<Arrays> Compute(const Run& run, const Backend& backend);
  std::string Difference(const Batch& batch, const Arrays& arrays,
                         const Arrays& first) const;

  // Padding is neutral in sums of finite terms only: a product of 0 is not 0
  // where some value overflows.
  bool has_padding_ = false;
  // Of each array that is compared, the axis of rows.
  std::map<std::string, std::optional<size_t>> row_axes_;
  std::vector<Run> runs_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_BATCH_TRIAL_H_
