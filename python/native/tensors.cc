// SPDX-License-Identifier: Apache-2.0
//
// Tensors and their operations. An argument is a node or a number.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "python/native/arrays.h"
#include "python/native/element_types.h"
#include "python/native/interruptible.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

using Operand = std::variant<Node, int64_t, double>;

Arg ToArg(const Operand& operand, const UserLine& where) {
  return std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Node>) {
          return Arg(value.tensor, where);
        } else {
          return Arg(value, where);
        }
      },
      operand);
}

std::vector<Arg> ToArgs(const std::vector<Operand>& operands,
                        const UserLine& where) {
  std::vector<Arg> args;
  for (const Operand& operand : operands) args.push_back(ToArg(operand, where));
  return args;
}

Op OpOfName(const std::string& name) {
  const std::optional<Op> op = FindOp(name);
  if (!op) Raise(absl::StrCat("there is no operation \"", name, "\""));
  return *op;
}

std::optional<Op> OptionalOp(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return OpOfName(*name);
}

// Rows as batch|input->output. The size "_" is what the others leave: 0.
Shape ShapeOfRows(const std::string& rows) {
  constexpr int64_t kOpen = int64_t{1} << 40;  // no array is so long
  const ShapeSpec spec =
      Check(ParseRows(absl::StrReplaceAll(rows, {{"_", absl::StrCat(kOpen)}})));
  Shape shape;
  for (RowKind kind : kRowKinds) {
    shape[kind] = spec[kind].value_or(Dims{});
    absl::c_replace(shape[kind], kOpen, int64_t{0});
  }
  return shape;
}

// The rows that `tensor` has, which are inferred if need be.
Shape ShapeOfNode(const Node& node) {
  Session& session = *node.session;
  const auto known = session.model.shapes.find(node.tensor.id);
  if (known != session.model.shapes.end()) return known->second;
  Shapes shapes = session.model.shapes;
  Check(InferShapes(session.model.graph, {node.tensor.id}, shapes));
  return shapes.at(node.tensor.id);
}

// Which parameters of the graph a text declared: from number `first` to `last`.
using Declared = std::pair<size_t, size_t>;

// What `text` says. Parsed again, it has the parameters that it `declared`.
std::pair<Node, Declared> Parse(
    const SessionPtr& session, const std::string& text,
    const std::map<std::string, std::variant<Node, double>>& names,
    const std::optional<Declared>& declared, const UserLine& where) {
  Names given;
  for (const auto& [name, value] : names) {
    if (const auto* node = std::get_if<Node>(&value)) {
      given.tensors.insert({name, node->tensor});
    } else {
      given.numbers.insert({name, std::get<double>(value)});
    }
  }
  given.fixes.tensor =
      "give it as a keyword, $0=tensor, or declare a parameter: {$0}";
  given.fixes.number = "give it as a keyword, $0=number";
  Graph& graph = session->model.graph;
  const size_t first = graph.parameters().size();
  if (declared) graph.ReuseParameters(declared->first, declared->second);
  const absl::StatusOr<ParsedTensor> parsed =
      ParseTensor(graph, text, given, where);
  if (declared) graph.EndReuse();
  const Tensor tensor = Check(parsed).tensor;
  return {Checked(session, tensor),
          declared.value_or(Declared{first, graph.parameters().size()})};
}

// Numbers that the graph holds, in the shape of `rows`.
Node Constant(const SessionPtr& session, const std::string& name,
              const py::object& values, const std::string& rows,
              const py::object& dtype, const UserLine& where) {
  NdArray array =
      ArrayOf(ViewOf(values, DTypeOf(dtype), absl::StrCat("`", name, "`")));
  const Shape shape = ShapeOfRows(rows);
  if (NumElements(shape.dims()) != array.size()) {
    Raise(absl::StrCat("`", name, "` has ", array.size(),
                       " cells, but the rows ", rows, " have ",
                       NumElements(shape.dims())));
  }
  return Checked(session,
                 Data(session->model.graph, name, array.Reshaped(shape.dims()),
                      SpecOf(shape), where));
}

void BindSession(py::module_& module) {
  py::class_<Session, SessionPtr>(module, "Session")
      .def(py::init([](const std::string& tier, uint32_t seed, int threads,
                       bool profile, const py::object& dtype) {
        return std::make_shared<Session>(
            tier, seed, threads, profile,
            dtype.is_none() ? std::nullopt : std::optional(DTypeOf(dtype)));
      }))
      .def("input",
           [](const SessionPtr& session, const std::string& name,
              const std::string& rows, const py::object& dtype,
              const UserLine& where) {
             return Checked(session, Input(session->model.graph, name, rows,
                                           DTypeOf(dtype), where));
           })
      // Until what Ctrl-C left has ended.
      .def("wait",
           [](const SessionPtr& session) {
             if (session->working.try_lock()) {
               session->working.unlock();
             } else {
               Check(Interruptible(session, [] { return absl::OkStatus(); }));
             }
           })
      .def("constant", &Constant)
      .def("parse", &Parse)
      .def("step_number",
           [](const SessionPtr& session, const UserLine& where) {
             return Checked(session,
                            EmbedSymbol(session->model.graph,
                                        session->training.step, where));
           })
      .def("uniform",
           [](const SessionPtr& session, const UserLine& where) {
             return Checked(session, Uniform1(session->model.graph, {}, where));
           })
      .def("normal",
           [](const SessionPtr& session, const UserLine& where) {
             return Checked(session, Normal1(session->model.graph, {}, where));
           })
      .def("causal_mask", [](const SessionPtr& session, int64_t length,
                             const UserLine& where) {
        return Checked(session,
                       train::CausalMask(session->model.graph, length, where));
      });
}

