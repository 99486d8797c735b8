// SPDX-License-Identifier: Apache-2.0
//
// ValueWriter: the code of what statements assign, for train/graph/code.h.
//
//   y =: x ~logic:"i => 2*i"     sets every second cell of y, and no other
//
//   y[2*i] =: x[i]               where each cell is set once;
//   y.1 =: 0; y.1[..] =+ x[..]   where several terms reach one: the value,
//   y.2 =: 0; y.2[..] =@^ 1      a mask of the cells that it reaches,
//   y =: select(y.2 == 1, y.1, y)
#ifndef OCANNL_TRAIN_GRAPH_VALUE_WRITER_H_
#define OCANNL_TRAIN_GRAPH_VALUE_WRITER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/code_repeat.h"
#include "ocannl/train/graph/code_scope.h"

namespace ocannl::train {

// `status` with the place of the statement in the text.
absl::Status Located(const CodeScope& scope, const AssignStatement& statement,
                     const absl::Status& status);

// Writes the code that computes the values of assignments and stores them.
class ValueWriter {
 public:
  // For statements of `text`, whose names `scope` knows. Appends to `written`.
  ValueWriter(absl::string_view text, SourceLocation where, CodeScope& scope,
              WrittenCode& written)
      : text_(text),
        where_(where),
        scope_(scope),
        code_(written.code.update),
        parts_(written.parts) {}

  // A node that computes the statement's value; for the array of the leaf
  // `target`, if it is known.
  absl::StatusOr<TensorId> Value(const AssignStatement& statement,
                                 const Names& names,
                                 std::optional<TensorId> target);

  // Stores the value in the array of `target`. What a spec of `=:` does not
  // reach of that stays; of an array that the statement declares it is 0.
  // Errors: the value is wrong, or larger than the array.
  absl::Status Store(const AssignStatement& statement, TensorId target);

 private:
  void StoreLeaf(const AssignStatement& statement, TensorId target, Expr rhs,
                 std::vector<assign_ir::Source> sources);
  void StorePart(const AssignStatement& statement, TensorId target,
                 const Array& part, const std::optional<Array>& mask,
                 const Indices& indices);
  Array PartOf(const Array& array);
  absl::Status AppendValue(const AssignStatement& statement,
                           const std::string& name, Assignments code,
                           const Array& target);

  absl::string_view text_;
  SourceLocation where_;  // that has the text
  CodeScope& scope_;
  Assignments& code_;
  int& parts_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_VALUE_WRITER_H_
