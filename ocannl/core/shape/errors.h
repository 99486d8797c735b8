// SPDX-License-Identifier: Apache-2.0
//
// The messages of shape errors:
//
//   shape error in `w1 * x` (mlp.cc:42): the input row of w1 is 784, the output
//   row of x is 28,28
//     w1 : 784->128
//     x : 28,28
//     from `relu(y)` (mlp.cc:40): the result
//     hint: flatten x, or declare w1 : 28,28->128
//
// "from" are the operations that those rows are in as well, newest first.
#ifndef OCANNL_CORE_SHAPE_ERRORS_H_
#define OCANNL_CORE_SHAPE_ERRORS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/shape/error_text.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// The errors of one inference.
class ShapeErrors : private ErrorText {
 public:
  using ErrorText::ErrorText;

  // `rule` cannot hold.
  absl::Status Covers(const CoverRule& rule) const;
  // The row has another number of axes than the rule gives it.
  absl::Status Rank(const SlotRule& rule) const;
  // The occurs check fails: the row has, by its own variable, more axes than
  // itself.
  absl::Status OccursCheck(const SlotRule& rule) const;
  // Axis `axis` of the row, which the spec calls `name`, has another size than
  // an axis of the same name before.
  absl::Status Size(const SlotRule& rule, int axis,
                    const std::string& name) const;
  // Axis `axis` of the row is too short for a position or a static index.
  absl::Status Position(const SlotRule& rule, int axis, int64_t size) const;
  // Axis `axis` of the row, which is `form` in the spec, has a size that does
  // not come from its names, whose sizes are `sizes`, as EquationOf has them.
  absl::Status Relation(const SlotRule& rule, int axis, const EinsumAxis& form,
                        absl::Span<const int64_t> sizes) const;
  // The operand of a reshape has not as many cells as the result.
  absl::Status Reshape(TensorId node) const;
  // A name cannot have the size that SetDim or SetEqual says; `sizes_of` knows
  // those of what names stand for.
  absl::Status Rule(const SizeRule& rule,
                    absl::FunctionRef<Dims(const SpecName&)> sizes_of) const;
  // Nothing gives a size to a name that the result of a spec has and no
  // operand.
  absl::Status OwnName(const SpecName& own) const;
  // The row of a result is larger in its uses than its operands make it.
  absl::Status Enlarged(RowRef row, const Dims& used_as) const;
  // Nothing determines the row of a parameter.
  absl::Status Undetermined(RowRef row) const;

 private:
  absl::Status FirstValue(TensorId param, TensorId init) const;
  absl::Status OccursCheck(TensorId node, RowRef row,
                           const std::string& hint) const;
  RowRef ConflictingRow(const CoverRule& rule) const;
  std::string EllipsisHint(TensorId node) const;
  bool IsBefore(RowRef a, RowRef b, TensorId node) const;
  std::string CoversHint(const CoverRule& rule, RowRef conflicting) const;
  std::string OneCellHint(const SlotRule& rule, int axis) const;
};

// Of the errors that a stage of an inference finds, that of the first
// operation, worded once everything is known.
class FirstError {
 public:
  using Wording = std::function<absl::Status(const ShapeErrors&)>;

  void Report(TensorId node, Wording wording) {
    if (wording_ && (is_settled_ || node_ <= node)) return;
    wording_ = std::move(wording);
    node_ = node;
  }
  // The same; the method `write` words the error from `args`.
  template <class... Params, class... Args>
  void Report(TensorId node,
              absl::Status (ShapeErrors::*write)(Params...) const,
              Args... args) {
    Report(node, [write, args...](const ShapeErrors& errors) {
      return (errors.*write)(args...);
    });
  }
  // The stage ends: an error that there is stays.
  void Settle() { is_settled_ = wording_ != nullptr; }

  // Null if there is none.
  const Wording& wording() const { return wording_; }

 private:
  Wording wording_;
  TensorId node_;
  bool is_settled_ = false;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_ERRORS_H_
