// SPDX-License-Identifier: Apache-2.0
//
// Model: a graph with what is known of it so far, and the code of its tensors.
//
//   Model model;
//   Tensor loss = ...;                                      // in model.graph
//   OCANNL_ASSIGN_OR_RETURN(Assignments grad, train::GradUpdate(model, loss));
//
// Each function infers the shapes that it needs. On an error the model stays as
// it was, and usable.
#ifndef OCANNL_TRAIN_GRAPH_MODEL_H_
#define OCANNL_TRAIN_GRAPH_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

// An array of code that keeps its value from run to run.
struct CodeState {
  Array array;
  Shape shape;
};

// The scale of the loss: see LossScale of optim/loss_scale.h.
struct LossScaleId {
  TensorId tensor;
  int64_t growth_interval;
};

struct Model {
  Model();
  Model(const Model&);
  Model(Model&&) noexcept;
  Model& operator=(const Model&);
  Model& operator=(Model&&) noexcept;
  ~Model();

  Graph graph;
  Shapes shapes;
  ComputedBy computed_by;
  absl::flat_hash_set<TensorId> frozen;  // SetFrozen
  // Those that ParseCode declared, by the array's name.
  absl::flat_hash_map<std::string, CodeState> states;
  std::optional<LossScaleId> loss_scale;
};

// Code of which a part runs once, before the first run of the other.
struct UpdateCode {
  Assignments init;
  Assignments update;  // in each step
};

// Error: `t` is an error node, or a tensor of another graph.
absl::Status CheckIsIn(const Model& model, Tensor t);

// Error: `loss` has random numbers without a counter, and the graph no step: in
// each step of a training they would be the same (initializer.h).
absl::Status CheckStep(const Model& model, Tensor loss);

// The code that computes `t`, whose value is kept after a run. Errors: those of
// CheckIsIn; shapes that do not fit; `t` is part of code that was asked for
// before (build.h).
absl::StatusOr<Assignments> Forward(Model& model, Tensor t);

struct GradOptions {
  // The gradients of the parameters are kept after a run: for an update, or a
  // merge, that is a routine of its own. Code that reads gradients and does not
  // compute them, such as that of SgdUpdate, takes those that its context has.
  bool keep_gradients = false;
  // The gradient of the loss: loss scaling (optim/transforms.h).
  double scale = 1;
  // Or what this tensor of one cell holds, in the place of `scale`
  // (optim/loss_scale.h).
  std::optional<Tensor> scaled_by = std::nullopt;
};

// The code that computes `loss`, zeroes all gradients, sets that of the loss
// to 1 and propagates it back. The value of the loss is kept after a run.
// Errors: those of Forward; the loss has more than one cell, or depends on no
// parameter; that of CheckStep; a scale that is not above 0 and finite.
absl::StatusOr<Assignments> GradUpdate(Model& model, Tensor loss,
                                       const GradOptions& options = {});

// GradUpdate of the sum of all cells of `t`, of which there may be many.
absl::StatusOr<Assignments> GradUpdateOfSum(Model& model, Tensor t,
                                            const GradOptions& options = {});

// Makes `code` keep the gradients that it has of `params`, "w.grad" of w, for
// Context::Read and for other routines, and returns the parameters that have
// one.
absl::StatusOr<std::vector<Tensor>> KeepGradients(
    absl::Span<const Tensor> params, Assignments& code);

// The code that gives all parameters of `t` their first values, to look at or
// for code of one's own; RunInit (run.h) runs it. Errors: those of CheckIsIn;
// shapes that do not fit.
absl::StatusOr<Assignments> InitParams(Model& model, Tensor t);

// The parameters that training of `t` changes, in the order of their creation:
// its gradient reaches them. A parameter is frozen, and left out, if SetFrozen
// says so, or if each path to it leads through StopGradient, or another
// operation without a gradient, such as a comparison. There are none if `t` is
// of another graph.
std::vector<Tensor> Parameters(Model& model, Tensor t);

// Whether training leaves the parameter `p` as it is, although a gradient
// reaches it. Code that was made before, of gradients and updates, stays as it
// is. Errors: those of CheckIsIn; `p` is not a parameter.
//
//   OCANNL_RETURN_IF_ERROR(train::SetFrozen(model, embedding, true));
absl::Status SetFrozen(Model& model, Tensor p, bool frozen);

// All parameters that `t` depends on, frozen ones too, in the same order: they
// are initialized, saved and shared between devices.
std::vector<Tensor> AllParameters(Model& model, Tensor t);

// One routine's code, in order, under `name`, or without one that of the first
// part.
Assignments Sequence(std::string name, absl::Span<const Assignments> parts);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_GRAPH_MODEL_H_
