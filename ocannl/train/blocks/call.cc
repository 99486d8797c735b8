// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/call.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl::train {

CallScope::CallScope(absl::string_view function, absl::string_view spec,
                     absl::Span<const Tensor> args, SourceLocation where)
    : graph_(args[0].graph), first_(graph_->size()) {
  std::vector<const TensorNode*> nodes;
  std::vector<TensorId> ids;
  for (const Tensor& arg : args) {
    nodes.push_back(&arg.node());
    ids.push_back(arg.id);
  }
  text_ = CallText(function, spec, nodes);
  auto call = std::make_shared<CallNote>(
      CallNote{.text = text_, .args = std::move(ids), .where = where});
  outer_ = graph_->SetCall(std::move(call));
  if (outer_ != nullptr) graph_->SetCall(outer_);
}

CallScope::~CallScope() { graph_->SetCall(outer_); }

Tensor CallScope::OfFloats(Tensor x, SourceLocation where) const {
  const TensorNode& node = x.node();
  if (IsFloat(ComputeDType(node.dtype))) return x;
  return ErrorTensor(*graph_, text_,
                     absl::StrCat("it takes floats, and ", OperandText(node),
                                  " is ", Name(node.dtype), "; convert it: ",
                                  ConversionText(node, DType::kF32)),
                     where);
}

Tensor CallScope::Of(Tensor result) const {
  const TensorNode& node = result.node();
  const bool is_error = std::holds_alternative<ErrorSource>(node.source);
  if (result.id.index >= first_ && !node.named && !is_error) {
    graph_->SetText(result.id, text_);
  }
  return result;
}

}  // namespace ocannl::train
