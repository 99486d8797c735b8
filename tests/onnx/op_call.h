// SPDX-License-Identifier: Apache-2.0
//
// OpCall: one node of an ONNX graph with the values that it is given, and Rule:
// what computes its results, as an expression of ours.
#ifndef TESTS_ONNX_OP_CALL_H_
#define TESTS_ONNX_OP_CALL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/train/graph/model.h"
#include "tests/onnx/model.h"
#include "tests/onnx/value.h"

namespace ocannl::onnx {

struct OpCall {
  const Node& node;
  std::vector<std::optional<Value>> inputs;  // none: left out
  train::Model& model;
  int64_t opset;

  bool Has(size_t k) const { return k < inputs.size() && inputs[k]; }
  // Input `k`; our fault (CHECK) if it is left out.
  const Value& operator[](size_t k) const;
  Graph& graph() const { return model.graph; }

  bool HasAttribute(const std::string& name) const {
    return node.attributes.contains(name);
  }
  int64_t Whole(const std::string& name, int64_t otherwise) const;
  double Number(const std::string& name, double otherwise) const;
  std::string Text(const std::string& name, const std::string& otherwise) const;
  std::vector<int64_t> Wholes(const std::string& name,
                              const std::vector<int64_t>& otherwise) const;

  // The elements of input `k`, which shapes depend on: the engine computes
  // them now.
  absl::StatusOr<NdArray> Elements(size_t k) const;
  absl::StatusOr<std::vector<int64_t>> WholeElements(size_t k) const;
};

// The results, in order.
struct Outputs : std::vector<Value> {
  using std::vector<Value>::vector;
  Outputs(Value value) : std::vector<Value>{std::move(value)} {}  // NOLINT
};

// Is given what known.h says only. Error, Unimplemented: what nothing of ours
// does.
using Rule = std::function<absl::StatusOr<Outputs>(const OpCall&)>;

struct OpRule {
  std::string op;
  Rule rule;
};

// What the tier computes for the value. The model stays as it is. Errors: those
// of inference, compilation and running.
absl::StatusOr<NdArray> Evaluate(train::Model model, const Value& value,
                                 const Backend& tier);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_OP_CALL_H_
