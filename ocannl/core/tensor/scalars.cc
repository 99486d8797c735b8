// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/scalars.h"

#include <optional>
#include <string>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/tensor/axis_spec.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

constexpr absl::string_view kAll = "...|...->... => ";

bool IsScalar(const TensorNode& node) {
  if (IsNumberLike(node.source)) return true;
  const EinsumSpec* spec = EinsumOf(node.source);
  if (spec != nullptr) return spec->result == EinsumSlot();
  return absl::c_all_of(node.spec->rows, [](const std::optional<Dims>& row) {
    return row && row->empty();
  });
}

}  // namespace

bool HasScalar(absl::Span<const Arg> args) {
  return absl::c_any_of(args, [](const Arg& arg) {
    const auto* tensor = std::get_if<Tensor>(&arg.value);
    return tensor == nullptr || IsScalar(tensor->node());
  });
}

Tensor operator*(const Arg& a, const Arg& b) {
  return HasScalar({a, b}) ? Mul(a, b) : Compose(a, b);
}

Tensor Sum(Tensor x, SourceLocation where) {
  return Einsum1(kAll, Arg(x, where));
}

Tensor Mean(Tensor x, SourceLocation where) {
  const TensorNode& node = x.node();
  if (std::holds_alternative<ErrorSource>(node.source)) return x;
  const std::string text = CallText("Mean", "", {&node});
  if (!IsFloat(ComputeDType(node.dtype))) {
    return ErrorTensor(
        *x.graph, text,
        absl::StrCat("a mean is of floats, not of ", Name(node.dtype),
                     "; convert them: ", ConversionText(node, DType::kF32)),
        where);
  }
  return Composed(*x.graph, text, where, [&]() -> absl::StatusOr<Tensor> {
    const DType dtype = DecidedDType(x);
    const Tensor wide = InDType(x, ComputeDType(dtype), where);
    const Tensor cells = EmbedDim(
        wide, {RowKind::kBatch, RowKind::kOutput, RowKind::kInput}, where);
    const Tensor sum = Sum(wide, where);
    return InDType(Div(Arg(sum, where), Arg(cells, where)), dtype, where);
  });
}

}  // namespace ocannl
