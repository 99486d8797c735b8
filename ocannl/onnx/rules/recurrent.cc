// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers, step by step: one direction, from the first to the last,
// with the activations that are theirs unless others are named.
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

// Each step is code of its own.
constexpr int64_t kMostSteps = 1 << 12;

// The weights of a layer; those of its gates stand one below the other.
struct Layer {
  int64_t hidden;
  Value input, recurrent;            // gates * hidden, inputs or hidden
  Value input_bias, recurrent_bias;  // gates * hidden
  std::optional<Value> peephole;     // 3 * hidden

  // x times the rows of gate `k`.
  Value Times(const Value& x, const Value& weights, int k) const {
    return Product({{x, {"b", "i"}}, {Rows(weights, k), {"h", "i"}}},
                   {"b", "h"});
  }
  Value Rows(const Value& weights, int k) const {
    return Part(weights, 0, k * hidden, hidden);
  }
  Value FromInput(const Value& x, int k) const {
    return Times(x, input, k) + Rows(input_bias, k);
  }
  Value FromState(const Value& h, int k) const {
    return Times(h, recurrent, k) + Rows(recurrent_bias, k);
  }
  Value Gate(const Value& x, const Value& h, int k) const {
    return FromInput(x, k) + FromState(h, k);
  }
  Value Peep(const Value& c, int k) const {
    return peephole ? c * Rows(*peephole, k) : c * 0.0;
  }
};

struct State {
  Value h, c;  // batch, hidden; `c` of an LSTM only
};

using Cell = State (*)(const OpCall&, const Layer&, const Value& x,
                       const State&);

State RnnStep(const OpCall&, const Layer& layer, const Value& x,
              const State& state) {
  return {Tanh(layer.Gate(x, state.h, 0)), state.c};
}

State GruStep(const OpCall& call, const Layer& layer, const Value& x,
              const State& state) {
  const Value update = Sigmoid(layer.Gate(x, state.h, 0));
  const Value reset = Sigmoid(layer.Gate(x, state.h, 1));
  const Value from_state = call.Whole("linear_before_reset", 0) != 0
                               ? reset * layer.FromState(state.h, 2)
                               : layer.FromState(reset * state.h, 2);
  const Value fresh = Tanh(layer.FromInput(x, 2) + from_state);
  return {(1.0 - update) * fresh + update * state.h, state.c};
}

State LstmStep(const OpCall&, const Layer& layer, const Value& x,
               const State& state) {
  const Value in = Sigmoid(layer.Gate(x, state.h, 0) + layer.Peep(state.c, 0));
  const Value forget =
      Sigmoid(layer.Gate(x, state.h, 2) + layer.Peep(state.c, 2));
  const Value c = forget * state.c + in * Tanh(layer.Gate(x, state.h, 3));
  const Value out = Sigmoid(layer.Gate(x, state.h, 1) + layer.Peep(c, 1));
  return {out * Tanh(c), c};
}

// Without the axis of directions, of which there is one.
Value OneDirection(const Value& a) {
  return Reshape(a, a.between(1, a.rank()));
}

Layer LayerOf(const OpCall& call) {
  const Value input = OneDirection(call[1]);
  const int64_t rows = input.dim(0);
  const Value biases = call.Has(3)
                           ? OneDirection(call[3])
                           : Filled(call.graph(), {2 * rows}, 0, input.dtype());
  const Value recurrent = OneDirection(call[2]);
  Require(recurrent.rank() == 2, "input 2 has ", call[2].rank(), " axes");
  Layer layer = {.hidden = call.Whole("hidden_size", recurrent.dim(1)),
                 .input = input,
                 .recurrent = recurrent,
                 .input_bias = Part(biases, 0, 0, rows),
                 .recurrent_bias = Part(biases, 0, rows, rows),
                 .peephole = {}};
  if (call.Has(7)) layer.peephole = OneDirection(call[7]);
  return layer;
}

absl::Status CheckLengths(const OpCall& call, int64_t steps) {
  if (!call.Has(4)) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(Numbers lengths, call.WholeElements(4));
  if (absl::c_all_of(lengths, [&](int64_t n) { return n == steps; })) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError("sequences of several lengths");
}

OpRule Recurrent(std::string name, Cell cell) {
  auto rule = [cell](const OpCall& call) -> absl::StatusOr<Outputs> {
    const bool batch_first = call.Whole("layout", 0) != 0;
    const Value x = batch_first ? Transpose(call[0], {1, 0, 2}) : call[0];
    if (x.dim(0) > kMostSteps) {
      return absl::UnimplementedError(absl::StrCat(
          "a sequence of ", x.dim(0), " steps, more than ", kMostSteps));
    }
    OCANNL_RETURN_IF_ERROR(CheckLengths(call, x.dim(0)));
    const Layer layer = LayerOf(call);
    const int64_t batch = x.dim(1);
    auto initial = [&](size_t k) {
      if (!call.Has(k)) {
        return Filled(call.graph(), {batch, layer.hidden}, 0, x.dtype());
      }
      return Reshape(call[k], {batch, layer.hidden});
    };
    State state = {initial(5), initial(6)};
    std::vector<Value> all;
    for (int64_t t = 0; t < x.dim(0); ++t) {
      state = cell(call, layer, Reshape(Part(x, 0, t, 1), {batch, x.dim(2)}),
                   state);
      all.push_back(Reshape(state.h, {1, 1, batch, layer.hidden}));
    }
    const Value y = Concatenate(all, 0);
    Dims last = {1, batch, layer.hidden};
    if (batch_first) std::swap(last[0], last[1]);
    return Outputs{batch_first ? Transpose(y, {2, 0, 1, 3}) : y,
                   Reshape(state.h, last), Reshape(state.c, last)};
  };
  return {std::move(name), rule};
}

}  // namespace

std::vector<OpRule> RecurrentRules() {
  return {Recurrent("RNN", RnnStep), Recurrent("GRU", GruStep),
          Recurrent("LSTM", LstmStep)};
}

}  // namespace ocannl::onnx
