// SPDX-License-Identifier: Apache-2.0
//
// ParamScope: where the parameters of a block go, and how they are called.
//
//   ParamScope scope{&graph, "encoder"};
//   // Its parameters are encoder_query_w and encoder_query_b.
//   Linear query(scope / "query", {.outputs = Dims{64}});
//
// A block makes its parameters when it is constructed and uses the same ones
// each time it is applied. Sizes that its options leave out are inferred from
// what it is applied to. Options that make no sense are error nodes, which
// InferShapes reports (tensor.h).
#ifndef OCANNL_TRAIN_BLOCKS_PARAMS_H_
#define OCANNL_TRAIN_BLOCKS_PARAMS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/shape.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

struct ParamScope {
  Graph* graph;
  std::string name;
  // Of what the blocks compute; none: that of what they are applied to
  // (core/tensor/open_dtype.h).
  std::optional<DType> dtype = {};
  // What the parameters are kept as, if not as `dtype`: with f32, narrow copies
  // of them are what the blocks take, so that small updates are not lost
  // (optim/loss_scale.h).
  std::optional<DType> kept = {};

  // The scope "name_part".
  ParamScope operator/(absl::string_view part) const;
};

// The parameter "name_part" with those rows, inferred where there are none.
Tensor MakeParam(const ParamScope& scope, absl::string_view part,
                 std::optional<Dims> outputs, std::optional<Dims> inputs,
                 const Initializer& init,
                 SourceLocation where = SourceLocation::Current());

// A parameter that training does not change: no copy, and `kept` if that is
// given.
Tensor MakeState(const ParamScope& scope, absl::string_view part,
                 std::optional<Dims> outputs, const Initializer& init,
                 SourceLocation where = SourceLocation::Current());

// Returns `net` with shared parameters: its first call makes them, and each
// later call in the same graph uses them. For functions that parse a text or
// make blocks whenever they are called:
//
//   auto net = WithSharedParams([](Tensor x) {
//     return Linear({x.graph, "w"}, {.outputs = Dims{1}})(x);
//   });
//   Tensor loss = MeanSquaredError(net(x), y);
//   Tensor again = net(x);
//
// Error node: a later call asks for other parameters, or in another order.
std::function<Tensor(Tensor input)> WithSharedParams(
    std::function<Tensor(Tensor input)> net);

// An error node that says what is wrong with an option of the block `scope`.
Tensor OptionError(const ParamScope& scope, absl::string_view error,
                   SourceLocation where);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_PARAMS_H_
