// SPDX-License-Identifier: Apache-2.0
//
// OpCall: one node of an ONNX graph with the values of its inputs. A Rule
// computes the node's outputs, as expressions of the engine.
#ifndef OCANNL_ONNX_RULES_OP_CALL_H_
#define OCANNL_ONNX_RULES_OP_CALL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/rules/value.h"

namespace ocannl::onnx {

struct OpCall {
  const Node& node;
  std::vector<std::optional<Value>> inputs;  // none: left out
  Graph& to;  // the graph that the outputs are in
  int64_t opset;

  bool Has(size_t k) const { return k < inputs.size() && inputs[k]; }
  // Input `k`. Misfit: it is left out.
  const Value& operator[](size_t k) const;
  Graph& graph() const { return to; }

  bool HasAttribute(const std::string& name) const {
    return node.attributes.contains(name);
  }
  int64_t Whole(const std::string& name, int64_t otherwise) const;
  double Number(const std::string& name, double otherwise) const;
  std::string Text(const std::string& name, const std::string& otherwise) const;
  Numbers Wholes(const std::string& name, const Numbers& otherwise) const;
  // The array of the attribute. Misfit: there is none.
  const NdArray& Array(const std::string& name) const;
  // The attribute `axis` as an axis of `rank`, counted from the end if it is
  // negative.
  int AxisOf(int64_t otherwise, int rank) const;

  // The elements of input `k`, on which shapes depend. Unimplemented: they are
  // not known at import, because they are computed from an input of the model.
  absl::StatusOr<NdArray> Elements(size_t k) const;
  absl::StatusOr<Numbers> WholeElements(size_t k) const;
};

// The outputs, in order.
struct Outputs : std::vector<Value> {
  using std::vector<Value>::vector;
  Outputs(Value value) : std::vector<Value>{std::move(value)} {}  // NOLINT
};

// Gets only nodes that CheckKnown (operators.h) lets pass. Unimplemented: the
// engine cannot do it. Misfit: the model is damaged.
using Rule = std::function<absl::StatusOr<Outputs>(const OpCall&)>;

struct OpRule {
  std::string op;
  Rule rule;
};

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_OP_CALL_H_
