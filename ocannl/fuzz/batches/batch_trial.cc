// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/batches/batch_trial.h"

#include <cmath>
#include <cstring>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/batches/fill_rows.h"

namespace ocannl::fuzz {
namespace {

// A size that no axis has but the one of rows.
constexpr int64_t kUniqueRows = 7919;

// The graph of a case, with shapes.
struct ShapedGraph {
  Graph graph;
  Names names = {};
  Shapes shapes = {};
  std::vector<Tensor> leaves = {};  // the operands, then the parameters
  TensorId result = {};
};

absl::Status AddOperand(const BatchCase& one, const BatchOperand& operand,
                        absl::string_view rows, ShapedGraph& shaped) {
  std::vector<std::pair<std::string, std::string>> sizes;
  for (const auto& [name, size] : one.sizes) {
    sizes.emplace_back(name, absl::StrCat(size));
  }
  const std::string shape =
      absl::StrReplaceAll(WithRows(operand.shape, rows), sizes);
  ShapeSpec spec = SpecOf(Shape());
  if (!shape.empty()) {
    OCANNL_ASSIGN_OR_RETURN(spec, ParseRows(shape));
  }
  Graph& graph = shaped.graph;
  // A gradient has what has no batch axes.
  const Tensor tensor =
      spec[RowKind::kBatch]->empty()
          ? Param(graph, operand.name, spec, DType::kF32, nullptr)
          : Input(graph, operand.name, shape);
  shaped.names.tensors.emplace(operand.name, tensor);
  shaped.leaves.push_back(tensor);
  return absl::OkStatus();
}

// `rows` is empty where a row is alone.
absl::StatusOr<std::unique_ptr<ShapedGraph>> MakeGraph(const BatchCase& one,
                                                       absl::string_view rows) {
  auto shaped = std::make_unique<ShapedGraph>();
  for (const BatchOperand& operand : one.operands) {
    OCANNL_RETURN_IF_ERROR(AddOperand(one, operand, rows, *shaped));
  }
  for (const auto& [name, size] : one.sizes) {
    shaped->names.numbers.emplace(name, static_cast<double>(size));
  }
  OCANNL_ASSIGN_OR_RETURN(
      ParsedTensor parsed,
      ParseTensor(shaped->graph, ExpressionOf(one, rows.empty()),
                  shaped->names));
  shaped->leaves.insert(shaped->leaves.end(), parsed.parameters.begin(),
                        parsed.parameters.end());
  shaped->result = parsed.tensor.id;
  OCANNL_RETURN_IF_ERROR(
      InferShapes(shaped->graph, {shaped->result}, shaped->shapes));
  return shaped;
}

// The axis of rows of `tensor` in a graph of kUniqueRows; none: it has none.
std::optional<size_t> RowAxis(const ShapedGraph& shaped, TensorId tensor) {
  const auto shape = shaped.shapes.find(tensor);
  if (shape == shaped.shapes.end()) return std::nullopt;
  const Dims dims = shape->second.dims();
  const auto axis = absl::c_find(dims, kUniqueRows);
  if (axis == dims.end()) return std::nullopt;
  return axis - dims.begin();
}

// Values and gradients. Keeps the gradients of `names`, as far as there are
// any, and leaves their names in `kept`.
absl::StatusOr<Assignments> MakeCode(ShapedGraph& shaped,
                                     const std::vector<std::string>& names,
                                     std::vector<std::string>& kept) {
  Graph& graph = shaped.graph;
  const TensorId result = shaped.result;
  OCANNL_RETURN_IF_ERROR(
      graph.SetMemoryMode(result, {MemoryMode::kMaterialized, "the result"}));
  ComputedBy computed_by;
  OCANNL_ASSIGN_OR_RETURN(Assignments code,
                          Forward(graph, shaped.shapes, result, computed_by));
  kept.push_back(graph[result].name);
  if (graph[result].has_gradient) {
    OCANNL_ASSIGN_OR_RETURN(
        BackwardCode backward,
        Backward(graph, shaped.shapes, result, computed_by));
    Append(code, backward.Whole());
    for (const std::string& name : names) {
      const std::string gradient = absl::StrCat(name, ".grad");
      if (Keep(code, gradient).ok()) kept.push_back(gradient);
    }
  }
  code.name = "batch";
  return code;
}

// What is compared of a tensor that has a gradient, and of the result.
std::vector<std::string> NamesOfGradients(const BatchCase& one,
                                          const ShapedGraph& shaped) {
  std::vector<std::string> names = {one.lets[0].name};
  for (const Tensor& leaf : shaped.leaves) names.push_back(leaf.node().name);
  return names;
}

bool SameCell(const NdArray& a, int64_t cell_of_a, const NdArray& b,
              int64_t cell_of_b) {
  const size_t size = SizeOf(a.dtype());
  if (std::memcmp(a.data() + cell_of_a * size, b.data() + cell_of_b * size,
                  size) == 0) {
    return true;
  }
  return std::isnan(a.AsDouble(cell_of_a)) && std::isnan(b.AsDouble(cell_of_b));
}

// An array with rows, or as one row.
struct Rows {
  const NdArray& array;
  const Batch& batch;
  int64_t num_rows, inner;

