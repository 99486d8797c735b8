// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/known.h"

#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ocannl::onnx {
namespace {

constexpr size_t kMany = 1000;
constexpr char kConv[] =
    "auto_pad=NOTSET|VALID|SAME_UPPER|SAME_LOWER dilations group kernel_shape "
    "pads strides";
constexpr char kPool[] =
    "auto_pad=NOTSET|VALID|SAME_UPPER|SAME_LOWER ceil_mode dilations "
    "kernel_shape pads strides";
constexpr char kReduce[] = "axes keepdims noop_with_empty_axes";
constexpr char kLoss[] = "ignore_index reduction=none|sum|mean";
constexpr char kWindow[] = "output_datatype=1 periodic";
constexpr char kRecurrent[] = "direction=forward hidden_size layout";

struct Known {
  // Operations of the same inputs and attributes.
  absl::string_view ops;
  size_t inputs;  // at most
  // name, or name=value|value|...
  absl::string_view attributes;
  absl::string_view more = "";  // attributes
  int64_t since = 1;
};

constexpr Known kTable[] = {
    {"Add Sub Mul Div Pow CastLike Less LessOrEqual Equal Greater "
     "GreaterOrEqual And Or Xor MatMul Expand Tile",
     2, ""},
    {"Neg Abs Floor Ceil Round Sqrt Reciprocal Sign Not IsNaN Identity Size "
     "GlobalMaxPool GlobalAveragePool DynamicQuantizeLinear",
     1, ""},
    {"Exp Log Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Tanh "
     "Erf Sigmoid Relu Softplus Softsign HardSwish",
     1, ""},
    {"Sum Max Min Mean", kMany, ""},
    {"Where Range", 3, ""},
    {"PRelu", 2, "", "", 7},
    {"MatMulInteger", 4, ""},
    {"QLinearMatMul", 8, ""},
    {"Mod", 2, "fmod"},
    {"Clip", 3, "max min"},
    {"BitShift", 2, "direction=LEFT|RIGHT"},
    {"Cast", 1, "to"},
    {"IsInf", 1, "detect_negative detect_positive"},
    {"Elu Celu LeakyRelu ThresholdedRelu", 1, "alpha"},
    {"Selu", 1, "alpha gamma"},
    {"HardSigmoid", 1, "alpha beta"},
    {"Shrink", 1, "bias lambd"},
    {"ReduceSum ReduceMax ReduceMin ReduceProd ReduceMean ReduceL1 ReduceL2 "
     "ReduceSumSquare ReduceLogSum ReduceLogSumExp",
     2, kReduce},
    {"ArgMax ArgMin", 1, "axis keepdims select_last_index"},
    {"CumSum", 2, "exclusive reverse"},
    {"TopK", 2, "axis largest sorted"},
    {"Gemm", 3, "alpha beta transA transB"},
    {"Einsum", kMany, "equation"},
    {"Conv", 3, kConv},
    {"ConvInteger", 4, kConv},
    {"QLinearConv", 8, kConv},
    {"ConvTranspose", 3, kConv, "output_padding output_shape"},
    {"MaxPool", 1, kPool, "storage_order"},
    {"AveragePool", 1, kPool, "count_include_pad"},
    {"MaxUnpool", 3, "kernel_shape strides"},
    {"Softmax LogSoftmax Hardmax Flatten", 1, "axis"},
    {"BatchNormalization", 5, "epsilon momentum training_mode", "", 7},
    {"InstanceNormalization", 3, "epsilon"},
    {"LayerNormalization", 3, "axis epsilon stash_type=1"},
    {"MeanVarianceNormalization", 1, "axes"},
    {"LRN", 1, "alpha beta bias size"},
    {"Dropout", 3, "ratio seed"},
    {"Reshape", 2, "allowzero"},
    {"Squeeze Unsqueeze", 2, "axes"},
    {"Transpose", 1, "perm"},
    {"Concat", kMany, "axis", "", 4},
    {"Split", 2, "axis split"},
    {"Slice", 5, "axes ends starts"},
    {"Pad", 4, "mode=constant|edge|reflect pads"},
    {"DepthToSpace", 1, "blocksize mode=DCR|CRD"},
    {"SpaceToDepth", 1, "blocksize"},
    {"Constant", 0, "value value_float value_int value_ints"},
    {"ConstantOfShape", 1, "value"},
    {"Shape", 1, "end start"},
    {"EyeLike", 1, "dtype k"},
    {"Trilu", 2, "upper"},
    {"HannWindow HammingWindow BlackmanWindow", 1, kWindow},
    {"Gather GatherElements Compress", 2, "axis"},
    {"GatherND", 2, "batch_dims"},
    {"Scatter OneHot QuantizeLinear DequantizeLinear", 3, "axis"},
    {"ScatterElements", 3, "axis reduction=none|add"},
    {"ScatterND", 3, "reduction=none|add|mul"},
    {"ReverseSequence", 2, "batch_axis time_axis"},
    {"RNN", 6, kRecurrent},
    {"GRU", 6, kRecurrent, "linear_before_reset"},
    {"LSTM", 8, kRecurrent},
    {"Resize", 4,
     "coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value mode=nearest|linear|cubic "
     "nearest_mode=floor|ceil|round_prefer_floor|round_prefer_ceil",
     "", 11},
    {"Upsample", 2, "mode=nearest|linear", "", 9},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", 3, kLoss},
    {"Adagrad", kMany, "decay_factor epsilon norm_coefficient"},
    {"Adam", kMany,
     "alpha beta epsilon norm_coefficient norm_coefficient_post"},
    {"Momentum", kMany, "alpha beta mode=standard|nesterov norm_coefficient"},
};

const Known* Find(const std::string& op) {
  static const auto& by_op = *[] {
    auto* all = new std::map<std::string, const Known*>;
    for (const Known& known : kTable) {
      for (absl::string_view name : absl::StrSplit(known.ops, ' ')) {
        all->emplace(name, &known);
      }
    }
    return all;
  }();
  auto found = by_op.find(op);
  return found == by_op.end() ? nullptr : found->second;
}

bool Knows(const Known& known, const std::string& name,
           const Attribute& attribute) {
  const std::string value =
      attribute.text.empty() ? absl::StrCat(attribute.whole) : attribute.text;
  const std::string declarations =
      absl::StrCat(known.attributes, " ", known.more);
  for (absl::string_view declared : absl::StrSplit(declarations, ' ')) {
    const std::vector<std::string> parts = absl::StrSplit(declared, '=');
    if (parts[0] != name) continue;
    const std::vector<std::string> values =
        absl::StrSplit(parts.size() > 1 ? parts[1] : value, '|');
    return absl::c_linear_search(values, value);
  }
  return false;
}

}  // namespace

absl::Status CheckKnown(const Node& node, int64_t opset) {
  const Known* known = Find(node.op);
  if (known == nullptr) {
    return absl::UnimplementedError(absl::StrCat("operation ", node.op));
  }
  if (opset < known->since) {
    return absl::UnimplementedError(
        absl::StrCat(node.op, " of version ", opset));
  }
  for (size_t k = known->inputs; k < node.inputs.size(); ++k) {
    if (node.inputs[k].empty()) continue;
    return absl::UnimplementedError(absl::StrCat("input ", k, " of ", node.op));
  }
  for (const auto& [name, attribute] : node.attributes) {
    if (Knows(*known, name, attribute)) continue;
    return absl::UnimplementedError(
        absl::StrCat("attribute ", name, " of ", node.op,
                     attribute.text.empty() ? "" : ": ", attribute.text));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::onnx
