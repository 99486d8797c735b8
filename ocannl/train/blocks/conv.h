// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling of images, batch|height,width,channels.
//
//   Conv2d conv(scope / "conv", {.channels = 16, .kernel = 5});
//   Tensor y = conv(images);                        // 8|28,28,1 -> 8|28,28,16
//
// With padding "same", of a stride that divides the size, the result has
// size / stride cells and windows are centred: what they reach outside is 0. A
// window whose middle is between two cells, as of a kernel of 2, reaches one
// cell further to the left, and up; PyTorch pads the right side instead.
// With "valid", windows stay inside, and the steps fill the image:
// size = stride * (cells - 1) + dilation * (kernel - 1) + 1. InferShapes
// reports sizes that do not fit.
#ifndef OCANNL_TRAIN_BLOCKS_CONV_H_
#define OCANNL_TRAIN_BLOCKS_CONV_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

enum class Padding : uint8_t { kSame, kValid };

// How windows lie on an image: windows and steps are as high as wide.
struct WindowOptions {
  int64_t kernel;
  int64_t stride = 1;
  int64_t dilation = 1;
  Padding padding = Padding::kSame;
};

struct Conv2dOptions {
  int64_t channels;  // of the result
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t dilation = 1;
  Padding padding = Padding::kSame;
  bool bias = true;  // one for each channel, 0 at first
  Initializer init = KaimingUniform();
  // Equal parts of the channels, each of the result's made of its own of x:
  // Krizhevsky et al., "ImageNet classification" (2012).
  int64_t groups = 1;
  int64_t inputs = 0;  // channels of x; only groups need it
};

// Parameters: w, kernel,kernel,channels of x -> channels, or with groups
// kernel,kernel,channels of x in a group -> groups,channels in a group; b.
// Error node: groups that do not divide the channels.
class Conv2d {
 public:
  Conv2d(const ParamScope& scope, const Conv2dOptions& options,
         SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  WindowOptions windows_;
  int64_t groups_;
  EinsumNumbers in_group_;
  Tensor w_;
  std::optional<Tensor> b_;
};

// A convolution of each channel by itself, with one channel to a group, then
// one of 1 x 1 windows over all channels. Parameters: depth_w, kernel,kernel ->
// channels of x; w; b. Howard et al., "MobileNets" (2017).
class DepthwiseSeparableConv2d {
 public:
  DepthwiseSeparableConv2d(const ParamScope& scope,
                           const Conv2dOptions& options,
                           SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  WindowOptions windows_;
  Tensor depth_;
  Conv2d mix_;
};

// Pooling, each channel by itself.

inline constexpr WindowOptions kHalve = {
    .kernel = 2, .stride = 2, .padding = Padding::kValid};

// The greatest cell of each window. The first such cell in memory gets the
// gradient.
Tensor MaxPool2d(Tensor x, const WindowOptions& windows,
                 SourceLocation where = SourceLocation::Current());

// The mean of each window; cells outside of the image count, as 0.
Tensor AvgPool2d(Tensor x, const WindowOptions& windows,
                 SourceLocation where = SourceLocation::Current());

// The mean of each channel over the image: 8|7,7,16 gives 8|16.
Tensor GlobalAvgPool2d(Tensor x,
                       SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_CONV_H_
