// SPDX-License-Identifier: Apache-2.0
//
// Programs of one reduction, and numbers that show the order of its terms.
#ifndef TESTS_SCHEDULE_ONE_REDUCTION_H_
#define TESTS_SCHEDULE_ONE_REDUCTION_H_

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/verify.h"

namespace ocannl {

enum class Kind { kSum, kDot, kProduct, kMax, kMin };

inline Op OpOf(Kind kind) {
  return kind == Kind::kProduct ? Op::kMul
         : kind == Kind::kMax   ? Op::kMax
         : kind == Kind::kMin   ? Op::kMin
                                : Op::kAdd;
}

inline const MemoryRequest kKept = {MemoryMode::kOnDevice, "the test"};

// y[o] (=:+ if `reset`) the reduction of x[o, ...], times w[o, ...] for a dot.
inline Assignments Code(const Dims& output, const Dims& reduced, Kind kind,
                        DType dtype, bool reset) {
  Assignments code;
  code.name = "reduce";
  Dims dims = output;
  dims.insert(dims.end(), reduced.begin(), reduced.end());
  Indices all;
  LoopExtents extents;
  for (int64_t dim : dims) all.push_back(Iterator(extents.Add(dim)));
  Indices kept(all.begin(), all.begin() + output.size());
  code.AddArray({"x", dtype, dims, kKept});
  code.AddArray({"y", dtype, output, kKept});
  Expr term = MakeLeaf(code.exprs, dtype, 0);
  std::vector<Source> sources = {ReadArray{0, all}};
  if (kind == Kind::kDot) {
    code.AddArray({"w", dtype, dims, kKept});
    term = term * MakeLeaf(code.exprs, dtype, 1);
    sources.push_back(ReadArray{2, all});
  }
  code.list.push_back(Assign{.lhs = 1,
                             .accum = OpOf(kind),
                             .reset = reset,
                             .lhs_indices = kept,
                             .rhs = term.id(),
                             .sources = sources,
                             .extents = extents});
  return code;
}

inline LoopProgram Lowered(const Assignments& code) {
  absl::StatusOr<LoopProgram> program = Lower(code);
  CHECK_OK(program);
  CHECK_OK(Verify(*program));
  return *std::move(program);
}

// Numbers of all sizes and both signs, so that every order rounds otherwise;
// for products near 1.
template <class T>
NdArray RandomArray(const Dims& dims, Kind kind, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> values(NumElements(dims));
  for (T& value : values) {
    double size = kind == Kind::kProduct ? 0.5 + unit(random)
                                         : std::exp2(16 * unit(random) - 8);
    value = static_cast<T>(random() % 2 == 0 ? size : -size);
  }
  return NdArray::Of(dims, values);
}

}  // namespace ocannl

#endif  // TESTS_SCHEDULE_ONE_REDUCTION_H_
