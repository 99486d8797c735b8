// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/rules.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"

namespace ocannl {
namespace {

const EinsumSpec& MustParse(absl::string_view text) {
  absl::StatusOr<EinsumSpec> spec = ParseEinsum(text, 1);
  CHECK_OK(spec.status());
  return *new EinsumSpec(*spec);  // for the whole run of the process
}

const EinsumSpec& SliceSpec() {
  static const EinsumSpec& spec = MustParse("_...|...->... => ...|...->...");
  return spec;
}

const EinsumSpec& SameShapeSpec() {
  static const EinsumSpec& spec = MustParse("...|...->... => ...|...->...");
  return spec;
}

class Collector {
 public:
  Collector(const Graph& graph, TensorId id, Rules& rules)
      : graph_(graph), id_(id), rules_(rules) {}

  void operator()(const ParamSource& param) {
    if (!param.init) return;
    if (IsNumberLike(graph_[*param.init].source)) {
      Covers(*param.init);
    } else {
      Slots(SameShapeSpec(), {*param.init});
    }
  }

  void operator()(const SliceSource& slice) { Slots(SliceSpec(), {slice.of}); }

  void operator()(const ScanSource& scan) { Slots(*scan.spec, {scan.of}); }

  void operator()(const ComputeSource& compute) {
    using Source = ComputeSource;
    const std::vector<TensorId>& operands = compute.operands;
    std::visit(
        Overload{
            [&](const Source::Pointwise&) {
              for (TensorId operand : operands) Covers(operand);
            },
            [&](const Source::Compose&) { Compose(operands[0], operands[1]); },
            [&](const Boxed<EinsumSpec>& spec) { Slots(*spec, operands); },
            [&](const Source::Gather& g) { Slots(*g.spec, operands); }},
        compute.logic);
  }

 private:
  void Covers(TensorId operand) {
    for (RowKind kind : kRowKinds) Cover({id_, kind}, {operand, kind});
  }

  void Cover(RowRef covering, RowRef covered) {
    rules_.covers.push_back(
        {.node = id_, .covering = covering, .covered = covered});
  }

  void Compose(TensorId a, TensorId b) {
    Cover({a, RowKind::kInput}, {b, RowKind::kOutput});
    Cover({id_, RowKind::kBatch}, {a, RowKind::kBatch});
    Cover({id_, RowKind::kBatch}, {b, RowKind::kBatch});
    Cover({id_, RowKind::kOutput}, {a, RowKind::kOutput});
    Cover({id_, RowKind::kInput}, {b, RowKind::kInput});
  }

  void Slots(const EinsumSpec& spec, const std::vector<TensorId>& operands) {
    int place = 0;
    auto add = [&](const EinsumSlot& slot, TensorId tensor) {
      for (RowKind kind : kRowKinds) {
        rules_.slots.push_back({.node = id_,
                                .row = {tensor, kind},
                                .axes = &slot[static_cast<int>(kind)],
                                .place = place++});
      }
    };
    for (size_t i = 0; i < operands.size(); ++i) {
      add(spec.operands[i], operands[i]);
    }
    add(spec.result, id_);
  }

  const Graph& graph_;
  TensorId id_;
  Rules& rules_;
};

}  // namespace

void AddRules(const Graph& graph, TensorId id, Rules& rules) {
  Collector collect(graph, id, rules);
  std::visit(Overload{[](const NumberSource&) {}, [](const DataSource&) {},
                      [](const OffsetsSource&) {}, [](const SymbolSource&) {},
                      [](const DimSource&) {}, [](const ReshapeSource&) {},
                      [](const ErrorSource&) {},
                      [&](const ParamSource& source) { collect(source); },
                      [&](const SliceSource& source) { collect(source); },
                      [&](const ScanSource& source) { collect(source); },
                      [&](const ComputeSource& source) { collect(source); }},
             graph[id].source);
}

const EinsumSpec* SpecOf(const TensorSource& source) {
  const bool slices = std::holds_alternative<SliceSource>(source);
  return slices ? &SliceSpec() : EinsumOf(source);
}

std::vector<EinsumAxis> ExpandRow(const EinsumRow& row, int rank, int place) {
  std::vector<EinsumAxis> axes;
  int unnamed = 0;
  auto add = [&](EinsumAxis axis) {
    for (std::string* name : axis.Names()) {
      if (*name != "_") continue;
      absl::StrAppend(name, place, "_", axes.size(), "_", unnamed++);
    }
    axes.push_back(std::move(axis));
  };
  for (const EinsumAxis& axis : row.begin) add(axis);
  for (int i = 0; row.variable && i < rank - row.size(); ++i) {
    add({.name = absl::StrCat("..", *row.variable, "..", i)});
  }
  for (const EinsumAxis& axis : row.end) add(axis);
  CHECK_EQ(static_cast<int>(axes.size()), rank);
  return axes;
}

SizeEquation EquationOf(const EinsumAxis& axis) {
  SizeEquation equation;
  for (const std::string& part : axis.parts) {
    equation.terms.emplace_back(part, 1);
  }
  if (axis.parts.empty()) equation.terms.emplace_back(axis.name, axis.stride);
  // Steps of 1 leave nothing to round.
  if (axis.fit == WindowFit::kFloor && axis.stride > 1) {
    equation.rounding = Rounding::kDown;
  }
  if (axis.fit == WindowFit::kSame && axis.stride > 1) {
    equation.rounding = Rounding::kUp;
  }
  if (axis.fit == WindowFit::kCeil) {
    equation.rounding = Rounding::kUp;
    equation.before = axis.before;
  }
  if (axis.fit == WindowFit::kCentred || axis.fit == WindowFit::kSame) {
    return equation;
  }
  equation.terms.emplace_back(axis.kernel, axis.dilation);
  equation.constant =
      1 + axis.offset - axis.stride - axis.dilation - axis.before - axis.after;
  return equation;
}

bool Stretches(const TensorNode& node) {
  const auto* compute = std::get_if<ComputeSource>(&node.source);
  if (compute == nullptr) return false;
  const auto* logic = std::get_if<ComputeSource::Pointwise>(&compute->logic);
  return logic != nullptr && logic->stretches;
}

}  // namespace ocannl
