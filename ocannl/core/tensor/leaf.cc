// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/leaf.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

Tensor AddLeaf(Graph& graph, TensorSource source, std::string name,
               std::string text, DType dtype, Boxed<ShapeSpec> spec,
               SourceLocation where, AskedMemory memory = {}) {
  const auto* param = std::get_if<ParamSource>(&source);
  const bool trains =
      param != nullptr && !param->is_input && IsFloat(ComputeDType(dtype));
  TensorId id = graph.Add({.source = std::move(source),
                           .name = std::move(name),
                           .text = std::move(text),
                           .dtype = dtype,
                           .has_gradient = trains,
                           .spec = std::move(spec),
                           .where = where,
                           .memory = std::move(memory)});
  return {&graph, id};
}

Tensor AddInput(Graph& graph, std::string name, DType dtype, ShapeSpec spec,
                SourceLocation where) {
  return AddLeaf(graph, ParamSource{.is_input = true}, name, name, dtype,
                 std::move(spec), where,
                 MemoryRequest{MemoryMode::kOnDevice, "the host writes it"});
}

// The parameter that is given again where `name` with `spec` is asked for.
Tensor ReusedParam(Graph& graph, const std::string& name, const ShapeSpec& spec,
                   SourceLocation where) {
  const std::optional<TensorId> id = graph.NextReused();
  std::string error;
  if (!id) {
    error = "the first call asked for fewer parameters";
  } else if (const TensorNode& node = graph[*id]; node.text != name) {
    error = absl::StrCat("the first call asked for `", node.text, "` here");
  } else {
    for (RowKind kind : kRowKinds) {
      if (spec[kind] == node.spec[kind]) continue;
      error =
          absl::StrCat("the first call gave it another ", Name(kind), " row");
    }
  }
  if (error.empty()) return {&graph, *id};
  return ErrorTensor(
      graph, name,
      absl::StrCat(error,
                   "; a function that is called again must ask for the "
                   "same parameters in the same order"),
      where);
}

// What is wrong with an array of `size` elements in the rows of `spec`.
std::optional<std::string> SpecError(const ShapeSpec& spec, int64_t size) {
  int64_t given = 1;
  std::vector<absl::string_view> open;
  for (RowKind kind : kRowKinds) {
    if (!spec[kind]) {
      open.push_back(Name(kind));
      continue;
    }
    for (int64_t d : *spec[kind]) {
      if (d <= 0) return absl::StrCat("a size of ", d, " is not positive");
      given *= d;
    }
  }
  if (open.size() > 1) {
    return absl::StrCat("the ", absl::StrJoin(open, " and "),
                        " rows are open; give all but one");
  }
  bool fits = open.empty() ? given == size : size % given == 0 && size > 0;
  if (fits) return std::nullopt;
  return absl::StrCat("the array has ", size,
                      " elements, which do not fill the given axes of ", given,
                      "; change the array or the sizes");
}

// What is wrong with `array` in the rows of `spec`. Of an open batch row, each
// element holds whole axes of the array: others would mix the cells of
// examples.
std::optional<std::string> DataError(const ShapeSpec& spec,
                                     const NdArray& array) {
  std::optional<std::string> error = SpecError(spec, array.size());
  if (error || spec[RowKind::kBatch] || array.dims().size() < 2) return error;
  const int64_t wanted = NumElements(*spec[RowKind::kOutput]) *
                         NumElements(*spec[RowKind::kInput]);
  int64_t cells = 1;
  for (size_t k = array.dims().size(); k > 0 && cells < wanted; --k) {
    cells *= array.dims()[k - 1];
  }
  if (cells == wanted) return std::nullopt;
  return absl::StrCat(
      "the array has the axes ", absl::StrJoin(array.dims(), ", "),
      ", of which the last ones do not hold an example of ", wanted,
      wanted == 1 ? " cell" : " cells", "; change the sizes, or reshape it");
}

// `value` as the first one of `param`: of its dtype if that is open, or rounded
// by the store if the dtype of `param` is.
Tensor FirstValueOf(Tensor param, Tensor value) {
  Graph& graph = *param.graph;
  if (IsNumberLike(value.node().source) || graph.IsOpen(value.id)) {
    std::vector<TensorId> ids = {param.id, value.id};
    UniteDTypes(graph, 0, DType::kF32, param.node().where, ids);
    value.id = ids[1];
    if (std::holds_alternative<ErrorSource>(value.node().source)) return value;
  }
  const TensorNode &to = param.node(), &from = value.node();
  std::string error;
  if (from.has_gradient) {
    error =
        "its first value depends on a parameter; compute it from numbers, "
        "data and random numbers";
  } else if (graph.IsOpen(param.id) ? !IsFloat(ComputeDType(from.dtype))
                                    : from.dtype != to.dtype) {
    error = absl::StrCat("it is ", Name(to.dtype), ", but its first value is ",
                         Name(from.dtype), "; convert that");
  }
  if (error.empty()) return value;
  return ErrorTensor(graph, to.name, error, to.where);
}

