// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/dims.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

// "i", "..v..": what the spec has, as the user writes it.
std::vector<std::string> NamesIn(const EinsumSpec& spec) {
  std::vector<std::string> names;
  auto add = [&](const EinsumSlot& slot) {
    for (std::string& name : NamesOf(slot)) {
      if (!absl::c_linear_search(names, name)) names.push_back(std::move(name));
    }
  };
  absl::c_for_each(spec.operands, add);
  add(spec.result);
  return names;
}

absl::StatusOr<SpecName> Find(Tensor of, absl::string_view name) {
  const TensorNode& node = of.node();
  const EinsumSpec* spec = EinsumOf(node.source);
  if (spec == nullptr) {
    return UserError(Describe(node), " has no spec with a `", name,
                     "`; name an axis of an einsum");
  }
  std::vector<std::string> names = NamesIn(*spec);
  if (absl::c_linear_search(names, name)) {
    return SpecName{.node = of.id, .name = std::string(name)};
  }
  return UserError("the spec of ", Describe(node), " has no `", name,
                   "`; it has ", absl::StrJoin(names, ", "));
}

// Likewise, an axis or a row variable only.
absl::StatusOr<SpecName> FindOnly(Tensor of, absl::string_view name,
                                  bool is_row) {
  OCANNL_ASSIGN_OR_RETURN(SpecName found, Find(of, name));
  if (found.is_row() == is_row) return found;
  return UserError(
      "`", name, "` of ", Describe(of.node()), " is ",
      is_row ? "an axis; give it one size" : "a row variable; name an axis");
}

absl::Status CheckSize(Tensor of, absl::string_view name, int64_t size) {
  if (size >= 1) return absl::OkStatus();
  return UserError("`", name, "` of ", Describe(of.node()), " cannot have ",
                   size, " cells; give it a size from 1");
}

bool IsError(Tensor tensor) {
  return std::holds_alternative<ErrorSource>(tensor.node().source);
}

}  // namespace

absl::Status SetDim(Tensor of, absl::string_view name, int64_t size) {
  if (IsError(of)) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(SpecName found, Find(of, name));
  OCANNL_RETURN_IF_ERROR(CheckSize(of, name, size));
  of.graph->AddSizeRule({.name = std::move(found), .is = size});
  return absl::OkStatus();
}

absl::Status SetEqual(Tensor of, absl::string_view name, Tensor other,
                      absl::string_view other_name) {
  if (IsError(of) || IsError(other)) return absl::OkStatus();
  if (of.graph != other.graph) return TwoGraphs(of.node(), other.node(), {});
  OCANNL_ASSIGN_OR_RETURN(SpecName a, Find(of, name));
  OCANNL_ASSIGN_OR_RETURN(SpecName b, Find(other, other_name));
  if (b.is_row() && !a.is_row()) std::swap(a, b);
  of.graph->AddSizeRule({.name = std::move(a), .is = std::move(b)});
  return absl::OkStatus();
}

absl::Status SetAtLeast(Tensor of, absl::string_view name, int64_t size) {
  if (IsError(of)) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(SpecName found, FindOnly(of, name, false));
  OCANNL_RETURN_IF_ERROR(CheckSize(of, name, size));
  of.graph->AddSizeRule(
      {.name = std::move(found), .is = size, .at_least = true});
  return absl::OkStatus();
}

absl::Status SetDims(Tensor of, absl::string_view name, Dims sizes) {
  if (IsError(of)) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(SpecName found, FindOnly(of, name, true));
  for (int64_t size : sizes) {
    OCANNL_RETURN_IF_ERROR(CheckSize(of, name, size));
  }
  of.graph->AddSizeRule({.name = std::move(found), .is = std::move(sizes)});
  return absl::OkStatus();
}

absl::Status SetScale(Tensor of, absl::string_view name, int64_t factor,
                      Tensor other, absl::string_view other_name) {
  constexpr int64_t kMaxFactor = 65536;  // as in specs
  if (IsError(of) || IsError(other)) return absl::OkStatus();
  if (of.graph != other.graph) return TwoGraphs(of.node(), other.node(), {});
  OCANNL_ASSIGN_OR_RETURN(SpecName a, FindOnly(of, name, false));
  OCANNL_ASSIGN_OR_RETURN(SpecName b, FindOnly(other, other_name, false));
  if (factor < 1 || factor > kMaxFactor) {
    return UserError("`", name, "` of ", Describe(of.node()), " cannot be ",
                     factor, " times `", other_name,
                     "`; give a factor from 1 to ", kMaxFactor);
  }
  of.graph->AddSizeRule(
      {.name = std::move(a), .is = std::move(b), .factor = factor});
  return absl::OkStatus();
}

Tensor EmbedDim(Tensor of, absl::string_view name, SourceLocation where) {
  if (IsError(of)) return of;
  absl::StatusOr<SpecName> found = Find(of, name);
  if (!found.ok()) return ErrorTensor(*of.graph, found.status(), where);
  TensorId id = of.graph->Add(
      {.source = DimSource{.of = of.id, .rows = {}, .name = found->name},
       .name = "",
       .text = absl::StrCat("dim(", of.node().name, ", ", name, ")"),
       .dtype = DType::kF32,
       .has_gradient = false,
       .where = where});
  return {of.graph, id};
}

}  // namespace ocannl
