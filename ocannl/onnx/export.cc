// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/export.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/assign/gather.h"
#include "ocannl/core/assign/loops.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/version.h"
#include "ocannl/onnx/export/file_graph.h"
#include "ocannl/onnx/export/nest.h"
#include "ocannl/onnx/export/term.h"
#include "ocannl/onnx/write.h"

namespace ocannl::onnx {
namespace {

constexpr int64_t kOpset = 20;

bool Contains(absl::Span<const Tensor> tensors, TensorId id) {
  return absl::c_any_of(tensors,
                        [&](Tensor tensor) { return tensor.id == id; });
}

FileValue Offsets(const Dims& dims, FileGraph& to) {
  NdArray offsets(DType::kI64, dims);
  for (int64_t k = 0; k < offsets.size(); ++k) {
    offsets.values<int64_t>()[k] = k;
  }
  return to.Constant(offsets);
}

// `a`, of a tensor of the dims `from`, in other dims.
FileValue Reshaped(const FileValue& a, const Dims& from, Dims dims,
                   FileGraph& to) {
  const FileValue whole = to.Expand(a, from);
  for (size_t axis = 0; axis < whole.dims.size(); ++axis) {
    if (whole.dims[axis] != kOpenSize) continue;
    if (axis > 0 || dims.empty() || dims[0] != from[0]) {
      RefuseBatch("the axis of the batch becomes others");
    }
    dims[0] = kOpenSize;
  }
  return to.Reshape(whole, dims);
}

// Prefix sums of `a`, of a tensor of those dims.
FileValue Scanned(const FileValue& a, const Dims& dims, size_t axis,
                  FileGraph& to) {
  const FileValue cells = to.Cast(to.Expand(a, dims), ComputeDType(a.dtype));
  if (cells.dims[axis] == kOpenSize) RefuseBatch("the batch is summed");
  const FileValue along = to.Number(static_cast<double>(axis), DType::kI64);
  return to.Op("CumSum", {cells, along}, cells.dtype, cells.dims);
}

class GraphExporter {
 public:
  // `batch`: the size of the leftmost axis of inputs that is open; 0: none.
  GraphExporter(train::Model& model, const Context& context,
                const std::vector<Tensor>& inputs, const ExportOptions& options,
                int64_t batch)
      : graph_(model.graph),
        shapes_(model.shapes),
        context_(context),
        inputs_(inputs),
        options_(options),
        batch_(batch) {}

  // Refusals are those of one tensor, with its place. Errors: a parameter that
  // was never written, an input that is not in the list.
  absl::StatusOr<OnnxGraph> Write(const std::vector<Tensor>& outputs) {
    std::vector<TensorId> roots;
    for (Tensor output : outputs) roots.push_back(output.id);
    const std::vector<TensorId> order = TopologicalOrder(graph_, roots, false);
    std::map<std::string, std::string> unknown = options_.names;
    for (TensorId id : order) {
      unknown.erase(graph_[id].name);
      if (to_.Reserve(NameOf(id))) continue;
      return UserError(Describe(graph_[id]), " is `", NameOf(id),
                       "` in the file, as another tensor is; give other names");
    }
    if (!unknown.empty()) {
      return UserError("the outputs depend on no `", unknown.begin()->first,
                       "` to be renamed; give names of tensors of the graph");
    }
    for (TensorId id : order) {
      to_.Begin(NameOf(id));
      OCANNL_ASSIGN_OR_RETURN(FileValue value, WriteTensor(id));
      if (Contains(outputs, id)) {
        if (value.batch_power != 0) RefuseBatch("it depends on its size");
        value = to_.Output(to_.Expand(value, DimsOf(id)));
      }
      to_.SetName(value);
      values_[id] = value;
    }
    std::vector<TensorInfo> results;
    for (Tensor output : outputs) {
      results.push_back(InfoOf(values_.at(output.id)));
    }
    std::vector<TensorInfo> inputs;
    for (Tensor input : inputs_) inputs.push_back(InfoOf(InputOf(input.id)));
    return to_.Finish(std::move(inputs), std::move(results));
  }

  // The tensor that Write has come to.
  TensorId at() const { return at_; }

 private:
  std::string NameOf(TensorId id) const {
    const auto found = options_.names.find(graph_[id].name);
    return found == options_.names.end() ? graph_[id].name : found->second;
  }

  Dims DimsOf(TensorId id) const { return shapes_.at(id).dims(); }

  TensorInfo InfoOf(const FileValue& value) const {
    TensorInfo info = {.name = value.name,
                       .dtype_code = CodeOfDType(value.dtype),
                       .dims = std::vector<Dim>()};
    for (int64_t size : value.dims) {
      const bool is_open = size == kOpenSize;
      info.dims->push_back({is_open ? std::nullopt : std::optional(size),
                            is_open ? options_.batch : ""});
    }
    return info;
  }

  FileValue InputOf(TensorId id) const {
    FileValue value = {NameOf(id), graph_[id].dtype, DimsOf(id)};
    const bool is_open =
        batch_ > 0 && !value.dims.empty() && value.dims[0] == batch_;
    if (is_open) value.dims[0] = kOpenSize;
    return value;
  }

