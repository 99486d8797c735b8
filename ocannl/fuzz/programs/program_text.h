// SPDX-License-Identifier: Apache-2.0
//
// ProgramText: a random program as text in the making: fresh loops, arrays of
// random layout over them, and random values.
#ifndef OCANNL_FUZZ_PROGRAMS_PROGRAM_TEXT_H_
#define OCANNL_FUZZ_PROGRAMS_PROGRAM_TEXT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {

// One loop: i3, from 0 to 6.
struct Axis {
  std::string iterator;
  int64_t extent;
};

// offset + sum of factor * iterator.
struct Index {
  Index(const Axis& axis) : terms{{1, axis.iterator}} {}  // NOLINT
  Index(std::vector<std::pair<int64_t, std::string>> t, int64_t o)
      : terms(std::move(t)), offset(o) {}

  std::vector<std::pair<int64_t, std::string>> terms;
  int64_t offset = 0;
};
using Indices = std::vector<Index>;
using Axes = std::vector<Axis>;
using Extents = std::vector<int64_t>;

// A buffer that stands for a tensor of `extents`, whose axes it holds in any
// order, with steps and offsets, between axes of its own.
struct Array {
  struct Slot {
    int axis;  // of the tensor; kStatic: static index s0
    int64_t factor = 1;
    int64_t offset = 0;
  };
  static constexpr int kStatic = -1;

  std::string name;
  DType dtype;
  Extents extents;
  std::vector<Slot> slots;
};

class ProgramText {
 public:
  ProgramText(Random* random, const Policies* policies);

  Random& random() { return *random_; }
  bool Has(Policy policy) const { return policies_->Has(policy); }
  int64_t DrawExtent() { return fuzz::DrawExtent(*random_, *policies_); }

  // The dtype that values are computed in, and a literal of it.
  DType dtype() const { return dtype_; }
  std::string Literal(absl::string_view number) const;

  Axis NewAxis(int64_t extent);
  Axes NewAxes(absl::Span<const int64_t> extents);
  std::string NewLocal(absl::string_view value, std::string& declaration);

  // A buffer for a tensor. `in` and `inout` ones may have gaps, and `in` ones
  // another dtype; the others are for writing everywhere.
  Array Declare(Role role, Extents extents);
  std::string Cell(const Array& array, const Indices& indices) const;
  // The cell as a number of dtype().
  std::string Read(const Array& array, const Indices& indices) const;
  std::string Assign(const Array& array, const Indices& indices,
                     absl::string_view value) const;

  // The axes in the order of loops: as they are, or any.
  Axes Ordered(Axes axes);

  // `body` in loops over the axes, of random kinds. Only AddNest makes `par`.
  std::string Nest(const Axes& axes, std::string body);
  void AddNest(const Axes& axes, std::string body);
  void Add(absl::string_view statement);

  // A value of up to `depth` operations, whose leaves `leaf` gives.
  std::string Value(int depth, absl::FunctionRef<std::string()> leaf);

  LoopProgram Parsed() const;

 private:
  std::string InLoops(const Axes& axes, std::string body, bool outermost);

  Random* random_;
  const Policies* policies_;
  DType dtype_;
  int num_iterators_ = 0;
  int num_buffers_ = 0;
  int num_locals_ = 0;
  int64_t static_range_ = 1;
  std::string declarations_;
  std::string body_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_PROGRAMS_PROGRAM_TEXT_H_
