// SPDX-License-Identifier: Apache-2.0
//
// Networks for images, batch|height,width,channels, and their parts.
#ifndef OCANNL_TRAIN_BLOCKS_VISION_H_
#define OCANNL_TRAIN_BLOCKS_VISION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/blocks/state.h"

namespace ocannl::train {

// Two convolutions with relu and halving, and a perceptron: logits of classes
// for images of 28 x 28 cells, or of another size that fits. LeCun et al.,
// "Gradient-based learning applied to document recognition" (1998), with relu
// and max pooling.
struct LeNetOptions {
  int64_t channels1 = 6;
  int64_t channels2 = 16;
  int64_t hidden1 = 120;
  int64_t hidden2 = 84;
  int64_t classes = 10;
};
class LeNet {
 public:
  explicit LeNet(const ParamScope& scope, const LeNetOptions& options = {},
                 SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor images,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Conv2d conv1_, conv2_;
  Mlp mlp_;
};

// Convolution, batch norm.
class ConvBatchNorm {
 public:
  // The bias of the convolution is left to the norm.
  ConvBatchNorm(const ParamScope& scope, Conv2dOptions options,
                const BatchNormOptions& norm = {},
                SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  Conv2d conv_;
  BatchNorm norm_;
};

// relu(f(x) + x) with f two 3 x 3 convolutions of padding 1, with norms and a
// relu between them. With another stride than 1 or `project`, x is projected by
// a 1 x 1 convolution with norm: needed where f changes the number of channels.
// He et al., "Deep residual learning for image recognition" (2016).
struct ResNetBlockOptions {
  int64_t channels;
  int64_t stride = 1;
  bool project = false;
  BatchNormOptions norm = {};  // of each of its norms
};
class ResNetBlock {
 public:
  ResNetBlock(const ParamScope& scope, const ResNetBlockOptions& options,
              SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x, Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  ConvBatchNorm first_, second_;
  std::optional<ConvBatchNorm> project_;
};

// 3 x 3 convolutions with relu, then max pooling that halves the image.
// Simonyan and Zisserman, "Very deep convolutional networks" (2015).
struct VggBlockOptions {
  int64_t channels;
  int64_t convolutions = 2;
};
class VggBlock {
 public:
  VggBlock(const ParamScope& scope, const VggBlockOptions& options,
           SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  std::vector<Conv2d> convs_;
};

// A small MobileNet (Howard et al., "MobileNets", 2017). A convolution halves
// the image. After it come depthwise separable convolutions, the mean of each
// channel and a linear map to the logits of classes. All kernels are 3 x 3 with
// padding 1. Each convolution, depthwise or pointwise, has a norm and relu
// after it.
struct MobileCnnOptions {
  struct Layer {
    int64_t channels;
    int64_t stride = 1;
  };
  int64_t stem = 32;  // channels of the first convolution
  std::vector<Layer> layers = {{64}, {128, 2}, {128}, {256, 2}, {256}};
  double width = 1;  // times all channels, rounded, and at least 1
  int64_t classes = 10;
  BatchNormOptions norm = {};  // of each of its norms
};
// Error node: a width that is not above 0.
class MobileCnn {
 public:
  explicit MobileCnn(const ParamScope& scope,
                     const MobileCnnOptions& options = {},
                     SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor images, Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  ParamScope scope_;
  double width_;
  std::vector<ConvBatchNorm> convs_;
  Linear logits_;
};

// For worlds that are grids of cells, such as Sokoban. Convolutions of 3 x 3
// cells with norms and relu keep the size of the grid. Linear maps of all cells
// give the logits of the actions and the value of the state.
struct SokobanCnnOptions {
  std::vector<int64_t> channels = {32, 64, 64};
  int64_t hidden = 128;
  int64_t actions = 4;
  BatchNormOptions norm = {};  // of each of its norms
};
class SokobanCnn {
 public:
  explicit SokobanCnn(const ParamScope& scope,
                      const SokobanCnnOptions& options = {},
                      SourceLocation where = SourceLocation::Current());

  struct Result {
    Tensor actions;  // batch|actions
    Tensor value;    // batch|1
  };
  Result operator()(Tensor grids, Training* training,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  std::vector<ConvBatchNorm> convs_;
  Linear hidden_, actions_, value_;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_VISION_H_
