// SPDX-License-Identifier: Apache-2.0
//
// Linear maps, and perceptrons made of them.
//
//   Mlp mlp(scope / "mlp", {.sizes = {16, 16, 1}});
//   Tensor score = mlp(points);                     // 10|2 gives 10|1
#ifndef OCANNL_TRAIN_BLOCKS_LINEAR_H_
#define OCANNL_TRAIN_BLOCKS_LINEAR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

struct LinearOptions {
  std::optional<Dims> outputs = {};  // none: as the use of the result says
  bool bias = true;
  LayerInit init = KaimingUniform();
};

// w * x + b: all output axes of x are contracted. Parameters: w, b.
class Linear {
 public:
  Linear(const ParamScope& scope, const LinearOptions& options,
         SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Tensor w_;
  std::optional<Tensor> b_;
};

struct MlpOptions {
  std::vector<int64_t> sizes;  // of the hidden layers, then of the result
  LayerInit init = KaimingUniform();
};

// Linear maps with relu between them. Parameters: layer1_w, layer1_b, ...
class Mlp {
 public:
  Mlp(const ParamScope& scope, const MlpOptions& options,
      SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  std::vector<Linear> layers_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_LINEAR_H_