void BindNode(py::module_& module) {
  py::class_<Node>(module, "Node")
      .def_property_readonly(
          "name", [](const Node& node) { return node.tensor.node().name; })
      .def_property_readonly(
          "text", [](const Node& node) { return node.tensor.node().text; })
      .def_property_readonly(
          "dtype",
          [](const Node& node) {
            return std::string(Name(node.tensor.node().dtype));
          })
      .def("rows", [](const Node& node) { return ToString(ShapeOfNode(node)); })
      .def("dims", [](const Node& node) { return ShapeOfNode(node).dims(); })
      .def("tree", [](const Node& node) { return TensorTree(node.tensor); })
      .def("rename", [](const Node& node, const std::string& name) {
        Named(node.tensor, name);
      });
}

void BindOperations(py::module_& module) {
  module.def("operations", [] {
    std::vector<std::pair<std::string, int>> operations;
#define OCANNL_ROW(name, text, arity, ...) operations.push_back({text, arity});
#define PRIMITIVE OCANNL_ROW
#define DERIVED OCANNL_ROW
#include "ocannl/core/ops/ops.def"
#undef PRIMITIVE
#undef DERIVED
#undef OCANNL_ROW
    return operations;
  });
  module.def("pointwise", [](const SessionPtr& session, const std::string& op,
                             const std::vector<Operand>& operands,
                             const UserLine& where) {
    return Checked(session, Pointwise(OpOfName(op), ToArgs(operands, where)));
  });
  module.def("compose", [](const SessionPtr& session, const Operand& a,
                           const Operand& b, const UserLine& where) {
    return Checked(session, ToArg(a, where) * ToArg(b, where));
  });
  module.def("reduce", [](const SessionPtr& session,
                          const std::optional<std::string>& op,
                          const std::string& accum, const std::string& spec,
                          const std::vector<Operand>& operands,
                          const std::map<std::string, double>& numbers,
                          const UserLine& where) {
    const std::vector<Arg> args = ToArgs(operands, where);
    const EinsumNumbers named(numbers.begin(), numbers.end());
    // Of many factors, in the order that costs least.
    if (op == "*" && accum == "+" && args.size() > 2) {
      return Checked(session, Einsum(spec, args, named));
    }
    return Checked(session,
                   Reduce(OptionalOp(op), OpOfName(accum), spec, args, named));
  });
  module.def("where",
             [](const SessionPtr& session, const Operand& condition,
                const Operand& a, const Operand& b, const UserLine& where) {
               return Checked(session, Where(ToArg(condition, where),
                                             ToArg(a, where), ToArg(b, where)));
             });
}

void BindConversions(py::module_& module) {
  module.def("convert", [](const Node& x, const py::object& dtype,
                           const UserLine& where) {
    return Checked(x.session, Convert(Arg(x.tensor, where), DTypeOf(dtype)));
  });
  module.def("reshape", [](const Node& x, const std::string& rows,
                           const UserLine& where) {
    return Checked(x.session, Reshape(Arg(x.tensor, where), ShapeOfRows(rows)));
  });
  module.def("stop_gradient", [](const Node& x, const UserLine& where) {
    return Checked(x.session, StopGradient(Arg(x.tensor, where)));
  });
  module.def("stretch", [](const Node& x, const UserLine& where) {
    return Checked(x.session, Stretch(x.tensor, where));
  });
  module.def("sum", [](const Node& x, const UserLine& where) {
    return Checked(x.session, Sum(x.tensor, where));
  });
  module.def("mean", [](const Node& x, const std::optional<std::string>& spec,
                        const UserLine& where) {
    return Checked(x.session, spec ? train::Mean(*spec, x.tensor, where)
                                   : Mean(x.tensor, where));
  });
  module.def("one_hot", [](const Node& ids, int64_t classes,
                           const py::object& dtype, const UserLine& where) {
    return Checked(ids.session,
                   OneHot(ids.tensor, classes, DTypeOf(dtype), where));
  });
}

void BindIndexing(py::module_& module) {
  module.def("gather", [](const std::string& spec, const Node& table,
                          const Node& ids, const UserLine& where) {
    return Checked(table.session,
                   Gather(spec, table.tensor, ids.tensor, where));
  });
  module.def("scatter_add", [](const std::string& spec, const Node& values,
                               const Node& ids, int64_t size,
                               const UserLine& where) {
    return Checked(values.session,
                   ScatterAdd(spec, values.tensor, ids.tensor, size, where));
  });
  module.def("argmax",
             [](const std::string& axis, const Node& x, const UserLine& where) {
               return Checked(x.session, ArgMax(axis, x.tensor, where));
             });
  module.def("argmin",
             [](const std::string& axis, const Node& x, const UserLine& where) {
               return Checked(x.session, ArgMin(axis, x.tensor, where));
             });
  module.def("cumsum",
             [](const std::string& axis, const Node& x, const UserLine& where) {
               return Checked(x.session, CumulativeSum(axis, x.tensor, where));
             });
  module.def(
      "stack", [](const std::string& axis, const std::vector<Node>& parts,
                  const UserLine& where) {
        if (parts.empty()) Raise("stack() has no tensors; give one or more");
        return Checked(parts[0].session, Stack(axis, TensorsOf(parts), where));
      });
  module.def("part", [](const std::string& axis, const Node& x, int64_t start,
                        int64_t size, const UserLine& where) {
    return Checked(x.session, Part(axis, x.tensor, start, size, where));
  });
}

}  // namespace

void BindTensors(py::module_& module) {
  py::class_<UserLine>(module, "Where")
      .def(py::init([](std::string file, int line) {
        return UserLine{std::move(file), line};
      }));
  BindSession(module);
  BindNode(module);
  BindOperations(module);
  BindConversions(module);
  BindIndexing(module);
}

}  // namespace ocannl::python
