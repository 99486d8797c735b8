// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/loss.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kClasses = "...|v => ...|0";
constexpr absl::string_view kAll = "...|...->... => |0";

}  // namespace

Tensor CrossEntropy(Tensor logits, Tensor targets,
                    const CrossEntropyOptions& options, SourceLocation where) {
  CallScope call("CrossEntropy", "", {logits, targets}, where);
  auto error = [&](Tensor of, const auto&... parts) {
    return ErrorTensor(*logits.graph,
                       absl::InvalidArgumentError(absl::StrCat(parts...)),
                       of.node().where);
  };
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return error(logits, "the label_smoothing of ", Describe(logits.node()),
                 " is ", NumberText(smoothing), "; it must be in [0, 1]");
  }
  if (IsInteger(targets.node().dtype)) {
    return error(targets, "the targets of CrossEntropy are ",
                 Describe(targets.node()),
                 ", whole numbers, but it takes the probability of each class; "
                 "give OneHot(targets, classes, DType::kF32)");
  }
  if (targets.node().has_gradient && !logits.node().has_gradient) {
    return error(targets, "the targets of CrossEntropy are ",
                 Describe(targets.node()),
                 ", which depend on parameters, unlike the logits; the logits "
                 "come first");
  }
  const DType dtype = DecidedDType(logits);
  const Tensor wide = Widened(logits);
  const Tensor shares = Widened(targets, dtype);
  const Tensor one = Number(*logits.graph, 1);
  const Tensor weights =
      Select(NotEqual(EinMax1(kClasses, shares), 0),
             InDType(options.weights.value_or(one), wide.node().dtype), 0);
  // Of a row that does not count, infinities and NaNs reach no gradient.
  Tensor logs = LogSoftmax(kClasses, Select(NotEqual(weights, 0), wide, 0));
  // 0 times the logarithm of 0 is 0.
  Tensor each = Einsum("...|v; ...|v => ...|0", shares,
                       Select(Equal(shares, 0), 0, logs));
  if (smoothing > 0) {
    each = Mul(1 - smoothing, each) + Mul(smoothing, Mean(kClasses, logs));
  }
  Tensor total = Einsum1(kAll, weights);
  Tensor sum = Einsum1(kAll, Mul(weights, each));
  return call.Of(InDType(-(sum / Select(Equal(total, 0), 1, total)), dtype));
}

Tensor MeanSquaredError(Tensor values, Tensor targets, SourceLocation where) {
  CallScope call("MeanSquaredError", "", {values, targets}, where);
  const DType dtype = DecidedDType(values);
  Tensor wide = Widened(values);
  Tensor mean = Mean(kAll, Square(wide - Widened(targets, dtype)));
  return call.Of(InDType(mean, dtype));
}

}  // namespace ocannl::train
