// SPDX-License-Identifier: Apache-2.0
//
// Predictor: a trained network, used on inputs that come one after another.
//
//   Tensor pair = Input(graph, "pair", "2");
//   OCANNL_ASSIGN_OR_RETURN(
//       auto predictor, train::Predictor::Make(model, net(pair), {pair},
//                                              step.context()));
//   OCANNL_ASSIGN_OR_RETURN(NdArray answer, predictor.Predict({values}));
#ifndef OCANNL_TRAIN_RUN_PREDICT_H_
#define OCANNL_TRAIN_RUN_PREDICT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::train {

// Moves, but does not copy. Not thread-safe, like its context.
class Predictor {
 public:
  // Compiles the code of `output`, once. It reads the parameters that `context`
  // has, as they are at each prediction, and `inputs`: tensors of Input() or
  // Data() that `output` depends on, of the dims that examples have. Noise is
  // that of step 0. Errors: those of Forward and ToRoutine; an input that is
  // none.
  static absl::StatusOr<Predictor> Make(Model& model, Tensor output,
                                        std::vector<Tensor> inputs,
                                        const Context& context);

  // The value of the output where the inputs have `values`, in their order.
  // Errors: another number of them, or of other dtypes or dims; a parameter
  // that was never written; those of Routine::Run.
  absl::StatusOr<NdArray> Predict(absl::Span<const NdArray> values);

 private:
  Predictor(Routine forward, std::vector<std::string> inputs,
            std::string output)
      : forward_(std::move(forward)),
        inputs_(std::move(inputs)),
        output_(std::move(output)) {}

  Routine forward_;
  std::vector<std::string> inputs_;
  std::string output_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_PREDICT_H_
