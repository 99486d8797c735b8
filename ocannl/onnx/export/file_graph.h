// SPDX-License-Identifier: Apache-2.0
//
// FileGraph: the graph of an ONNX file while an export writes it.
//
//   FileValue y = to.Op("Relu", {x}, x.dtype, x.dims);
//
// These functions and those of the export throw Refusal for what the file
// cannot have. The export catches it: no exception leaves this folder.
#ifndef OCANNL_ONNX_EXPORT_FILE_GRAPH_H_
#define OCANNL_ONNX_EXPORT_FILE_GRAPH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// Why something has no form in the file, without the tensor; or, `of_batch`,
// none that leaves the size of the batch open.
struct Refusal {
  std::string message;
  bool of_batch = false;
};

template <class... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  throw Refusal{absl::StrCat(parts...)};
}
template <class... Parts>
[[noreturn]] void RefuseBatch(const Parts&... parts) {
  throw Refusal{absl::StrCat(parts...), /*of_batch=*/true};
}

// In dims: the size of the batch, which is open.
inline constexpr int64_t kOpenSize = -1;

// A value of the file. It may have fewer axes than its tensor, with which they
// pair from the right, and axes of one cell where its tensor repeats the cell.
struct FileValue {
  std::string name;
  DType dtype = DType::kF32;
  Dims dims = {};
  // The number that it holds has been multiplied by the size of the batch so
  // many times: that of "cells / classes" is 1.
  int batch_power = 0;

  int rank() const { return static_cast<int>(dims.size()); }
};

// The dims that both broadcast to, from the right. Refusal: an open size meets
// another than 1.
Dims JoinedDims(const Dims& a, const Dims& b);

class FileGraph {
 public:
  using Attributes = std::map<std::string, Attribute>;

  // The nodes of `tensor` follow, and names of values begin with it.
  void Begin(absl::string_view tensor) {
    tensor_ = std::string(tensor);
    begin_ = graph_.nodes.size();
  }
  // A name that nothing else gets. False: it is taken.
  bool Reserve(const std::string& name) { return names_.insert(name).second; }

  // The result of a node.
  FileValue Op(const std::string& op, const std::vector<FileValue>& inputs,
               DType dtype, Dims dims, const Attributes& attributes = {});
  FileValue Initializer(const std::string& name, NdArray array);
  // A constant, once for equal ones.
  FileValue Constant(const NdArray& array);
  FileValue Number(const ocannl::Constant& number);
  FileValue Number(double number, DType dtype) {
    return Number(MakeConstant(dtype, number));
  }
  FileValue Wholes(const std::vector<int64_t>& wholes);

  // Gives the value the name of the tensor, if it is what the last of its nodes
  // computes. `Output` does so with a copy otherwise.
  void SetName(const FileValue& value);
  FileValue Output(const FileValue& value);
  // The name of the value in the file.
  std::string NameOf(const FileValue& value) const;

  // As the engine does: beyond floats of 8 bits is no finite number.
  FileValue Cast(const FileValue& a, DType dtype);
  // Axis k of the result is axis order[k] of `a`.
  FileValue Transpose(const FileValue& a, const std::vector<int>& order);
  // Without axes of one cell, and with such axes at these places of the result.
  // One undoes the other, so that a chain of tensors has few of them.
  FileValue Squeeze(const FileValue& a, const std::vector<int>& axes);
  FileValue Unsqueeze(const FileValue& a, const std::vector<int>& axes);
  FileValue Reshape(const FileValue& a, const Dims& dims);
  // Axes of one cell repeated, and new ones on the left; one that is open
  // stays.
  FileValue Expand(const FileValue& a, const Dims& dims);
  // `outside` before and after the cells of an axis; as many cells less if
  // negative.
  FileValue Pad(const FileValue& a, int axis, int64_t before, int64_t after,
                double outside);
  // The cells at `at` of an axis, in whose place are the axes of `at`.
  FileValue Take(const FileValue& a, int axis, const NdArray& at);
  // The last `count` axes reduced: "ReduceSum".
  FileValue ReduceLast(const std::string& op, const FileValue& a, int count);

  // The graph without the nodes and arrays that no output reads.
  OnnxGraph Finish(std::vector<TensorInfo> inputs,
                   std::vector<TensorInfo> outputs);

 private:
  void Rename(std::string& name) const;
  std::string NewName(absl::string_view op);

  OnnxGraph graph_;
  std::string tensor_;
  size_t begin_ = 0;  // of its nodes
  std::set<std::string> names_;
  std::map<std::string, int> numbered_;
  std::map<std::string, std::string> constants_;  // by dtype, dims and cells
  std::map<std::string, std::string> renamed_;    // what nodes compute
  using Axes = std::vector<int>;
  std::map<std::pair<std::string, Axes>, FileValue> unsqueezed_, squeezed_;
};

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_EXPORT_FILE_GRAPH_H_
