// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/attention.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/call.h"
#include "ocannl/train/blocks/position.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/blocks/wide.h"

namespace ocannl::train {
namespace {

constexpr absl::string_view kOverMemory = "...|t->... => ...|0->...";
// Of a state, which has output axes only.
constexpr absl::string_view kPlaces = "t, ..b.., h, k => ..b.., t|h, k";

int64_t ValueSize(const AttentionOptions& options) {
  return options.value_size.value_or(options.key_size);
}

LinearOptions Heads(const AttentionOptions& options, int64_t size) {
  return {.outputs = Dims{options.heads, size},
          .bias = options.bias,
          .init = options.init};
}

}  // namespace

Tensor CausalMask(Graph& graph, int64_t length, SourceLocation where) {
  Tensor places = Range(graph, length, DType::kI32, where);
  CallScope call("CausalMask", "", {places}, where);
  return call.Of(
      LessEqual(Einsum1("t => |t->", places), Einsum1("s => s|", places)));
}

MultiHeadAttention::MultiHeadAttention(const ParamScope& scope,
                                       const AttentionOptions& options,
                                       SourceLocation where)
    : scope_(scope),
      options_(options),
      query_(scope / "query", Heads(options, options.key_size), where),
      key_(scope / "key", Heads(options, options.key_size), where),
      value_(scope / "value", Heads(options, ValueSize(options)), where),
      out_(scope / "out",
           {.outputs = Dims{options.size},
            .bias = options.bias,
            .init = options.out_init},
           where) {}

Tensor MultiHeadAttention::Turned(Tensor x) const {
  if (!options_.rope_length) return x;
  return Rope(scope_,
              {.length = *options_.rope_length, .size = options_.key_size}, x);
}

Tensor MultiHeadAttention::TurnedAt(Tensor x, const Decoding& decoding) const {
  if (!options_.rope_length) return x;
  return RopeAt(scope_,
                {.length = *options_.rope_length, .size = options_.key_size},
                decoding.position, x);
}

Tensor MultiHeadAttention::Attend(absl::string_view places, Tensor queries,
                                  Tensor keys, Tensor values,
                                  std::optional<Tensor> mask,
                                  const Training* training) const {
  if (!(options_.temperature > 0)) {
    return OptionError(
        scope_,
        absl::StrCat("the temperature is ", NumberText(options_.temperature),
                     "; it must be above 0"),
        queries.node().where);
  }
  const double scale = 1 / (std::sqrt(static_cast<double>(options_.key_size)) *
                            options_.temperature);
  const DType dtype = DecidedDType(queries);
  const Tensor scaled = Mul(Widened(queries), scale);
  Tensor scores = Einsum(
      absl::StrCat("...", places, "|hk; ...t|hk => ...", places, "|t->h"),
      scaled, Widened(keys, dtype));
  const auto [e, sum] = PartsOfSoftmax(kOverMemory, scores, mask);
  const Tensor found = Einsum(
      absl::StrCat("...", places, "|t->h; ...t|hv => ...", places, "|hv"),
      Dropout(e, options_.dropout, training), Widened(values, dtype));
  return out_(InDType(found / Einsum1("...|0->h => ...|h0", sum), dtype));
}

Tensor MultiHeadAttention::operator()(Tensor x, Tensor memory,
                                      std::optional<Tensor> mask,
                                      const Training* training,
                                      SourceLocation where) const {
  CallScope call("MultiHeadAttention", "", {x, memory}, where);
  return call.Of(Attend("s", Turned(query_(x)), Turned(key_(memory)),
                        value_(memory), mask, training));
}

Tensor MultiHeadAttention::State(absl::string_view name, int64_t length,
                                 int64_t size, const Decoding& decoding) const {
  Dims dims = {length};
  absl::c_copy(decoding.batch, std::back_inserter(dims));
  dims.push_back(options_.heads);
  dims.push_back(size);
  ParamScope scope = scope_;
  scope.kept.reset();  // as what is computed
  return MakeState(scope, name, std::move(dims), ConstantInit(0));
}

Tensor MultiHeadAttention::Step(Tensor x, Decoding& decoding,
                                SourceLocation where) const {
  CallScope call("MultiHeadAttention", "", {x}, where);
  Graph& graph = *x.graph;
  const Tensor position = EmbedSymbol(graph, decoding.position);
  const Tensor places = Range(graph, decoding.length, DType::kI32);
  const Tensor is_here = Equal(Einsum1("t => t|", places), position);
  // What was kept of the places, and `row` here, which is kept for the next.
  auto kept = [&](absl::string_view name, int64_t size, Tensor row) {
    const Tensor state = State(name, decoding.length, size, decoding);
    CHECK_OK(SetMemoryMode(row, MemoryMode::kMaterialized));
    decoding.step.push_back({.state = state,
                             .value = Einsum1("..b..|h, k => ..b.., h, k", row),
                             .at = decoding.position});
    return Select(is_here, Einsum1("...|h, k => ..., 0|h, k", row),
                  Einsum1(kPlaces, state));
  };
  const Tensor keys =
      kept("keys", options_.key_size, TurnedAt(key_(x), decoding));
  const Tensor values = kept("values", ValueSize(options_), value_(x));
  return call.Of(Attend("", TurnedAt(query_(x), decoding), keys, values,
                        LessEqual(Einsum1("t => |t->", places), position),
                        kInference));
}

Tensor MultiHeadAttention::Step(Tensor x, Tensor memory, Decoding& decoding,
                                SourceLocation where) const {
  CallScope call("MultiHeadAttention", "", {x, memory}, where);
  // The code of each state reads it.
  absl::Status status = SetMemoryMode(memory, MemoryMode::kMaterialized, where);
  if (!status.ok()) return ErrorTensor(*x.graph, status, where);
  auto kept = [&](absl::string_view name, int64_t size, Tensor rows) {
    const Tensor state = State(name, decoding.memory_length, size, decoding);
    decoding.start.push_back(
        {.state = state,
         .value = Einsum1("..b.., t|h, k => t, ..b.., h, k", rows)});
    return Einsum1(kPlaces, state);
  };
  const Tensor keys = kept("keys", options_.key_size, Turned(key_(memory)));
  const Tensor values = kept("values", ValueSize(options_), value_(memory));
  return call.Of(Attend("", TurnedAt(query_(x), decoding), keys, values,
                        std::nullopt, kInference));
}

}  // namespace ocannl::train