  Rows(const NdArray& of, const Batch& in, std::optional<size_t> axis)
      : array(of), batch(in), num_rows(1), inner(of.size()) {
    if (!axis || in.alone) return;
    num_rows = static_cast<int64_t>(in.rows.size());
    inner = 1;
    for (size_t k = *axis + 1; k < of.dims().size(); ++k) {
      inner *= of.dims()[k];
    }
  }
  int64_t cells_of_row() const { return array.size() / num_rows; }
  // `at` is the place of the row in the batch.
  int64_t Cell(int64_t at, int64_t k) const {
    return (k / inner * num_rows + at) * inner + k % inner;
  }
};

// The first cell in which row `at` of `a` and row `at_b` of `b` differ.
std::optional<int64_t> FirstCell(const Rows& a, int64_t at, const Rows& b,
                                 int64_t at_b) {
  for (int64_t k = 0; k < a.cells_of_row(); ++k) {
    if (!SameCell(a.array, a.Cell(at, k), b.array, b.Cell(at_b, k))) return k;
  }
  return std::nullopt;
}

std::string Describe(absl::string_view name, bool has_rows, int64_t row,
                     int64_t k, const Rows& a, int64_t at, const Rows& b,
                     int64_t at_b) {
  return absl::StrFormat("%s, %scell %d, is %a in batch %s and %a in batch %s",
                         name, has_rows ? absl::StrCat("row ", row, ", ") : "",
                         k, a.array.AsDouble(a.Cell(at, k)), ToString(a.batch),
                         b.array.AsDouble(b.Cell(at_b, k)), ToString(b.batch));
}

bool IsFinite(const std::map<std::string, NdArray>& arrays) {
  return absl::c_all_of(arrays, [](const auto& entry) {
    const NdArray& array = entry.second;
    for (int64_t k = 0; k < array.size(); ++k) {
      if (!std::isfinite(array.AsDouble(k))) return false;
    }
    return true;
  });
}

}  // namespace

absl::StatusOr<BatchTrial> BatchTrial::Make(const BatchCase& one) {
  BatchTrial trial;
  trial.has_padding_ = one.property == BatchProperty::kTerms;
  OCANNL_ASSIGN_OR_RETURN(auto unique,
                          MakeGraph(one, absl::StrCat(kUniqueRows)));
  std::map<std::string, std::optional<size_t>> axes;
  for (TensorId id{0}; id.index < unique->graph.size(); ++id.index) {
    axes[unique->graph[id].name] = RowAxis(*unique, id);
  }
  for (const Batch& batch : one.batches) {
    OCANNL_ASSIGN_OR_RETURN(
        auto shaped,
        MakeGraph(one, batch.alone ? "" : absl::StrCat(batch.rows.size())));
    std::vector<std::string> kept;
    OCANNL_ASSIGN_OR_RETURN(
        Assignments code,
        MakeCode(*shaped, NamesOfGradients(one, *unique), kept));
    OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(code, {}));
    std::vector<NdArray> before;
    for (const Buffer& buffer : program.buffers) {
      before.emplace_back(buffer.dtype, buffer.dims);
      if (!IsInput(buffer.role)) continue;
      const auto array = absl::c_find_if(
          code.arrays, [&](const Array& a) { return a.name == buffer.name; });
      if (array != code.arrays.end() && array->data) {
        before.back() = array->data->Reshaped(buffer.dims);
      } else if (buffer.dtype == DType::kF32) {
        FillRows(one, buffer.name, batch, axes[buffer.name], before.back());
      }
    }
    for (const std::string& name : kept) {
      const auto axis = axes[std::string(absl::StripSuffix(name, ".grad"))];
      // The gradient of what has no rows is a sum over rows.
      if (axis || one.property == BatchProperty::kTerms) {
        trial.row_axes_[name] = axis;
      }
    }
    trial.runs_.push_back({batch, std::move(program), std::move(before)});
  }
  return trial;
}

