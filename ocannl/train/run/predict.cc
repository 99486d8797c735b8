// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/predict.h"

#include <optional>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::train {
namespace {

// What is wrong with `value`, of which `status` says that it is not of the
// dtype and dims of `input`.
absl::Status Misfit(const Context& context, const std::string& input,
                    const NdArray& value, const absl::Status& status) {
  const absl::StatusOr<Context::ArrayInfo> wanted = context.InfoOf(input);
  if (!wanted.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "the input `", input, "` is ",
      DescribeArray(wanted->dtype, wanted->dims), ", but the value is ",
      DescribeArray(value.dtype(), value.dims()),
      "; give one of those dims, or make another Predictor of a tensor of ",
      "Data() with these"));
}

}  // namespace

absl::StatusOr<Predictor> Predictor::Make(Model& model, Tensor output,
                                          std::vector<Tensor> inputs,
                                          const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const Assignments code, Forward(model, output));
  std::vector<std::string> names;
  for (Tensor input : inputs) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, input));
    const std::string& name = names.emplace_back(input.node().name);
    const auto* leaf = std::get_if<ParamSource>(&input.node().source);
    const bool is_input = leaf != nullptr && leaf->is_input;
    if (absl::c_any_of(code.arrays, [&](const Array& array) {
          return array.name == name && (is_input || array.data != nullptr);
        })) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "`", name, "` is no input of `", output.node().name,
        "`: give tensors of Input() or Data() that the output is computed "
        "from"));
  }
  OCANNL_ASSIGN_OR_RETURN(Routine forward, ToRoutine(context, code, {}));
  if (const std::optional<int32_t> step = model.graph.Step()) {
    absl::Status set = forward.Set(model.graph.statics()[*step].name, 0);
    if (!absl::IsNotFound(set)) OCANNL_RETURN_IF_ERROR(set);
  }
  return Predictor(std::move(forward), std::move(names), output.node().name);
}

absl::StatusOr<NdArray> Predictor::Predict(absl::Span<const NdArray> values) {
  if (values.size() != inputs_.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", output_, "` has ", inputs_.size(), " inputs, not ",
                     values.size(), "; give a value for each"));
  }
  for (size_t k = 0; k < values.size(); ++k) {
    const Context& context = forward_.context();
    const absl::Status written = context.Write(inputs_[k], values[k]);
    if (absl::IsInvalidArgument(written)) {
      return Misfit(context, inputs_[k], values[k], written);
    }
    OCANNL_RETURN_IF_ERROR(written);
  }
  OCANNL_RETURN_IF_ERROR(forward_.Run());
  return forward_.context().Read(output_);
}

}  // namespace ocannl::train
