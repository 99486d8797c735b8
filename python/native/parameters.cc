// SPDX-License-Identifier: Apache-2.0
//
// Parameters by name, and files of them.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/arrays.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/train/checkpoint/torch_names.h"
#include "ocannl/train/graph/params_hash.h"
#include "python/native/arrays.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

std::vector<Tensor> ParametersOf(Session& session) {
  std::vector<Tensor> parameters;
  Graph& graph = session.model.graph;
  for (TensorId id : graph.parameters()) {
    const auto& source = std::get<ParamSource>(graph[id].source);
    const auto& scale = session.model.loss_scale;  // a state of training
    if (source.is_input || (scale && scale->tensor == id)) continue;
    parameters.push_back({&graph, id});
  }
  return parameters;
}

Tensor ParameterOf(Session& session, const std::string& name) {
  for (Tensor p : ParametersOf(session)) {
    if (p.node().name == name) return p;
  }
  throw py::key_error(name);
}

bool IsWritten(const Session& session, Tensor parameter) {
  const auto info = session.context.InfoOf(parameter.node().name);
  return info.ok() && info->written;
}

void SetParameter(Session& session, const std::string& name,
                  const py::object& values) {
  const Tensor p = ParameterOf(session, name);
  const auto shape = session.model.shapes.find(p.id);
  if (shape == session.model.shapes.end()) {
    Raise(absl::StrCat("the sizes of `", name, "` are not known yet: call ",
                       "train() or predict() first"));
  }
  NdArray array =
      ArrayOf(ViewOf(values, p.node().dtype, absl::StrCat("`", name, "`")));
  const Dims dims = shape->second.dims();
  if (array.dims() != dims) {
    Raise(absl::StrCat("`", name, "` has the shape (",
                       absl::StrJoin(dims, ", "), "), not (",
                       absl::StrJoin(array.dims(), ", "), ")"));
  }
  Check(DoUnlocked(session, [&] {
    return session.context.Write(name, array, Context::Unused::kIsLeft);
  }));
}

py::object GetParameter(Session& session, const std::string& name) {
  const Tensor p = ParameterOf(session, name);
  using Read = absl::StatusOr<std::shared_ptr<HostArray>>;
  return py::cast(Check(DoUnlocked(session, [&]() -> Read {
    if (IsWritten(session, p)) return ReadArray(session.context, name);
    return UserError("`", name, "` has no value yet: call train() or ",
                     "predict() first");
  })));
}

std::vector<Array> WrittenArrays(Session& session) {
  std::vector<Array> arrays;
  for (Tensor p : ParametersOf(session)) {
    if (!IsWritten(session, p)) continue;
    arrays.push_back(
        ValueArray(session.model.graph, session.model.shapes, p.id));
  }
  return arrays;
}

// Those that have values, and those of `outputs` whose sizes are known then: a
// prediction that cannot be made yet, or never, says so when it is called.
// Error: none, because of such a one.
absl::StatusOr<std::vector<Tensor>> KnownParameters(
    Session& session, const std::vector<Node>& outputs) {
  absl::flat_hash_set<TensorId> needed;
  absl::Status unknown;
  for (const Node& output : outputs) {
    train::Model& model = session.model;
    const absl::Status inferred =
        InferShapes(model.graph, {output.tensor.id}, model.shapes);
    unknown.Update(inferred);
    if (!inferred.ok()) continue;
    for (Tensor p : train::AllParameters(model, output.tensor)) {
      needed.insert(p.id);
    }
  }
  std::vector<Tensor> known = ParametersOf(session);
  std::erase_if(known, [&](Tensor p) {
    return !needed.contains(p.id) && !IsWritten(session, p);
  });
  if (known.empty()) OCANNL_RETURN_IF_ERROR(unknown);
  return known;
}

// `rename` has rules of PyTorchNames; None is no rename, and an empty list has
// only the rules that PyTorchNames always has. `only` has the parameters that
// are read; None: all.
void Load(const SessionPtr& session, const std::vector<Node>& outputs,
          const std::string& path,
          const std::map<std::string, std::string>& names, bool allow_missing,
          bool allow_extra, bool convert, const std::string& layout,
          const std::optional<std::vector<std::array<std::string, 2>>>& rename,
          const std::optional<std::vector<std::string>>& only) {
  train::RestoreOptions options = {.names = names,
                                   .allow_missing = allow_missing,
                                   .allow_extra = allow_extra || only,
                                   .convert = convert};
  if (layout == "ocannl") options.layout = train::FileLayout::kOcannl;
  if (layout == "pytorch") options.layout = train::FileLayout::kPyTorch;
  if (rename) {
    std::vector<train::NameRule> rules;
    for (const auto& [ours, theirs] : *rename) rules.push_back({ours, theirs});
    options.rename = train::PyTorchNames(std::move(rules));
  }
  Check(DoUnlocked(*session, [&]() -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(std::vector<Tensor> read,
                            KnownParameters(*session, outputs));
    std::erase_if(read, [&](Tensor p) {
      return only && !absl::c_linear_search(*only, p.node().name);
    });
    return train::RestoreParams(path, session->model, read, session->context,
                                options);
  }));
}

}  // namespace

void BindParameters(py::module_& module) {
  module.def("parameters", [](const SessionPtr& session) {
    std::vector<std::string> names;
    for (Tensor p : ParametersOf(*session)) names.push_back(p.node().name);
    return names;
  });
  // The name, the rows, empty if they are not known yet, and the dtype of each.
  module.def("described", [](const SessionPtr& session) {
    std::vector<std::array<std::string, 3>> described;
    for (Tensor p : ParametersOf(*session)) {
      const auto shape = session->model.shapes.find(p.id);
      const bool is_known = shape != session->model.shapes.end();
      described.push_back({p.node().name,
                           is_known ? ToString(shape->second) : "",
                           std::string(Name(p.node().dtype))});
    }
    return described;
  });
  module.def("get_parameter",
             [](const SessionPtr& session, const std::string& name) {
               return GetParameter(*session, name);
             });
  module.def(
      "set_parameter",
      [](const SessionPtr& session, const std::string& name,
         const py::object& values) { SetParameter(*session, name, values); });
  module.def("set_frozen", [](const SessionPtr& session,
                              const std::string& name, bool frozen) {
    Check(
        train::SetFrozen(session->model, ParameterOf(*session, name), frozen));
  });
  module.def("frozen", [](const SessionPtr& session) {
    std::vector<std::string> names;
    for (Tensor p : ParametersOf(*session)) {
      if (session->model.frozen.contains(p.id)) names.push_back(p.node().name);
    }
    return names;
  });
  module.def("params_hash", [](const SessionPtr& session) {
    return Check(DoUnlocked(*session, [&] {
      return train::ParamsHash(session->context, ParametersOf(*session));
    }));
  });
  module.def("save", [](const SessionPtr& session, const std::string& path) {
    Check(DoUnlocked(*session, [&] {
      return train::SaveParams(path, WrittenArrays(*session), session->context);
    }));
  });
  module.def("load", &Load);
  module.def("bert_rules", [] {
    std::vector<std::pair<std::string, std::string>> rules;
    for (const auto& [ours, theirs] : train::BertRules()) {
      rules.emplace_back(ours, theirs);
    }
    return rules;
  });
}

}  // namespace ocannl::python
