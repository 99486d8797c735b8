// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/loss.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/softmax.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kClasses = "...|v => ...|0";
constexpr absl::string_view kAll = "...|...->... => |0";

}  // namespace

Tensor CrossEntropy(Tensor logits, Tensor targets,
                    const CrossEntropyOptions& options, SourceLocation where) {
  CallScope call("CrossEntropy", "", {logits, targets}, where);
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1)) {
    return ErrorTensor(
        *logits.graph,
        absl::InvalidArgumentError(absl::StrCat(
            "the label_smoothing of ", Describe(logits.node()), " is ",
            NumberText(smoothing), "; it must be in [0, 1]")),
        logits.node().where);
  }
  Tensor logs = LogSoftmax(kClasses, logits);
  Tensor each = Einsum("...|v; ...|v => ...|0", targets, logs);
  if (smoothing > 0) {
    each = Mul(1 - smoothing, each) + Mul(smoothing, Mean(kClasses, logs));
  }
  if (!options.weights) return call.Of(-Mean(kAll, each));
  Tensor weights = InDType(*options.weights, logits.node().dtype);
  Tensor total = Einsum1(kAll, weights);
  Tensor sum = Einsum1(kAll, Mul(weights, each));
  return call.Of(-(sum / Select(Equal(total, 0), 1, total)));
}

Tensor MeanSquaredError(Tensor values, Tensor targets, SourceLocation where) {
  CallScope call("MeanSquaredError", "", {values, targets}, where);
  return call.Of(Mean(kAll, Square(values - targets)));
}

}  // namespace ocannl::train
