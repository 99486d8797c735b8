// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX models: the graph of a file as a graph of the engine.
//
//   OCANNL_ASSIGN_OR_RETURN(onnx::OnnxModel file,
//                           onnx::ReadModelFile("resnet18.onnx"));
//   OCANNL_ASSIGN_OR_RETURN(onnx::ImportedModel net,
//                           onnx::Import(file, {.dims = {{"batch", 1}}}));
//   OCANNL_ASSIGN_OR_RETURN(Assignments forward, onnx::Forward(net));
//
// To run it, use Session (session.h). To train it, build a loss on an output
// and use the functions of ocannl/train: parameters have the values of the file
// as their first values.
//
//   Tensor logits = net.outputs[0].value();
//   Tensor loss = train::CrossEntropy(logits, labels);
//   auto gradients = train::GradUpdate(*net.model, loss);
#ifndef OCANNL_ONNX_IMPORT_H_
#define OCANNL_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/onnx/model.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::onnx {

struct ImportOptions {
  // The sizes of free dimensions, by name: {{"batch", 1}}.
  std::map<std::string, int64_t> dims = {};
  // Inputs that are constants from now on, such as a sample rate. What depends
  // on constants only is computed by the import.
  std::map<std::string, NdArray> constants = {};
  // Constant nodes whose arrays Conv, Gemm or MatMul read as weights, or whose
  // results they are added to, are parameters under the names of their outputs.
  // Some exporters have all weights there. A node that computes with constants
  // only, such as a Transpose of weights, is no constant then.
  bool constant_weights = false;
  // Parameters of fewer bits that the graph reads only to convert them to f32
  // are f32: converted once, and twice as large or more. The values that the
  // model computes have the same bits.
  bool widen = false;
};

// An input, output or parameter under its name in the file. The tensor's name
// is `array`: the same with _ in the place of characters that names of the
// engine cannot have, and a number behind it if it is taken.
struct NamedTensor {
  std::string name;
  std::string array;
  DType dtype;
  Dims dims;
  // None: it has no cells.
  std::optional<Tensor> tensor = std::nullopt;
  // Of a parameter: the array of the file.
  std::shared_ptr<const NdArray> data = nullptr;

  Tensor value() const { return *tensor; }
};

// Whether an initialiser is a parameter: it has floats, and axes.
bool IsParameter(const NdArray& array);

struct ImportedModel {
  std::unique_ptr<train::Model> model;
  std::vector<NamedTensor> inputs, outputs;  // in the order of the file
  // The initialisers for which IsParameter holds. Others are constants.
  // Constant nodes follow, if they are parameters.
  std::vector<NamedTensor> parameters;
};

// The graph of `file`. Running means and variances of batch normalisation are
// frozen (train::SetFrozen). Errors: a free dimension without a size; a name in
// `options` that the model does not have. Others are dims that contradict each
// other, and a node that reads what no earlier node computes. Unimplemented:
// operators that operators.def does not have, all of them in one message.
absl::StatusOr<ImportedModel> Import(const OnnxModel& file,
                                     const ImportOptions& options = {});

// The errors of Import that depend on no dims: names in `options`, operators,
// the opset.
absl::Status CheckImport(const OnnxModel& file, const ImportOptions& options);

// Likewise of the model of an .onnx file, whose arrays are freed when the graph
// has its own. Errors: those of ReadModelFile, and of Import with the path.
absl::StatusOr<ImportedModel> ImportFile(const std::string& path,
                                         const ImportOptions& options = {});

// The code that computes all outputs, for one routine. It reads the parameters
// that its context has. Errors: as of train::Forward.
absl::StatusOr<Assignments> Forward(ImportedModel& net);

// The same, but linking the code writes the parameters of the file
// (Context::WriteData).
absl::StatusOr<Assignments> ForwardOfFile(ImportedModel& net);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_IMPORT_H_
