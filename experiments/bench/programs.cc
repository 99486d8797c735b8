// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/programs.h"

#include "absl/strings/str_cat.h"
#include "ocannl/cli/input.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"

namespace ocannl {
namespace {

// Zeros; what a run reads is for the one who runs the program to say.
Tensor InputData(Graph& graph, const std::string& name, const Shape& shape) {
  return Data(graph, name, NdArray(DType::kF32, shape.dims()), SpecOf(shape));
}

Shape BatchOf(int64_t batch, int64_t size) {
  Shape shape;
  shape[RowKind::kBatch] = {batch};
  shape[RowKind::kOutput] = {size};
  return shape;
}

}  // namespace

absl::StatusOr<LoopProgram> ExpressionProgram(
    const std::vector<Definition>& inputs,
    const std::vector<Definition>& definitions) {
  train::Model model;
  Names names;
  for (const auto& [name, shape] : inputs) {
    OCANNL_ASSIGN_OR_RETURN(InputFlag input,
                            ParseInput(absl::StrCat(name, "=range:", shape)));
    CHECK(input.shape.has_value()) << shape;
    names.tensors.emplace(name, InputData(model.graph, name, *input.shape));
  }
  CHECK(!definitions.empty());
  for (const auto& [name, text] : definitions) {
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed,
                            ParseTensor(model.graph, text, names));
    names.tensors.emplace(name, Named(parsed.tensor, name));
  }
  OCANNL_ASSIGN_OR_RETURN(
      Assignments code,
      train::Forward(model, names.tensors.at(definitions.back().first)));
  return CompileProgram(code, {});
}

absl::StatusOr<Tensor> MlpLoss(Graph& graph, const Mlp& mlp, Tensor x,
                               Tensor y) {
  Names names{.tensors = {{"y", y}, {"h", x}},
              .numbers = {{"batch", static_cast<double>(mlp.batch)}}};
  const size_t last = mlp.sizes.size() - 1;
  for (size_t layer = 1; layer <= last; ++layer) {
    std::string text = absl::StrCat("{w", layer, "} * h");
    if (layer < last) {
      text = absl::StrCat("relu ({b", layer, "; o=[", mlp.sizes[layer], "]} + ",
                          text, ")");
    }
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed,
                            ParseTensor(graph, text, names));
    names.tensors.insert_or_assign("h", parsed.tensor);
  }
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor sum,
      ParseTensor(graph, "((square (h - y)) ++ \"...|... => 0\") /. !..batch",
                  names));
  return Named(sum.tensor, "loss");
}

absl::StatusOr<Assignments> MlpStep(const Mlp& mlp) {
  train::Model model;
  Graph& graph = model.graph;
  const Tensor x = InputData(graph, "x", BatchOf(mlp.batch, mlp.sizes[0]));
  const Tensor y = InputData(graph, "y", BatchOf(mlp.batch, mlp.sizes.back()));
  OCANNL_ASSIGN_OR_RETURN(Tensor loss, MlpLoss(graph, mlp, x, y));
  OCANNL_ASSIGN_OR_RETURN(Assignments gradient, train::GradUpdate(model, loss));
  OCANNL_ASSIGN_OR_RETURN(
      train::UpdateCode sgd,
      train::SgdUpdate(model, loss, Named(Number(graph, mlp.rate), "rate"),
                       {}));
  return train::Sequence("mlp_step", {gradient, sgd.update});
}

absl::StatusOr<LoopProgram> MlpProgram(const Mlp& mlp) {
  OCANNL_ASSIGN_OR_RETURN(Assignments code, MlpStep(mlp));
  return CompileProgram(code, {});
}

double MlpFlops(const Mlp& mlp) {
  double flops = 0;
  for (size_t layer = 1; layer < mlp.sizes.size(); ++layer) {
    // Forward, the weights' gradient and, but for x, the input's.
    int products = layer == 1 ? 2 : 3;
    flops += 2. * products * static_cast<double>(mlp.batch) *
             static_cast<double>(mlp.sizes[layer - 1] * mlp.sizes[layer]);
  }
  return flops;
}

Tensor ManyParameters(Graph& graph, int count) {
  std::vector<Tensor> terms;
  for (int k = 0; k < count; ++k) {
    const train::Linear linear({&graph, absl::StrCat("p", k)},
                               {.outputs = Dims{1}, .bias = false});
    terms.push_back(linear(Data(graph, absl::StrCat("x", k),
                                NdArray::Of<float>({1}, {1}),
                                {.rows = {Dims{}, Dims{1}, Dims{}}})));
  }
  while (terms.size() > 1) {
    std::vector<Tensor> sums;
    for (size_t k = 0; k + 1 < terms.size(); k += 2) {
      sums.push_back(terms[k] + terms[k + 1]);
    }
    if (terms.size() % 2 == 1) sums.push_back(terms.back());
    terms = std::move(sums);
  }
  return Square(terms[0]);
}

}  // namespace ocannl
