// SPDX-License-Identifier: Apache-2.0
//
// CodeScope: the symbol table of code (code.h). What values name are leaves of
// a graph of its own, each of which stands for an array of the model.
//
//   CodeScope scope(model, text, names);
//   OCANNL_RETURN_IF_ERROR(scope.Find("w.grad", 12, code).status());
//   ParseTensor(scope.graph(), "w.grad *. 2", scope.visible());
#ifndef OCANNL_TRAIN_GRAPH_CODE_SCOPE_H_
#define OCANNL_TRAIN_GRAPH_CODE_SCOPE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/notation/statements/statements.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

class CodeScope {
 public:
  // `model` and `text`, the code, must outlive it.
  CodeScope(Model& model, absl::string_view text, Names names);

  Graph& graph() { return graph_; }
  Shapes& shapes() { return shapes_; }
  Names& visible() { return visible_; }

  // What the leaf of that name in graph() stands for; null if it is none.
  const Array* FindArray(absl::string_view leaf) const;
  // It must be one.
  const Array& array(TensorId leaf) const {
    return arrays_.at(graph_[leaf].name);
  }

  // The tensor of the model that `name` is, if it is one.
  std::optional<Tensor> FindTensor(absl::string_view name) const;

  // The leaf of the array `name`, if there is one. It is a declared array, the
  // value or gradient of a tensor, a state `x.NAME`, or one of these in the
  // merge buffer. A value that nothing computes yet is computed by what is
  // appended to `code`. Errors, at `offset` of the text: no gradient; shapes do
  // not fit.
  absl::StatusOr<std::optional<Tensor>> Find(absl::string_view name,
                                             size_t offset, Assignments& code);

  // Makes `array` visible as `name`.
  Tensor Add(absl::string_view name, const Shape& shape, Array array);

  // Whether an array of that name is known to the scope, or a tensor's.
  bool IsTaken(absl::string_view array) const;

  // "_w1" where what is declared is of the tensor w1; else empty.
  const std::string& suffix() const { return suffix_; }

  // Calls `write` where what is declared is of `tensor`, a name of the text.
  absl::Status Of(absl::string_view tensor,
                  absl::FunctionRef<absl::Status()> write);

  // Calls `write` for each tensor of the loop's list; what it makes visible is
  // visible in that call only.
  absl::Status ForEach(const ForStatement& loop,
                       absl::FunctionRef<absl::Status(Tensor)> write);

  // Whether the text may name the tensor other than by the name of a loop.
  bool IsNamed(Tensor tensor) const;

  // Takes the name of an array, which needs not be visible.
  void Take(absl::string_view array) { taken_.emplace(array); }

  // Calls `use`, and forgets the nodes that it adds to the graph. Those that it
  // adds later draw other random numbers than it did, if it is `final`.
  absl::Status WithNodes(bool final, absl::FunctionRef<absl::Status()> use);

  absl::Status ErrorAt(size_t offset, absl::string_view message) const;
  absl::Status Unknown(absl::string_view name, size_t offset) const;

 private:
  struct ModelArray {
    Shape shape;
    Array array;
    std::optional<Tensor> computed;  // by the model's code
  };
  absl::StatusOr<std::optional<ModelArray>> FindInModel(absl::string_view name,
                                                        size_t offset);
  std::optional<ModelArray> FindState(absl::string_view name) const;
  absl::StatusOr<std::optional<Tensor>> FindMerge(absl::string_view name,
                                                  absl::string_view of,
                                                  size_t offset);
  absl::Status Compute(Tensor tensor, Assignments& code);

  Model& model_;
  absl::string_view text_;
  Names names_;
  Graph graph_;
  Shapes shapes_;
  Names visible_;
  absl::flat_hash_map<std::string, Array> arrays_;  // by their leaf's name
  absl::flat_hash_set<std::string> taken_;          // their own names
  std::string suffix_;
  absl::flat_hash_set<TensorId> named_;  // outside of loops
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_CODE_SCOPE_H_
