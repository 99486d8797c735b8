// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/session.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"

namespace ocannl::onnx {

absl::StatusOr<Session> Session::Load(const std::string& path,
                                      const ImportOptions& options,
                                      const Backend& backend) {
  OCANNL_ASSIGN_OR_RETURN(ImportedModel net, ImportFile(path, options));
  return Make(std::move(net), backend);
}

absl::StatusOr<Session> Session::Make(ImportedModel net,
                                      const Backend& backend) {
  return MakeOn(std::make_shared<Machine>(backend), std::move(net));
}

absl::StatusOr<Session> Session::MakeOn(std::shared_ptr<Machine> machine,
                                        ImportedModel net) {
  OCANNL_ASSIGN_OR_RETURN(Assignments code, Forward(net));
  Session session(std::move(net), machine);
  for (const Array& array : code.arrays) {
    const auto found = absl::c_find_if(
        session.net_.parameters,
        [&](const NamedTensor& each) { return each.array == array.name; });
    if (found == session.net_.parameters.end()) continue;
    OCANNL_RETURN_IF_ERROR(
        session.AddParameter(array.name, found->data->Reshaped(array.dims)));
  }
  if (!code.list.empty()) {
    OCANNL_ASSIGN_OR_RETURN(session.routine_,
                            ToRoutine(session.context_, std::move(code), {}));
  }
  return session;
}

absl::Status Session::AddParameter(const std::string& name,
                                   const NdArray& values) {
  const Context& owner = machine_->parameters;
  if (!owner.InfoOf(name).ok()) {
    OCANNL_RETURN_IF_ERROR(owner.Write(name, values, Context::Unused::kIsLeft));
  } else {
    OCANNL_ASSIGN_OR_RETURN(const NdArray shared, owner.Read(name));
    if (!SameBits(shared, values)) {
      return context_.Write(name, values, Context::Unused::kIsLeft);
    }
  }
  return context_.Share(name, owner);
}

absl::Status Session::Check(
    const std::map<std::string, NdArray>& inputs) const {
  std::vector<std::string> names;
  for (const NamedTensor& input : net_.inputs) {
    names.push_back(input.name);
    auto given = inputs.find(input.name);
    if (given == inputs.end()) {
      return UserError("input `", input.name, "` is missing; it is ",
                       DescribeArray(input.dtype, input.dims));
    }
    const NdArray& array = given->second;
    if (array.dtype() == input.dtype && array.dims() == input.dims) continue;
    return UserError(
        "input `", input.name, "` is ", DescribeArray(input.dtype, input.dims),
        ", but the value is ", DescribeArray(array.dtype(), array.dims()));
  }
  for (const auto& [name, array] : inputs) {
    if (absl::c_linear_search(names, name)) continue;
    return UserError("the model has no input `", name, "`; it has ",
                     absl::StrJoin(names, ", "));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, NdArray>> Session::Run(
    const std::map<std::string, NdArray>& inputs) {
  OCANNL_RETURN_IF_ERROR(Check(inputs));
  for (const NamedTensor& input : net_.inputs) {
    if (!input.tensor) continue;
    OCANNL_RETURN_IF_ERROR(context_.Write(input.array, inputs.at(input.name),
                                          Context::Unused::kIsLeft));
  }
  if (routine_) OCANNL_RETURN_IF_ERROR(routine_->Run());
  std::map<std::string, NdArray> outputs;
  for (const NamedTensor& output : net_.outputs) {
    NdArray& array = outputs[output.name];
    if (!output.tensor) {
      array = NdArray(output.dtype, output.dims);
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(array, context_.Read(output.array));
  }
  return outputs;
}

absl::StatusOr<SessionTable> SessionTable::Load(const std::string& path,
                                                ImportOptions options,
                                                const Backend& backend,
                                                size_t most) {
  OCANNL_ASSIGN_OR_RETURN(OnnxModel file, ReadModelFile(path));
  absl::StatusOr<SessionTable> table =
      Make(std::move(file), std::move(options), backend, most);
  OCANNL_RETURN_IF_ERROR(ErrorIn(path, table.status()));
  return table;
}

absl::StatusOr<SessionTable> SessionTable::Make(OnnxModel file,
                                                ImportOptions options,
                                                const Backend& backend,
                                                size_t most) {
  OCANNL_RETURN_IF_ERROR(CheckImport(file, options));
  SessionTable table(std::move(file), std::move(options), backend, most);
  for (const TensorInfo& info : table.file_.graph.inputs) {
    if (table.options_.constants.contains(info.name)) continue;
    for (const Dim& dim : info.dims.value_or(std::vector<Dim>())) {
      if (dim.size || table.options_.dims.contains(dim.name)) continue;
      table.has_free_dims_ = true;
    }
  }
  if (!table.has_free_dims_) {
    OCANNL_RETURN_IF_ERROR(table.ForSizes(table.options_.dims).status());
  }
  return table;
}

absl::StatusOr<Session*> SessionTable::For(
    const std::map<std::string, Dims>& dims) {
  Sizes sizes = options_.dims;
  for (const TensorInfo& info : file_.graph.inputs) {
    const auto found = dims.find(info.name);
    if (options_.constants.contains(info.name) || !info.dims) continue;
    if (found == dims.end()) {
      return UserError("input `", info.name, "` is missing; it is ",
                       ToString(info));
    }
    const Dims& given = found->second;
    const auto misfit = [&](const auto&... why) {
      return UserError("input `", info.name, "` is ", ToString(info),
                       ", but the value has the dims [",
                       absl::StrJoin(given, ", "), "]", why...);
    };
    if (given.size() != info.dims->size()) return misfit();
    for (size_t k = 0; k < given.size(); ++k) {
      const Dim& dim = (*info.dims)[k];
      if (dim.size && *dim.size != given[k]) return misfit();
      if (dim.size) continue;
      const auto [known, is_new] = sizes.try_emplace(dim.name, given[k]);
      if (known->second != given[k]) {
        return misfit(", and `", dim.name, "` is ", known->second);
      }
    }
  }
  return ForSizes(std::move(sizes));
}

absl::StatusOr<Session*> SessionTable::ForSizes(Sizes sizes) {
  const auto found = absl::c_find_if(
      sessions_, [&](const auto& each) { return each.first == sizes; });
  if (found != sessions_.end()) {
    std::rotate(found, found + 1, sessions_.end());
    return &sessions_.back().second;
  }
  ImportOptions options = options_;
  options.dims = sizes;
  OCANNL_ASSIGN_OR_RETURN(ImportedModel net, Import(file_, options));
  OCANNL_ASSIGN_OR_RETURN(Session session,
                          Session::MakeOn(machine_, std::move(net)));
  ++compilations_;
  // The file and the machine have the arrays.
  session.net_.model.reset();
  session.net_.parameters.clear();
  if (!sessions_.empty() && sessions_.size() >= most_) {
    sessions_.erase(sessions_.begin());
  }
  sessions_.emplace_back(std::move(sizes), std::move(session));
  return &sessions_.back().second;
}

absl::StatusOr<std::map<std::string, NdArray>> SessionTable::Run(
    const std::map<std::string, NdArray>& inputs) {
  std::map<std::string, Dims> dims;
  for (const auto& [name, array] : inputs) dims[name] = array.dims();
  OCANNL_ASSIGN_OR_RETURN(Session * session, For(dims));
  return session->Run(inputs);
}

}  // namespace ocannl::onnx
