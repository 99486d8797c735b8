// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export/file_graph.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "ocannl/onnx/write.h"

namespace ocannl::onnx {
namespace {

int64_t Joined(int64_t a, int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1) return b;
  RefuseBatch("the batch meets an axis of ", std::max(a, b), " cells");
}

// How often the result has the size of the batch as a factor. Products and
// quotients keep it, and what only moves cells.
int BatchPower(const std::string& op, const std::vector<FileValue>& inputs) {
  if (absl::c_all_of(inputs, [](const FileValue& input) {
        return input.batch_power == 0;
      })) {
    return 0;
  }
  const int power = inputs[0].batch_power;
  if (op == "Mul") return power + inputs[1].batch_power;
  if (op == "Div") return power - inputs[1].batch_power;
  for (const char* moves : {"Cast", "Expand", "Identity", "Reshape", "Squeeze",
                            "Transpose", "Unsqueeze"}) {
    if (op == moves) return power;
  }
  RefuseBatch("the value depends on the size of the batch");
}

}  // namespace

Dims JoinedDims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() < b.size() ? b : a;
  const Dims& shorter = a.size() < b.size() ? a : b;
  Dims dims = longer;
  const size_t first = longer.size() - shorter.size();
  for (size_t k = 0; k < shorter.size(); ++k) {
    dims[first + k] = Joined(longer[first + k], shorter[k]);
  }
  return dims;
}

std::string FileGraph::NewName(absl::string_view op) {
  const std::string base = absl::StrCat(tensor_, "/", op);
  std::string name = base;
  while (!names_.insert(name).second) {
    name = absl::StrCat(base, ++numbered_[base] + 1);
  }
  return name;
}

FileValue FileGraph::Op(const std::string& op,
                        const std::vector<FileValue>& inputs, DType dtype,
                        Dims dims, const Attributes& attributes) {
  Node node = {.op = op, .attributes = attributes};
  for (const FileValue& input : inputs) node.inputs.push_back(input.name);
  node.outputs = {NewName(op)};
  graph_.nodes.push_back(std::move(node));
  return {graph_.nodes.back().outputs[0], dtype, std::move(dims),
          BatchPower(op, inputs)};
}

FileValue FileGraph::Initializer(const std::string& name, NdArray array) {
  FileValue value = {name, array.dtype(), array.dims()};
  graph_.initializers.insert_or_assign(name, std::move(array));
  return value;
}

FileValue FileGraph::Constant(const NdArray& array) {
  const std::string key =
      absl::StrCat(Name(array.dtype()), absl::StrJoin(array.dims(), ","), ":",
                   array.AsString());
  auto [at, is_new] = constants_.try_emplace(key);
  if (!is_new) return {at->second, array.dtype(), array.dims()};
  at->second = NewName("constant");
  return Initializer(at->second, array);
}

FileValue FileGraph::Number(const ocannl::Constant& number) {
  NdArray array(number.dtype, {});
  std::copy_n(reinterpret_cast<const std::byte*>(&number.bits), array.bytes(),
              array.data());
  return Constant(array);
}

FileValue FileGraph::Wholes(const std::vector<int64_t>& wholes) {
  return Constant(
      NdArray::Of<int64_t>({static_cast<int64_t>(wholes.size())}, wholes));
}

void FileGraph::SetName(const FileValue& value) {
  if (graph_.nodes.size() == begin_) return;
  if (graph_.nodes.back().outputs[0] == value.name) {
    renamed_[value.name] = tensor_;
  }
}

FileValue FileGraph::Output(const FileValue& value) {
  SetName(value);
  if (NameOf(value) == tensor_) return value;
  const FileValue copy = Op("Identity", {value}, value.dtype, value.dims);
  SetName(copy);
  return copy;
}

void FileGraph::Rename(std::string& name) const {
  const auto found = renamed_.find(name);
  if (found != renamed_.end()) name = found->second;
}

std::string FileGraph::NameOf(const FileValue& value) const {
  std::string name = value.name;
  Rename(name);
  return name;
}

FileValue FileGraph::Cast(const FileValue& a, DType dtype) {
  if (a.dtype == dtype) return a;
  Attributes attributes = {{"to", WholeAttribute(CodeOfDType(dtype))}};
  if (IsNarrow(dtype) && SizeOf(dtype) == 1) {
    attributes["saturate"] = WholeAttribute(0);
  }
  return Op("Cast", {a}, dtype, a.dims, attributes);
}

FileValue FileGraph::Transpose(const FileValue& a,
                               const std::vector<int>& order) {
  if (absl::c_is_sorted(order)) return a;
  Dims dims;
  for (int axis : order) dims.push_back(a.dims[axis]);
  return Op("Transpose", {a}, a.dtype, dims,
            {{"perm", WholesAttribute({order.begin(), order.end()})}});
}