  absl::StatusOr<FileValue> WriteTensor(TensorId id) {
    at_ = id;
    const TensorNode& node = graph_[id];
    if (Contains(inputs_, id)) return InputOf(id);
    if (const auto* parameter = std::get_if<ParamSource>(&node.source)) {
      if (parameter->is_input) {
        return UserError("the input ", Describe(node),
                         " is not in the list of inputs; add it");
      }
      OCANNL_ASSIGN_OR_RETURN(NdArray array, context_.Read(node.name));
      return to_.Initializer(NameOf(id), std::move(array));
    }
    FileValue value = std::visit(
        Overload{
            [&](const NumberSource& s) {
              return to_.Number(s.value, node.dtype);
            },
            [&](const DataSource& s) {
              return to_.Initializer(NameOf(id), s.data->Reshaped(DimsOf(id)));
            },
            [&](const ParamSource&) { return FileValue(); },
            [&](const OffsetsSource&) { return Offsets(DimsOf(id), to_); },
            [&](const SymbolSource& s) { return SymbolValue(s, node.dtype); },
            [&](const DimSource& s) { return Size(s, node.dtype); },
            [&](const SliceSource&) -> FileValue {
              Refuse("a static index has no form in ONNX; slice by a number");
            },
            [&](const ReshapeSource& s) {
              return Reshaped(values_.at(s.of), DimsOf(s.of), DimsOf(id), to_);
            },
            [&](const ScanSource& s) {
              return Scanned(values_.at(s.of), DimsOf(s.of), AxisOf(shapes_, s),
                             to_);
            },
            [&](const ComputeSource& s) { return Computed(id, s); },
            [&](const ErrorSource&) -> FileValue {
              CHECK(false) << "inference let it pass";
              __builtin_unreachable();
            },
        },
        node.source);
    return to_.Cast(value, node.dtype);
  }

  FileValue SymbolValue(const SymbolSource& source, DType dtype) {
    const std::optional<int32_t> step = graph_.Step();
    if (source.static_index != kStep && source.static_index != step) {
      Refuse("the static index ", graph_.statics()[source.static_index].name,
             " has no form in ONNX");
    }
    return to_.Number(0, dtype);
  }

  // Of a name: its axis is not looked for. Where it may be the batch, it is.
  FileValue Size(const DimSource& source, DType dtype) {
    int64_t product = 1;
    int power = 0;
    if (!source.name.empty()) {
      product = shapes_.names.at(source.of).at(source.name);
      if (batch_ > 0 && product == batch_) RefuseBatch("a size is asked for");
    }
    auto found = values_.find(source.of);
    size_t axis = 0;
    for (RowKind row : kRowKinds) {
      for (int64_t size : shapes_.at(source.of)[row]) {
        ++axis;
        if (!absl::c_linear_search(source.rows, row)) continue;
        product *= size;
        if (batch_ == 0) continue;
        if (found == values_.end()) RefuseBatch("a size is asked for");
        const Dims& dims = found->second.dims;
        const size_t missing = DimsOf(source.of).size() - dims.size();
        const bool is_there = axis > missing;
        if (is_there && dims[axis - 1 - missing] == kOpenSize) ++power;
      }
    }
    FileValue value = to_.Number(static_cast<double>(product), dtype);
    value.batch_power = power;
    return value;
  }

  FileValue Computed(TensorId id, const ComputeSource& source) {
    std::vector<ProjectedPiece> pieces = ProjectPieces(graph_, shapes_, id);
    const Dims dims = DimsOf(id);
    if (pieces.empty()) {
      return to_.Number(OutsideOf(source), graph_[id].dtype);
    }
    const auto gather = FindGather(shapes_, id, source, pieces);
    if (gather && !gather->scatters) {
      if (auto found = LookedUp(source, *gather, dims)) return *found;
    }
    std::optional<FileValue> all;
    for (ProjectedPiece& piece : pieces) {
      FileValue value = Piece(id, source, std::move(piece));
      if (all) {
        value = to_.Op(std::string(Info(*source.accum).name), {*all, value},
                       value.dtype, JoinedDims(all->dims, value.dims));
      }
      all = value;
    }
    return *all;
  }

  NestOperand Operand(TensorId id, Indices indices) const {
    return {values_.at(id), DimsOf(id), std::move(indices)};
  }

  FileValue Piece(TensorId id, const ComputeSource& source,
                  ProjectedPiece piece) {
    ExprPool pool;
    std::vector<Expr> args;
    Nest nest = {.extents = piece.projections.extents,
                 .result = piece.projections.lhs,
                 .operands = {},
                 .accum = source.accum,
                 .outside = OutsideOf(source),
                 .is_product = source.op == Op::kMul,
                 .is_copy = !source.has_op(),
                 .term = nullptr};
    for (size_t k = 0; k < piece.operands.size(); ++k) {
      const int number = piece.operands[k];
      args.push_back(
          OperandLeaf(pool, graph_, source, number, static_cast<int>(k)));
      nest.operands.push_back(
          Operand(source.operands[number], piece.projections.operands[k]));
    }
    const Expr term = Term(source, args, graph_[id].dtype);
    nest.term = [&](absl::Span<const FileValue> values) {
      return WriteTerm(pool, term.id(), values, to_);
    };
    return WriteNest(nest, DimsOf(id), to_);
  }

