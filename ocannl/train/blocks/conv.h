// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pooling of images, batch|height,width,channels (NHWC).
//
// Arrays of other libraries may have their channels first (NCHW): permute them,
//
//   Tensor images = Einsum1("...|c, h, w => ...|h, w, c", x);
//
// A convolution of data of such a shape, as 3,32,32 or 1,28,28, is an error
// node unless Conv2dOptions::inputs says how many channels there are.
//
//   Conv2d conv(scope / "conv", {.channels = 16, .kernel = 5});
//   Tensor y = conv(images);                        // 8|28,28,1 -> 8|28,28,16
//
// With p cells of padding before and q after an axis, the result has
//
//   floor((size + p + q - dilation * (kernel - 1) - 1) / stride) + 1
//
// cells along it, as in PyTorch; cells that no window reaches are not read.
// Padding::kSame gives ceil(size / stride) cells and splits the padding they
// need in halves, the larger one after the axis, as ONNX's SAME_UPPER and
// TensorFlow do. PyTorch's layers of kernel 3, stride 2 and padding 1 are
// another thing: they pad as much before as after. InferShapes reports windows
// that do not fit.
//
//   Conv2d halve(scope,
//                {.channels = 8, .kernel = 4, .stride = 2, .padding = 1});
//   Tensor y = MaxPool2d(x, {.kernel = 3, .stride = 2, .ceil = true});
#ifndef OCANNL_TRAIN_BLOCKS_CONV_H_
#define OCANNL_TRAIN_BLOCKS_CONV_H_

#include <cstdint>
#include <optional>

#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"

namespace ocannl::train {

// How many cells around an image windows may reach, which count as 0 in
// convolutions and are never the greatest.
//
//   .padding = Padding::kSame               as many as needed
//   .padding = 1                            on all four sides
//   .padding = {1, 2}                       above and below, left and right
//   .padding = {{0, 1}, {0, 1}}             below 1, right 1
struct Padding {
  enum Kind : uint8_t { kSame, kValid };  // kValid: none
  struct Ends {
    int64_t before, after;

    friend bool operator==(const Ends&, const Ends&) = default;
  };

  constexpr Padding(Kind kind) : same(kind == kSame) {}        // NOLINT
  constexpr Padding(int64_t cells) : Padding(cells, cells) {}  // NOLINT
  constexpr Padding(int64_t above_and_below, int64_t left_and_right)
      : height{above_and_below, above_and_below},
        width{left_and_right, left_and_right} {}
  constexpr Padding(Ends vertical, Ends horizontal)
      : height(vertical), width(horizontal) {}

  bool same = false;
  Ends height = {0, 0}, width = {0, 0};  // unless `same`

  friend bool operator==(const Padding&, const Padding&) = default;
};

// How windows lie on an image: windows and steps are as high as wide.
struct WindowOptions {
  int64_t kernel;
  int64_t stride = 1;
  int64_t dilation = 1;
  Padding padding = Padding::kValid;
  // Of pooling with a given padding. Rounds the number of windows up: the last
  // one may end beyond the padding, but starts in the image or before it.
  bool ceil = false;
  // Of AvgPool2d: whether the cells of the padding count, as 0.
  bool count_padding = true;
};

struct Conv2dOptions {
  int64_t channels;  // of the result
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t dilation = 1;
  Padding padding = Padding::kSame;
  bool bias = true;  // one for each channel
  LayerInit init = KaimingUniform();
  // Equal parts of the channels, each of the result's made of its own of x:
  // Krizhevsky et al., "ImageNet classification" (2012).
  int64_t groups = 1;
  // Channels of x, which must have as many. 0: as many as x has, if it does not
  // look like an image with its channels first; groups need the number.
  int64_t inputs = 0;
};

// Parameters: w, kernel,kernel,channels of x -> channels, or with groups
// kernel,kernel,channels of x in a group -> groups,channels in a group; b.
// Error node: groups that do not divide the channels; an image that looks like
// one with its channels first.
class Conv2d {
 public:
  Conv2d(const ParamScope& scope, const Conv2dOptions& options,
         SourceLocation where = SourceLocation::Current());

  Tensor operator()(Tensor x,
                    SourceLocation where = SourceLocation::Current()) const;

 private:
  WindowOptions windows_;
  int64_t inputs_;
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
  int64_t inputs_;
  Tensor depth_;
  Conv2d mix_;
};

// Pooling, each channel by itself.

// Of an odd size, the last row or column is left out.
inline constexpr WindowOptions kHalve = {.kernel = 2, .stride = 2};

// The greatest cell of each window. The first such cell in memory gets the
// gradient. Error node: a padding that is as large as the window. A dilated
// window may still lie around an image that is smaller than its dilation, and
// have no cell of it: its greatest cell is -inf, as in PyTorch.
Tensor MaxPool2d(Tensor x, const WindowOptions& windows,
                 SourceLocation where = SourceLocation::Current());

// The mean of each window: the sum of its cells in the image, divided by how
// many it has in the image and, unless `count_padding` is false, in the
// padding. Cells beyond the padding, of `ceil`, never count. Of narrow floats
// it is computed in f32 and rounded once. The mean of no cell is NaN. Error
// node: as above.
Tensor AvgPool2d(Tensor x, const WindowOptions& windows,
                 SourceLocation where = SourceLocation::Current());

// The mean of each channel over the image, likewise: 8|7,7,16 gives 8|16.
Tensor GlobalAvgPool2d(Tensor x,
                       SourceLocation where = SourceLocation::Current());

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_BLOCKS_CONV_H_
