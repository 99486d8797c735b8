// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/predict.h"

#include <algorithm>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/cost.h"

namespace ocannl {
namespace {

// Lanes of a register. Zeros are written, and loops unrolled, by so many.
constexpr double kLanes = 16;

// Compilers unroll short loops, and parts of long ones: how often they write a
// statement at most.
constexpr double kMostCopies = 192;

class Predictor {
 public:
  explicit Predictor(const LoopProgram& program) : program_(program) {}

  void Visit(const Block& block, double times) {
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        Visit(loop->body, times * static_cast<double>(loop->extent));
      } else if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        const auto cells = static_cast<double>(
            NumElements(program_.buffers[zero->buffer].dims));
        Add(kStoreCost, times * (1 + cells / kLanes));
      } else if (const ExprId* value = ValueOf(stmt)) {
        Add(kStoreCost + CostOf(program_, *value), times);
        const Arithmetic arithmetic = ArithmeticOf(program_, *value);
        prediction_.arithmetic += arithmetic.operations * times;
        prediction_.flops += arithmetic.flops * times;
      }
    }
  }

  Prediction Take() const { return prediction_; }

 private:
  void Add(double cost, double times) {
    prediction_.operations += cost * times;
    prediction_.instructions +=
        cost * std::clamp(times / kLanes, 1., kMostCopies);
  }

  const LoopProgram& program_;
  Prediction prediction_;
};

}  // namespace

Prediction Predict(const LoopProgram& program, const Block& block) {
  Predictor predictor(program);
  predictor.Visit(block, 1);
  return predictor.Take();
}

Prediction Predict(const LoopProgram& program) {
  return Predict(program, program.body);
}

}  // namespace ocannl
