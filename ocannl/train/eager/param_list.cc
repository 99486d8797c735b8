// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/param_list.h"

#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/train/eager/axes.h"
#include "ocannl/train/graph/option_check.h"

namespace ocannl::train {
namespace {

absl::Status CheckLength(absl::string_view what, size_t length, size_t params) {
  if (length == params) return absl::OkStatus();
  return UserError(what, " list ", length > params ? "longer" : "shorter",
                   " than parameter list: ", length, " and ", params);
}

}  // namespace

absl::Status CheckRate(double rate) {
  // As an f32, which may be infinite where the rate is not.
  return CheckNotNegative("the learning rate",
                          std::isfinite(static_cast<float>(rate))
                              ? rate
                              : double{static_cast<float>(rate)});
}

absl::StatusOr<ParamList> ParamList::Allocate(std::vector<NdArray> values,
                                              const ParamOptions& options) {
  if (!options.requires_grad.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckLength(
        "requires_grad", options.requires_grad.size(), values.size()));
  }
  if (!options.names.empty()) {
    OCANNL_RETURN_IF_ERROR(
        CheckLength("name", options.names.size(), values.size()));
  }
  ParamList list;
  for (size_t k = 0; k < values.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(
        list.Append({.name = options.names.empty() ? absl::StrCat("p", k)
                                                   : options.names[k],
                     .host = std::move(values[k]),
                     .requires_grad = options.requires_grad.empty() ||
                                      options.requires_grad[k]}));
  }
  list.state_->num_args = list.size();
  return list;
}

absl::Status ParamList::Append(Param param) const {
  const bool fits =
      param.host.size() != 0 &&
      (!param.requires_grad || IsFloat(ComputeDType(param.host.dtype()))) &&
      !Find(param.name) && !absl::StartsWith(param.name, "session_");
  if (fits) {
    state_->params.push_back(std::move(param));
    return absl::OkStatus();
  }
  return UserError("the parameter `", param.name, "`, ",
                   Name(param.host.dtype()), " ", DimsText(param.host.dims()),
                   ", has no cells, no gradient, another one's name, or one "
                   "of those that ",
                   "begin with session_");
}

absl::Status ParamList::Add(std::string name, NdArray value) const {
  OCANNL_RETURN_IF_ERROR(Append({.name = std::move(name),
                                 .host = std::move(value),
                                 .requires_grad = true}));
  state_->is_newer_on_host = true;
  state_->is_newer_on_device = false;
  return absl::OkStatus();
}

std::optional<size_t> ParamList::Find(absl::string_view name) const {
  for (size_t k = 0; k < size(); ++k) {
    if (state_->params[k].name == name) return k;
  }
  return std::nullopt;
}

absl::StatusOr<NdArray> ParamList::Get(size_t k) const {
  Param& param = state_->params[k];
  if (param.newer == Newer::kDevice) {
    if (!state_->context) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the session that trained `", param.name,
          "` is gone, and its values ", "could not be read at its end"));
    }
    OCANNL_ASSIGN_OR_RETURN(param.host, state_->context->Read(param.name));
    param.newer = Newer::kNeither;
    state_->is_newer_on_device = false;
  }
  return param.host;
}

absl::StatusOr<std::vector<NdArray>> ParamList::Get() const {
  std::vector<NdArray> values;
  for (size_t k = 0; k < size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(NdArray value, Get(k));
    values.push_back(std::move(value));
  }
  return values;
}

absl::Status ParamList::CheckAlike(absl::Span<const NdArray> values,
                                   absl::string_view what) const {
  OCANNL_RETURN_IF_ERROR(CheckLength(what, values.size(), size()));
  for (size_t k = 0; k < values.size(); ++k) {
    const NdArray &value = values[k], &own = like(k);
    if (value.dtype() == own.dtype() && value.dims() == own.dims()) continue;
    return UserError(what, " ", k, " is ", Name(value.dtype()), " ",
                     DimsText(value.dims()), ", and the parameter `", name(k),
                     "` ", Name(own.dtype()), " ", DimsText(own.dims()));
  }
  return absl::OkStatus();
}

absl::Status ParamList::Set(absl::Span<const NdArray> values) const {
  OCANNL_RETURN_IF_ERROR(CheckAlike(values, "value"));
  for (size_t k = 0; k < size(); ++k) {
    state_->params[k].host = values[k];
    state_->params[k].newer = Newer::kHost;
  }
  state_->is_newer_on_host = true;
  state_->is_newer_on_device = false;
  ++state_->sets;
  return absl::OkStatus();
}

absl::Status ParamList::Attach(const Context& context) const {
  if (state_->context) {
    return absl::FailedPreconditionError(
        "the parameters are another session's; Get and Allocate copy them");
  }
  state_->context = context;
  return absl::OkStatus();
}

void ParamList::Detach() const {
  Get()
      .status()
      .IgnoreError();  // what could not be read stays newer on the device
  state_->context = std::nullopt;
  for (Param& param : state_->params) {
    if (param.newer == Newer::kNeither) param.newer = Newer::kHost;
  }
  state_->is_newer_on_host = true;
}

absl::Status ParamList::UploadNewer() const {
  for (Param& param : state_->params) {
    if (param.newer != Newer::kHost) continue;
    OCANNL_RETURN_IF_ERROR(state_->context->Write(param.name, param.host,
                                                  Context::Unused::kIsLeft));
    param.newer = Newer::kNeither;
  }
  state_->is_newer_on_host = false;
  return absl::OkStatus();
}

void ParamList::MarkDeviceNewer() const {
  state_->is_newer_on_device = true;
  for (Param& param : state_->params) {
    if (param.requires_grad) param.newer = Newer::kDevice;
  }
}

}  // namespace ocannl::train
