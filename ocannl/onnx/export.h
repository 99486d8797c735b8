// SPDX-License-Identifier: Apache-2.0
//
// Export: a graph of the engine as an ONNX file, for other runtimes.
//
//   Tensor images = Input(model.graph, "images", "8|28,28,1");
//   Tensor logits = net(images, train::kInference);
//   OCANNL_RETURN_IF_ERROR(onnx::Export(model, {logits}, {images},
//                                       step.context(), "net.onnx"));
//
// The file has the meaning of the graph, with operators of opset 20. What the
// engine computes with f32 and stores with fewer bits is cast. Sums may have
// another order, so that other runtimes give the same values within rounding.
// Three things differ on other values: other runtimes decide what integers hold
// that were converted from floats beyond them, what x / 0 is of integers, and
// what an id beyond its table selects, which is 0 in the engine.
#ifndef OCANNL_ONNX_EXPORT_H_
#define OCANNL_ONNX_EXPORT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/onnx/model.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::onnx {

struct ExportOptions {
  // The name of the size of the leftmost axis of the inputs, which the file
  // leaves open; empty: all sizes are fixed. So they are, and the file's
  // metadata "fixed_batch" names the reason, if the graph is not the same for
  // any number of rows: if it sums or reshapes along that axis, adds a table of
  // so many rows, or has the size in a value. One row is fixed too: it cannot
  // be told from a cell that repeats.
  std::string batch = "batch";
  // Names in the file, by the names of the tensors: {{"n35", "logits"}}.
  std::map<std::string, std::string> names = {};
};

// The file that computes `outputs` from `inputs`, tensors of Input() or Data(),
// all by their names. It has the values that `context` has of the parameters
// now, and noise is that of step 0. Errors: as of train::Forward; there is no
// output, or one twice; two tensors of one name in the file; an input that no
// output depends on; an Input that is not in `inputs`; a name of no tensor that
// an output depends on; a parameter that was never written. Unimplemented: a
// tensor, with its place, for which ONNX has no operators: random numbers,
// slices by static indices, atan2, bit casts, rotations, transposed
// convolutions.
absl::StatusOr<OnnxModel> ToOnnx(train::Model& model,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& inputs,
                                 const Context& context,
                                 const ExportOptions& options = {});

// Replaces the file `path` by that one. Errors: the same; as of WriteModelFile.
absl::Status Export(train::Model& model, const std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs, const Context& context,
                    const std::string& path, const ExportOptions& options = {});

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_H_
