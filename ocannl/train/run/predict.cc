// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/predict.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/train/run/forward_all.h"

namespace ocannl::train {
namespace {

// What is wrong with `value`, of which `status` says that it is not of the
// dtype and dims of `input`.
absl::Status Misfit(const Context& context, const std::string& input,
                    const NdArray& value, const absl::Status& status) {
  const absl::StatusOr<Context::ArrayInfo> wanted = context.InfoOf(input);
  if (!wanted.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "the input `", input, "` is ", DescribeArray(wanted->dtype, wanted->dims),
      ", but the value is ", DescribeArray(value.dtype(), value.dims()),
      "; give one of those dims, or make another Predictor of a tensor of ",
      "Data() with these"));
}

// Gives `to` the parameters of the tensors, which `from` has.
absl::Status ShareParameters(Model& model, const std::vector<Tensor>& tensors,
                             const Context& from, const Context& to) {
  absl::flat_hash_set<TensorId> shared;
  for (Tensor t : tensors) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, t));
    for (Tensor param : AllParameters(model, t)) {
      if (!shared.insert(param.id).second) continue;
      OCANNL_RETURN_IF_ERROR(to.Share(param.node().name, from));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Predictor> Predictor::Make(Model& model, Tensor output,
                                          std::vector<Tensor> inputs,
                                          const Context& context) {
  return Make(model, std::vector<Tensor>{output}, inputs, context);
}

absl::StatusOr<Predictor> Predictor::Make(Model& model,
                                          const std::vector<Tensor>& outputs,
                                          const std::vector<Tensor>& inputs,
                                          const Context& context) {
  std::vector<std::string> output_names;
  for (Tensor output : outputs) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, output));
    if (absl::c_linear_search(output_names, output.node().name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "`", output.node().name, "` is an output twice; give it once"));
    }
    output_names.push_back(output.node().name);
  }
  OCANNL_ASSIGN_OR_RETURN(
      const Assignments code,
      ForwardAll(model, outputs, outputs.size() > 1 ? "predict" : ""));
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
        "`", name, "` is no input of `", absl::StrJoin(output_names, "`, `"),
        "`: give tensors of Input() or Data() that the output is computed "
        "from"));
  }
  OCANNL_ASSIGN_OR_RETURN(Routine forward, ToRoutine(context, code, {}));
  if (const std::optional<int32_t> step = model.graph.Step()) {
    absl::Status set = forward.Set(model.graph.statics()[*step].name, 0);
    if (!absl::IsNotFound(set)) OCANNL_RETURN_IF_ERROR(set);
  }
  return Predictor(std::move(forward), std::move(names),
                   std::move(output_names));
}

absl::Status Predictor::Run(absl::Span<const NdArray> values) {
  if (values.size() != inputs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", outputs_[0], "` has ", inputs_.size(), " inputs, not ",
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
  return forward_.Run();
}

absl::StatusOr<NdArray> Predictor::Predict(absl::Span<const NdArray> values) {
  OCANNL_RETURN_IF_ERROR(Run(values));
  return forward_.context().Read(outputs_[0]);
}

absl::StatusOr<std::vector<NdArray>> Predictor::PredictAll(
    absl::Span<const NdArray> values) {
  OCANNL_RETURN_IF_ERROR(Run(values));
  std::vector<NdArray> answers;
  for (const std::string& output : outputs_) {
    OCANNL_ASSIGN_OR_RETURN(answers.emplace_back(),
                            forward_.context().Read(output));
  }
  return answers;
}

absl::StatusOr<std::vector<NdArray>> PredictorTable::PredictAll(
    absl::Span<const NdArray> values) {
  Types types;
  for (const NdArray& value : values) {
    types.emplace_back(value.dtype(), value.dims());
  }
  auto net = absl::c_find_if(
      nets_, [&](const Net& each) { return each.types == types; });
  if (net == nets_.end()) {
    auto model = std::make_unique<Model>();
    OCANNL_ASSIGN_OR_RETURN(const NetCode code, make_(*model, values));
    // Of its own, as inputs of other dims have the same names.
    const Context context(&context_.stream());
    OCANNL_RETURN_IF_ERROR(
        ShareParameters(*model, code.outputs, context_, context));
    OCANNL_ASSIGN_OR_RETURN(
        Predictor predictor,
        Predictor::Make(*model, code.outputs, code.inputs, context));
    if (!nets_.empty() && nets_.size() >= most_) nets_.erase(nets_.begin());
    nets_.push_back({.types = std::move(types),
                     .model = std::move(model),
                     .predictor = std::move(predictor)});
  } else {
    std::rotate(net, net + 1, nets_.end());
  }
  return nets_.back().predictor.PredictAll(values);
}

}  // namespace ocannl::train