FileValue FileGraph::Squeeze(const FileValue& a, const std::vector<int>& axes) {
  if (axes.empty()) return a;
  auto [at, is_new] = squeezed_.try_emplace({a.name, axes});
  if (!is_new) return at->second;
  Dims dims;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (!absl::c_linear_search(axes, axis)) dims.push_back(a.dims[axis]);
  }
  at->second =
      Op("Squeeze", {a, Wholes({axes.begin(), axes.end()})}, a.dtype, dims);
  unsqueezed_.try_emplace({at->second.name, axes}, a);
  return at->second;
}

FileValue FileGraph::Unsqueeze(const FileValue& a,
                               const std::vector<int>& axes) {
  if (axes.empty()) return a;
  auto [at, is_new] = unsqueezed_.try_emplace({a.name, axes});
  if (!is_new) return at->second;
  Dims dims = a.dims;
  for (int axis : axes) dims.insert(dims.begin() + axis, 1);
  at->second =
      Op("Unsqueeze", {a, Wholes({axes.begin(), axes.end()})}, a.dtype, dims);
  squeezed_.try_emplace({at->second.name, axes}, a);
  return at->second;
}

FileValue FileGraph::Reshape(const FileValue& a, const Dims& dims) {
  if (dims == a.dims) return a;
  if (absl::c_count(dims, kOpenSize) > 1) {
    RefuseBatch("two axes of the size of the batch are reshaped");
  }
  return Op("Reshape", {a, Wholes(dims)}, a.dtype, dims);
}

FileValue FileGraph::Expand(const FileValue& a, const Dims& dims) {
  Axes missing(dims.size() - a.dims.size());
  std::iota(missing.begin(), missing.end(), 0);
  const FileValue whole = Unsqueeze(a, missing);
  Dims shape = dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (whole.dims[axis] == kOpenSize) shape[axis] = 1;
  }
  const Dims wide = JoinedDims(whole.dims, shape);
  if (wide == whole.dims) return whole;
  return Op("Expand", {whole, Wholes(shape)}, a.dtype, wide);
}

FileValue FileGraph::Pad(const FileValue& a, int axis, int64_t before,
                         int64_t after, double outside) {
  if (before == 0 && after == 0) return a;
  if (a.dims[axis] == kOpenSize) RefuseBatch("the batch is padded");
  std::vector<int64_t> pads(2 * a.rank());
  pads[axis] = before;
  pads[a.rank() + axis] = after;
  Dims dims = a.dims;
  dims[axis] += before + after;
  return Op("Pad", {a, Wholes(pads), Number(outside, a.dtype)}, a.dtype, dims);
}

FileValue FileGraph::Take(const FileValue& a, int axis, const NdArray& at) {
  if (a.dims[axis] == kOpenSize) {
    RefuseBatch("cells at fixed places of the batch are read");
  }
  Dims dims = a.dims;
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, at.dims().begin(), at.dims().end());
  return Op("Gather", {a, Constant(at)}, a.dtype, dims,
            {{"axis", WholeAttribute(axis)}});
}

FileValue FileGraph::ReduceLast(const std::string& op, const FileValue& a,
                                int count) {
  if (count == 0) return a;
  const auto first = a.dims.end() - count;
  if (std::find(first, a.dims.end(), kOpenSize) != a.dims.end()) {
    RefuseBatch("the batch is reduced");
  }
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), a.rank() - count);
  return Op(op, {a, Wholes(axes)}, a.dtype, {a.dims.begin(), first},
            {{"keepdims", WholeAttribute(0)}});
}

OnnxGraph FileGraph::Finish(std::vector<TensorInfo> inputs,
                            std::vector<TensorInfo> outputs) {
  std::set<std::string> read;
  for (TensorInfo& output : outputs) {
    read.insert(output.name);
    Rename(output.name);
  }
  OnnxGraph graph;
  for (size_t k = graph_.nodes.size(); k-- > 0;) {
    Node& node = graph_.nodes[k];
    if (!read.contains(node.outputs[0])) continue;
    read.insert(node.inputs.begin(), node.inputs.end());
    for (std::string& input : node.inputs) Rename(input);
    Rename(node.outputs[0]);
    node.name = node.outputs[0];
    graph.nodes.push_back(std::move(node));
  }
  absl::c_reverse(graph.nodes);
  for (auto& [name, array] : graph_.initializers) {
    if (read.contains(name)) graph.initializers[name] = std::move(array);
  }
  graph.inputs = std::move(inputs);
  graph.outputs = std::move(outputs);
  return graph;
}

}  // namespace ocannl::onnx
