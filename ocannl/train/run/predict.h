// SPDX-License-Identifier: Apache-2.0
//
// Predictor: a trained network, used on inputs that come one after another.
//
//   Tensor pair = Input(graph, "pair", "2");
//   OCANNL_ASSIGN_OR_RETURN(
//       auto predictor, train::Predictor::Make(model, net(pair), {pair},
//                                              step.context()));
//   OCANNL_ASSIGN_OR_RETURN(NdArray answer, predictor.Predict({values}));
//
// PredictorTable: the same for inputs of any dtypes and dims, for each of which
// it makes the network once.
//
//   train::PredictorTable table(
//       [&](train::Model& model, absl::Span<const NdArray> values) {
//         Tensor x = Data(model.graph, "x", values[0],
//                         {.rows = {Dims{}, values[0].dims(), Dims{}}});
//         return train::NetCode{.outputs = {net(x)}, .inputs = {x}};
//       },
//       context);
//   OCANNL_ASSIGN_OR_RETURN(auto answers, table.PredictAll({values}));
#ifndef OCANNL_TRAIN_RUN_PREDICT_H_
#define OCANNL_TRAIN_RUN_PREDICT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
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

  // The same of several outputs, which one routine computes: what they share,
  // once. Error: there are none; two of one tensor.
  static absl::StatusOr<Predictor> Make(Model& model,
                                        const std::vector<Tensor>& outputs,
                                        const std::vector<Tensor>& inputs,
                                        const Context& context);

  // The value of the output, or of the first one, where the inputs have
  // `values`, in their order. Errors: another number of them, or of other
  // dtypes or dims; a parameter that was never written; those of Routine::Run.
  absl::StatusOr<NdArray> Predict(absl::Span<const NdArray> values);

  // Those of all outputs, in order. Errors: the same.
  absl::StatusOr<std::vector<NdArray>> PredictAll(
      absl::Span<const NdArray> values);

 private:
  Predictor(Routine forward, std::vector<std::string> inputs,
            std::vector<std::string> outputs)
      : forward_(std::move(forward)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}

  absl::Status Run(absl::Span<const NdArray> values);

  Routine forward_;
  std::vector<std::string> inputs_, outputs_;
};

// What a PredictorTable makes a Predictor of.
struct NetCode {
  std::vector<Tensor> outputs, inputs;
};

// Moves, but does not copy. Not thread-safe, like its context.
class PredictorTable {
 public:
  // Makes a network in an empty model for inputs of the types of `values`. Each
  // call must make parameters of the same names. They are those of `context`:
  // all networks read the same values, as they are at each prediction.
  using MakeNet = std::function<absl::StatusOr<NetCode>(
      Model& model, absl::Span<const NdArray> values)>;

  // Keeps networks for the last `most` dtypes and dims that were used, and one
  // at least.
  PredictorTable(MakeNet make, Context context, size_t most = 16)
      : make_(std::move(make)), context_(std::move(context)), most_(most) {}

  // Errors: those of `make`, of Predictor::Make and of PredictAll.
  absl::StatusOr<std::vector<NdArray>> PredictAll(
      absl::Span<const NdArray> values);

 private:
  using Types = std::vector<std::pair<DType, Dims>>;  // of the inputs
  struct Net {
    Types types;
    std::unique_ptr<Model> model;
    Predictor predictor;
  };

  MakeNet make_;
  Context context_;
  size_t most_;
  std::vector<Net> nets_ = {};  // the last one used is the last
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_PREDICT_H_
