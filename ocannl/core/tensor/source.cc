// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/source.h"

#include "ocannl/core/base/overload.h"

namespace ocannl {

const EinsumSpec* ComputeSource::spec() const {
  if (const auto* gather = std::get_if<Gather>(&logic)) return &*gather->spec;
  const auto* spec = std::get_if<Boxed<EinsumSpec>>(&logic);
  return spec == nullptr ? nullptr : &**spec;
}

const EinsumSpec* EinsumOf(const TensorSource& source) {
  if (const auto* scan = std::get_if<ScanSource>(&source)) return &*scan->spec;
  const auto* compute = std::get_if<ComputeSource>(&source);
  return compute == nullptr ? nullptr : compute->spec();
}

absl::Span<const TensorId> OperandsOf(const TensorSource& source) {
  using Ids = absl::Span<const TensorId>;
  return std::visit(
      Overload{
          [](const NumberSource&) { return Ids(); },
          [](const DataSource&) { return Ids(); },
          [](const ParamSource&) { return Ids(); },
          [](const OffsetsSource&) { return Ids(); },
          [](const SymbolSource&) { return Ids(); },
          [](const DimSource&) { return Ids(); },
          [](const SliceSource& slice) { return Ids(&slice.of, 1); },
          [](const ReshapeSource& reshape) { return Ids(&reshape.of, 1); },
          [](const ScanSource& scan) { return Ids(&scan.of, 1); },
          [](const ComputeSource& compute) { return Ids(compute.operands); },
          [](const ErrorSource&) { return Ids(); }},
      source);
}

}  // namespace ocannl