absl::StatusOr<BatchTrial::Arrays> BatchTrial::Compute(const Run& run,
                                                       const Backend& backend) {
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          backend.Compile(run.program));
  std::vector<DeviceMemory> memory;
  std::vector<std::byte*> buffers;
  for (const NdArray& array : run.before) {
    auto one = DeviceMemory::Allocate(array.bytes(), backend.memory());
    CHECK_OK(one);
    CHECK_OK(one->CopyIn(array.data()));
    buffers.push_back(one->address());
    memory.push_back(*std::move(one));
  }
  executable->Run(buffers, std::vector<int64_t>(run.program.statics.size(), 0));
  Arrays arrays;
  for (BufferId k : run.program.buffers.ids()) {
    const Buffer& buffer = run.program.buffers[k];
    if (!IsResult(buffer.role)) continue;
    NdArray array(buffer.dtype, buffer.dims);
    CHECK_OK(memory[k.index].CopyOut(array.data()));
    arrays.emplace(buffer.name, std::move(array));
  }
  return arrays;
}

std::string BatchTrial::Difference(const Batch& batch, const Arrays& arrays,
                                   const Arrays& first) const {
  const Batch& all = runs_[0].batch;
  for (const auto& [name, axis] : row_axes_) {
    const auto one = arrays.find(name);
    const auto other = first.find(name);
    if (one == arrays.end() || other == first.end()) continue;
    const Rows a(other->second, all, axis);
    const Rows b(one->second, batch, axis);
    if (a.cells_of_row() != b.cells_of_row()) {
      return absl::StrCat(name, " has other cells");
    }
    for (int64_t at_b = 0; at_b < b.num_rows; ++at_b) {
      const int64_t row = axis ? batch.rows[at_b] : 0;
      const int64_t at =
          axis ? absl::c_find(all.rows, row) - all.rows.begin() : 0;
      if (at == a.num_rows) continue;
      const std::optional<int64_t> k = FirstCell(a, at, b, at_b);
      if (k) {
        return Describe(name, axis.has_value(), row, *k, a, at, b, at_b);
      }
    }
  }
  return "";
}

std::string BatchTrial::Try(const Backend& backend) const {
  Arrays first;
  for (const Run& run : runs_) {
    absl::StatusOr<Arrays> arrays = Compute(run, backend);
    if (!arrays.ok()) return std::string(arrays.status().message());
    if (&run == &runs_[0]) {
      first = *std::move(arrays);
      if (has_padding_ && !IsFinite(first)) return "";
      continue;
    }
    std::string difference = Difference(run.batch, *arrays, first);
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace ocannl::fuzz
