// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/random_graph.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/fuzz/notation/graph_ops.h"
#include "ocannl/fuzz/notation/graph_state.h"

namespace ocannl::fuzz {
namespace {

constexpr size_t kMostRank = 6;
constexpr int kTries = 30;  // to find an operation that fits

class GraphWriter {
 public:
  explicit GraphWriter(uint64_t seed)
      : random_(seed),
        state_{.random = random_,
               .sizes = static_cast<GraphSizes>(random_.Below(kNumGraphSizes)),
               .one_row = random_.OneIn(2),
               .most_cells = random_.OneIn(8) ? 8000 : 1000},
        focus_(random_.OneIn(4)
                   ? GraphFocus::kArrange
                   : static_cast<GraphFocus>(random_.Below(kNumGraphFoci))) {
    for (absl::Span<const GraphOp> ops : {ArrangingOps(), ComputingOps()}) {
      for (const GraphOp& op : ops) {
        all_.push_back(&op);
        if (op.focus == focus_) focused_.insert(focused_.end(), op.weight, &op);
      }
    }
  }

  RandomText Write() {
    AddLeaves();
    int64_t steps = 1 + random_.Below(8);
    if (random_.OneIn(6)) steps += random_.Below(24);
    for (; steps > 0; --steps) AddStep();
    return {.text = TextOf(lets_),
            .operands = std::move(state_.operands),
            .lets = lets_,
            .lets_fit = !state_.is_open};
  }

 private:
  void AddLeaves() {
    for (const char* name : {"x0", "x1"}) {
      state_.operands.push_back(state_.SomeShape(/*is_parameter=*/false));
      state_.values.push_back({name, state_.operands.back(), DType::kF32});
    }
    const Shape shape = state_.SomeShape(/*is_parameter=*/true);
    Let({state_.Parameter(shape), shape, DType::kF32});
  }

  void AddStep() {
    for (int k = 0; k < kTries; ++k) {
      const bool any = focused_.empty() || random_.OneIn(3);
      const std::vector<const GraphOp*>& ops = any ? all_ : focused_;
      const GraphOp& op = *ops[random_.Below(static_cast<int64_t>(ops.size()))];
      state_.letters = 0;
      std::optional<GraphValue> made = op.make(state_);
      if (!made) continue;
      const Dims dims = made->shape.dims();
      if (dims.size() > kMostRank) continue;
      if (NumElements(dims) > state_.most_cells) continue;
      return Let(*std::move(made));
    }
  }

  void Let(GraphValue value) {
    lets_.push_back({.name = absl::StrCat("v", lets_.size()),
                     .text = std::move(value.text),
                     .shape = value.shape,
                     .dtype = value.dtype});
    value.text = lets_.back().name;
    state_.values.push_back(std::move(value));
  }

  Random random_;
  GraphState state_;
  const GraphFocus focus_;
  std::vector<const GraphOp*> all_, focused_;
  std::vector<TextLet> lets_;
};

}  // namespace

RandomText MakeGraph(uint64_t seed) { return GraphWriter(seed).Write(); }

}  // namespace ocannl::fuzz
