// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of an ONNX graph tell of its arrays: which are weights.
#ifndef OCANNL_ONNX_WEIGHTS_H_
#define OCANNL_ONNX_WEIGHTS_H_

#include <set>
#include <string>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// The array of a Constant node, if it is of floats, has axes, and more cells
// than the scales and offsets that graphs have as constants. Null: another.
const NdArray* WeightOf(const Node& node);

// The names of which products and convolutions make weights: what they read
// themselves or by way of nodes that move or convert cells, and what is added
// to their results.
std::set<std::string> NamesOfWeights(const OnnxGraph& graph);

// The names that nothing reads but conversions to f32, in branches too.
std::set<std::string> NamesConvertedToF32(const OnnxGraph& graph);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_WEIGHTS_H_