  // None: ids and table have a loop in common, or the table has one row.
  std::optional<FileValue> LookedUp(const ComputeSource& source,
                                    const GatherIndices& gather,
                                    const Dims& dims) {
    Lookup lookup = {.table = Operand(source.operands[1], gather.table),
                     .ids = Operand(gather.id_source, gather.ids),
                     .extents = gather.extents,
                     .result = gather.cells,
                     .accum = source.accum};
    for (IteratorId loop : gather.extents.ids()) {
      const bool in_both =
          DependsOn(gather.table, loop) && DependsOn(gather.ids, loop);
      if (in_both && gather.extents[loop] > 1) return std::nullopt;
    }
    const FileValue& table = lookup.table.value;
    const int missing =
        static_cast<int>(lookup.table.dims.size()) - table.rank();
    const int axis = gather.axis - missing;
    if (axis < 0 || table.dims[axis] == 1) return std::nullopt;
    lookup.table.indices[gather.axis] =
        Iterator(lookup.extents.Add(lookup.table.dims[gather.axis]));
    return WriteLookup(lookup, dims, to_);
  }

  const Graph& graph_;
  const Shapes& shapes_;
  const Context& context_;
  const std::vector<Tensor>& inputs_;
  const ExportOptions& options_;
  const int64_t batch_;
  FileGraph to_;
  absl::flat_hash_map<TensorId, FileValue> values_;
  TensorId at_;
};

// Errors: those of ToOnnx that need no file.
absl::Status Check(train::Model& model, const std::vector<Tensor>& outputs,
                   const std::vector<Tensor>& inputs) {
  if (outputs.empty()) return UserError("there is no output; give one");
  std::vector<TensorId> roots;
  for (Tensor output : outputs) {
    OCANNL_RETURN_IF_ERROR(train::CheckIsIn(model, output));
    if (absl::c_linear_search(roots, output.id)) {
      return UserError("`", output.node().name,
                       "` is an output twice; give it once");
    }
    roots.push_back(output.id);
  }
  OCANNL_RETURN_IF_ERROR(InferUses(model.graph, roots, model.shapes));
  const std::vector<TensorId> order =
      TopologicalOrder(model.graph, roots, false);
  for (size_t k = 0; k < inputs.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(train::CheckIsIn(model, inputs[k]));
    const TensorSource& source = inputs[k].node().source;
    const auto* leaf = std::get_if<ParamSource>(&source);
    const bool is_input = (leaf != nullptr && leaf->is_input) ||
                          std::holds_alternative<DataSource>(source);
    if (!is_input || !absl::c_linear_search(order, inputs[k].id)) {
      return UserError("`", inputs[k].node().name, "` is no input of `",
                       outputs[0].node().name,
                       "`: give tensors of Input() or Data() that an output "
                       "is computed from");
    }
    if (Contains(absl::MakeConstSpan(inputs).first(k), inputs[k].id)) {
      return UserError("`", inputs[k].node().name,
                       "` is an input twice; give it once");
    }
  }
  return absl::OkStatus();
}

// The leftmost size of the first input that has axes; 0: there is none above 1.
int64_t BatchOf(const train::Model& model, const std::vector<Tensor>& inputs) {
  for (Tensor input : inputs) {
    const Dims dims = model.shapes.at(input.id).dims();
    if (!dims.empty()) return dims[0] > 1 ? dims[0] : 0;
  }
  return 0;
}

}  // namespace

absl::StatusOr<OnnxModel> ToOnnx(train::Model& model,
                                 const std::vector<Tensor>& outputs,
                                 const std::vector<Tensor>& inputs,
                                 const Context& context,
                                 const ExportOptions& options) {
  OCANNL_RETURN_IF_ERROR(Check(model, outputs, inputs));
  OnnxModel file = {.opsets = {{"", kOpset}},
                    .producer = absl::StrCat("ocannl ", kVersion)};
  int64_t batch = options.batch.empty() ? 0 : BatchOf(model, inputs);
  while (true) {
    GraphExporter exporter(model, context, inputs, options, batch);
    try {
      OCANNL_ASSIGN_OR_RETURN(file.graph, exporter.Write(outputs));
      return file;
    } catch (const Refusal& refusal) {
      const std::string place = Describe(model.graph[exporter.at()]);
      if (!refusal.of_batch) {
        return absl::UnimplementedError(
            absl::StrCat(place, " cannot be exported: ", refusal.message));
      }
      file.metadata["fixed_batch"] = absl::StrCat(place, ": ", refusal.message);
    }
    CHECK(batch > 0) << "only an open batch is refused";
    batch = 0;
  }
}

absl::Status Export(train::Model& model, const std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs, const Context& context,
                    const std::string& path, const ExportOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const OnnxModel file,
                          ToOnnx(model, outputs, inputs, context, options));
  return WriteModelFile(path, file);
}

}  // namespace ocannl::onnx