const std::optional<TensorId>& InitOf(Tensor parameter) {
  return std::get<ParamSource>(parameter.node().source).init;
}

std::string NameOf(const Initializer& init) {
  if (const auto* named = init.target<NamedInit>()) return named->name;
  const auto* function = init.target<Tensor (*)(Tensor)>();
  return function != nullptr && *function == DefaultInit ? "default" : "";
}

// Finds the words of `shared`, the first value of `parameter`, that are those
// of the keys of its draws. Returns whether each block is of such a key.
bool FindKeys(Tensor parameter, uint32_t randoms, SharedInit& shared) {
  const Graph& graph = *parameter.graph;
  const auto nodes = *PlainFirstValue(graph, parameter.id);
  const std::vector<TensorId> words = WordsOf(graph, nodes);
  auto find = [&](const std::vector<TensorId>& operands) {
    for (uint32_t draw = 0; draw < shared.randoms; ++draw) {
      const auto key = KeyWords(randoms + draw + 1, graph.seed());
      bool is_key = true;
      for (int half : {0, 1}) {
        const auto word = absl::c_lower_bound(words, operands[half]);
        is_key = is_key && word != words.end() && *word == operands[half] &&
                 WordOf(graph[*word]) == key[half];
      }
      if (!is_key) continue;
      for (int half : {0, 1}) {
        const auto word = absl::c_lower_bound(words, operands[half]);
        shared.words[word - words.begin()] = {
            .value = 0, .draw = static_cast<int32_t>(draw), .half = half};
      }
      return true;
    }
    return false;
  };
  return absl::c_all_of(nodes, [&](TensorId id) {
    const auto* compute = std::get_if<ComputeSource>(&graph[id].source);
    const bool is_block =
        compute != nullptr && compute->op && IsDraw(*compute->op);
    return !is_block || find(compute->operands);
  });
}

// Whether the first value of `parameter` by `init` is made later: it is like
// that of an earlier parameter.
bool HasLaterInit(Tensor parameter, const Initializer& init) {
  const std::string name = NameOf(init);
  if (name.empty()) return false;
  Graph& graph = *parameter.graph;
  const std::vector<SharedInit>& all = graph.shared_inits();
  const auto shared = absl::c_find_if(all, [&](const SharedInit& each) {
    return each.name == name && each.dtype == parameter.node().dtype;
  });
  if (shared == all.end()) return false;
  graph.SetLaterInit(parameter.id, static_cast<int32_t>(shared - all.begin()));
  return true;
}

// Shares the first value, which `init` made after `randoms` random operations,
// with parameters that come later, if it can.
void ShareInit(Tensor parameter, const Initializer& init, uint32_t randoms) {
  SharedInit shared{
      .name = NameOf(init), .dtype = parameter.node().dtype, .make = init};
  if (shared.name.empty()) return;
  Graph& graph = *parameter.graph;
  const auto form = FormOf(graph, parameter.id);
  if (!form || graph.IsOpen(*InitOf(parameter))) return;
  shared.like = parameter.id.index;
  shared.nodes = InitOf(parameter)->index - parameter.id.index;
  shared.randoms = graph.randoms() - randoms;
  shared.form = form->form;
  for (uint32_t word : form->words) shared.words.push_back({.value = word});
  if (FindKeys(parameter, randoms, shared)) {
    graph.AddSharedInit(std::move(shared));
  }
}

}  // namespace

Tensor Data(Graph& graph, std::string name, NdArray array, ShapeSpec spec,
            SourceLocation where) {
  if (std::optional<Tensor> error = NameError(graph, name, where)) {
    return *error;
  }
  if (!spec[RowKind::kBatch] && !spec[RowKind::kInput]) {
    spec[RowKind::kInput] = Dims();
  }
  std::optional<std::string> error = DataError(spec, array);
  if (error) return ErrorTensor(graph, name, *error, where);
  DType dtype = array.dtype();
  auto data = std::make_shared<const NdArray>(std::move(array));
  return AddLeaf(graph, DataSource{std::move(data)}, name, name, dtype,
                 std::move(spec), where);
}

Tensor Literal(Graph& graph, const Shape& shape,
               const std::vector<float>& values, std::vector<double> digits,
               SourceLocation where) {
  ShapeSpec spec = SpecOf(shape);
  int64_t size = static_cast<int64_t>(values.size());
  std::optional<std::string> error = SpecError(spec, size);
  auto number = [](std::string* out, auto v) { *out += NumberText(v); };
  std::string text = digits.empty() ? absl::StrJoin(values, ", ", number)
                                    : absl::StrJoin(digits, ", ", number);
  text = absl::StrCat("[", text, "]");
  if (error) return ErrorTensor(graph, text, *error, where);
  if (digits.empty()) digits.assign(values.begin(), values.end());
  auto array = [&](const auto& of) {
    return std::make_shared<const NdArray>(NdArray::Of(shape.dims(), of));
  };
  Tensor literal =
      AddLeaf(graph, DataSource{array(values), array(digits)}, "",
              std::move(text), DType::kF32, std::move(spec), where,
              MemoryRequest{MemoryMode::kMaterialized, "a literal"});
  graph.Open(literal.id);
  return literal;
}

