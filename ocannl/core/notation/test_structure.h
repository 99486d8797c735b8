// SPDX-License-Identifier: Apache-2.0
//
// The structure of a tensor as text, for the tests of what the notation makes:
//
//   Structure(graph, id)   ->   "Add(x, Mul({w output=2}, 2))"
#ifndef OCANNL_CORE_NOTATION_TEST_STRUCTURE_H_
#define OCANNL_CORE_NOTATION_TEST_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// Parameters are {name rows}.
inline std::string Structure(const Graph& graph, TensorId id);

inline std::string Structures(const Graph& graph,
                              const std::vector<TensorId>& ids) {
  return absl::StrJoin(ids, ", ", [&](std::string* out, TensorId id) {
    absl::StrAppend(out, Structure(graph, id));
  });
}

inline std::string Rows(const ShapeSpec& spec) {
  std::string text;
  for (RowKind kind : kRowKinds) {
    if (!spec[kind]) continue;
    absl::StrAppend(&text, " ", Name(kind), "=",
                    absl::StrJoin(*spec[kind], ","));
  }
  return text;
}

inline std::string Computed(const Graph& graph, const TensorNode& node,
                            const ComputeSource& compute) {
  std::string operands = Structures(graph, compute.operands);
  std::string op = compute.op ? std::string(Info(*compute.op).name) : "";
  if (compute.op == Op::kConvert || compute.op == Op::kBitcast) {
    absl::StrAppend(&op, "_", Name(node.dtype));
  }
  if (std::holds_alternative<ComputeSource::Compose>(compute.logic)) {
    op = "Compose";
  }
  if (const EinsumSpec* spec = compute.spec()) {
    op = absl::StrCat(*compute.accum == Op::kAdd ? "Sum" : "Max", op, "[",
                      ToString(*spec), "]");
  }
  return absl::StrCat(op, "(", operands, ")");
}

inline std::string Structure(const Graph& graph, TensorId id) {
  const TensorNode& node = graph[id];
  return std::visit(
      Overload{
          [&](const NumberSource& number) {
            return absl::StrCat(number.value);
          },
          [&](const DataSource& data) {
            if (node.named) return node.name;
            std::vector<double> values;
            for (int64_t i = 0; i < data.data->size(); ++i) {
              values.push_back(data.data->AsDouble(i));
            }
            return absl::StrCat("Data", Rows(*node.spec), " ",
                                absl::StrJoin(values, " "));
          },
          [&](const ParamSource&) {
            return absl::StrCat("{", node.name, Rows(*node.spec), "}");
          },
          [&](const OffsetsSource&) { return std::string("Offsets"); },
          [&](const SymbolSource& symbol) {
            if (symbol.static_index == kStep) return std::string("!@");
            return absl::StrCat("!@",
                                graph.statics()[symbol.static_index].name);
          },
          [&](const DimSource& dim) {
            return absl::StrCat("Dim(", Structure(graph, dim.of), ")");
          },
          [&](const SliceSource& slice) {
            return absl::StrCat("Slice(", Structure(graph, slice.of), ", ",
                                graph.statics()[slice.static_index].name, ")");
          },
          [&](const ReshapeSource& reshape) {
            return absl::StrCat("Reshape(", Structure(graph, reshape.of), ")");
          },
          [&](const ScanSource& scan) {
            return absl::StrCat("Scan(", Structure(graph, scan.of), ")");
          },
          [&](const ComputeSource& compute) {
            return Computed(graph, node, compute);
          },
          [&](const ErrorSource& error) { return error.status.ToString(); }},
      node.source);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_TEST_STRUCTURE_H_