Tensor Input(Graph& graph, std::string name, absl::string_view rows,
             DType dtype, SourceLocation where) {
  if (std::optional<Tensor> error = NameError(graph, name, where)) {
    return *error;
  }
  absl::StatusOr<ShapeSpec> spec = ParseRows(rows);
  if (!spec.ok()) {
    return ErrorTensor(graph, name, spec.status().message(), where);
  }
  return AddInput(graph, std::move(name), dtype, *std::move(spec), where);
}

Tensor Placeholder(Graph& graph, std::string name, SourceLocation where) {
  if (std::optional<Tensor> error = NameError(graph, name, where)) {
    return *error;
  }
  ShapeSpec spec;
  spec[RowKind::kInput] = Dims();
  return AddInput(graph, std::move(name), DType::kF32, std::move(spec), where);
}

Tensor Param(Graph& graph, std::string name, ShapeSpec spec,
             std::optional<DType> dtype, const Initializer& init,
             SourceLocation where) {
  if (std::optional<Tensor> error = NameError(graph, name, where)) {
    return *error;
  }
  Dims batch = spec[RowKind::kBatch].value_or(Dims());
  if (!batch.empty()) {
    return ErrorTensor(graph, name,
                       "a parameter has no batch axes; give output "
                       "and input axes only",
                       where);
  }
  for (RowKind kind : kRowKinds) {
    for (int64_t d : spec[kind].value_or(Dims())) {
      if (d > 0) continue;
      return ErrorTensor(graph, name,
                         absl::StrCat("a size of ", d, " is not positive"),
                         where);
    }
  }
  if (graph.reuses_parameters()) return ReusedParam(graph, name, spec, where);
  Tensor param = AddLeaf(graph, ParamSource{}, name, name,
                         dtype.value_or(DType::kF32), std::move(spec), where);
  graph.AddParameter(param.id);
  if (!dtype) graph.Open(param.id);
  if (!init || HasLaterInit(param, init)) return param;
  const uint32_t randoms = graph.randoms();
  Tensor value = init(param);
  if (value.graph == nullptr) {
    value = ErrorTensor(graph, name, "its initializer gives no tensor", where);
  } else if (value.graph != &graph) {
    value =
        ErrorTensor(graph, TwoGraphs(param.node(), value.node(), where), where);
  }
  const bool is_error =
      std::holds_alternative<ErrorSource>(value.node().source);
  if (!is_error) value = FirstValueOf(param, value);
  graph.SetInit(param.id, value.id);
  ShareInit(param, init, randoms);
  return param;
}

Tensor Offsets(Graph& graph, DType dtype, SourceLocation where) {
  return AddLeaf(graph, OffsetsSource{}, "", "offsets", dtype, {}, where);
}

Tensor Range(Graph& graph, int64_t size, DType dtype, SourceLocation where) {
  const std::string text =
      absl::StrCat("range(", size == 0 ? "" : absl::StrCat(size), ")");
  if (size < 0) {
    return ErrorTensor(graph, text, "its size is below 0; give it one from 1",
                       where);
  }
  ShapeSpec spec;
  spec[RowKind::kBatch] = spec[RowKind::kInput] = Dims();
  spec[RowKind::kOutput] = Dims{size};
  return AddLeaf(graph, OffsetsSource{}, "", text, dtype, std::move(spec),
                 where);
}

Tensor EmbedSymbol(Graph& graph, int32_t static_index, SourceLocation where) {
  if (static_cast<size_t>(static_index) >= graph.statics().size()) {
    return ErrorTensor(
        graph, absl::StrCat("!@", static_index),
        "no static index has that number; give that of AddStatic", where);
  }
  return AddLeaf(graph, SymbolSource{static_index}, "",
                 absl::StrCat("!@", graph.statics()[static_index].name),
                 DType::kF32, {}, where);
}

Tensor EmbedDim(Tensor tensor, std::vector<RowKind> rows,
                SourceLocation where) {
  std::string text =
      absl::StrCat("dim(", tensor.node().name, ", ",
                   absl::StrJoin(rows, "*",
                                 [](std::string* out, RowKind kind) {
                                   absl::StrAppend(out, Name(kind));
                                 }),
                   ")");
  return AddLeaf(*tensor.graph,
                 DimSource{.of = tensor.id, .rows = std::move(rows)}, "",
                 std::move(text), DType::kF32, {}, where);
}

}  // namespace ocannl
