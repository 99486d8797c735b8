// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"
#include "ocannl/onnx/rules/select.h"

namespace ocannl::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [batch, heads, sequence, size] of [batch, sequence, heads * size].
Value SplitHeads(const Value& x, int64_t heads) {
  if (x.rank() == 4) return x;
  Require(x.rank() == 3 && heads > 0 && x.dim(2) % heads == 0, heads,
          " heads do not divide an input");
  return Transpose(Reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}),
                   {0, 2, 1, 3});
}

Value JoinHeads(const Value& x) {
  return Reshape(Transpose(x, {0, 2, 1, 3}),
                 {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

// Each head `times` times in succession.
Value RepeatHeads(const Value& x, int64_t times) {
  if (times == 1) return x;
  const Value apart = Reshape(x, {x.dim(0), x.dim(1), 1, x.dim(2), x.dim(3)});
  return Reshape(Expand(apart, {x.dim(0), x.dim(1), times, x.dim(2), x.dim(3)}),
                 {x.dim(0), x.dim(1) * times, x.dim(2), x.dim(3)});
}

// How far query i may see, in keys: i plus this. One number, or one for each
// example: [batch, 1, 1, 1].
Value OffsetOf(const OpCall& call, int64_t queries) {
  if (call.Has(4)) {
    return Filled(call.graph(), {}, static_cast<double>(call[4].dim(2)),
                  DType::kI64);
  }
  if (!call.Has(6)) return Filled(call.graph(), {}, 0, DType::kI64);
  const Value lengths = Cast(call[6], DType::kI64);
  return Reshape(lengths, {lengths.cells(), 1, 1, 1}) -
         static_cast<double>(queries);
}

// Which scores count, as a bool that broadcasts to them, and what is added to
// them. None: all, nothing.
struct Mask {
  std::optional<Value> allowed, added;

  void Allow(const Value& more) {
    allowed = allowed ? And(*allowed, more) : more;
  }
};

Mask MaskOf(const OpCall& call, int64_t queries, int64_t keys) {
  Mask mask;
  const Value key = Iota(call.graph(), keys);
  if (call.Has(3)) {
    Value given = call[3];
    const int64_t size = given.dim(given.rank() - 1);
    Require(size == keys || size < keys, "a mask of ", size, " keys, not ",
            keys);
    // Keys behind the mask are hidden.
    if (size < keys) {
      mask.Allow(Less(key, static_cast<double>(size)));
      given = Pad(given, given.rank() - 1, 0, keys - size);
    }
    if (given.dtype() == DType::kBool) {
      mask.Allow(given);
    } else {
      mask.added = given;
    }
  }
  const int64_t left = call.Whole("left_window_size", -1);
  const int64_t right = call.Whole("right_window_size", -1);
  const bool is_causal = call.Whole("is_causal", 0) != 0;
  if (is_causal || left >= 0 || right >= 0) {
    const Value query = Reshape(Iota(call.graph(), queries), {queries, 1}) +
                        OffsetOf(call, queries);
    if (is_causal) mask.Allow(LessEqual(key, query));
    if (left >= 0) {
      mask.Allow(LessEqual(query - key, static_cast<double>(left)));
    }
    if (right >= 0) {
      mask.Allow(LessEqual(key - query, static_cast<double>(right)));
    }
  }
  if (call.Has(6)) {
    const Value lengths = Cast(call[6], DType::kI64);
    mask.Allow(Less(key, Reshape(lengths, {lengths.cells(), 1, 1, 1})));
  }
  return mask;
}

// The softmax over the last axis. A row without an allowed score is 0.
Value MaskedSoftmax(const Value& scores) {
  const Numbers last = {scores.rank() - 1};
  const Value greatest = ReduceAxes(Op::kMax, scores, last);
  const Value base = Select(Equal(greatest, -kInfinity), 0, greatest);
  const Value e = Exp(scores - base);
  const Value sum = ReduceAxes(Op::kAdd, e, last);
  return e / Select(Equal(sum, 0), 1, sum);
}

// Versions 23 and 24: softmax(softcap(Q K^T scale) + mask) V.
absl::StatusOr<Outputs> AttentionRule(const OpCall& call) {
  const int64_t query_heads = call.Whole("q_num_heads", 0);
  const int64_t key_heads = call.Whole("kv_num_heads", 0);
  const Value query = SplitHeads(call[0], query_heads);
  Value key = SplitHeads(call[1], key_heads);
  Value value = SplitHeads(call[2], key_heads);
  Require(query.rank() == 4 && key.rank() == 4 && value.rank() == 4,
          "an input has not 3 or 4 axes");
  if (call.Has(4)) key = Concatenate({call[4], key}, 2);
  if (call.Has(5)) value = Concatenate({call[5], value}, 2);
  Require(query.dim(1) % std::max<int64_t>(1, key.dim(1)) == 0,
          "heads of keys do not divide those of queries");
  const int64_t times = query.dim(1) / std::max<int64_t>(1, key.dim(1));
  const DType dtype = query.dtype();
  const double scale =
      call.Number("scale", 1 / std::sqrt(static_cast<double>(query.dim(3))));
  const double root = std::sqrt(scale);
  Value scores = MatrixProduct(
      query * root, Transpose(RepeatHeads(key, times) * root, {0, 1, 3, 2}));
  std::optional<Value> shown = scores;
  const int64_t mode = call.Whole("qk_matmul_output_mode", 0);
  const double softcap = call.Number("softcap", 0);
  if (softcap > 0) scores = softcap * Tanh(scores / softcap);
  if (mode == 1) shown = scores;
  const Mask mask = MaskOf(call, query.dim(2), key.dim(2));
  if (mask.added) scores = scores + *mask.added;
  if (mask.allowed) scores = Select(*mask.allowed, scores, -kInfinity);
  if (mode == 2) shown = scores;
  if (call.Whole("softmax_precision", 0) != 0) {
    OCANNL_ASSIGN_OR_RETURN(const DType precision,
                            DTypeOfCode(call.Whole("softmax_precision", 0)));
    scores = Cast(scores, precision);
  }
  const Value weights = Cast(MaskedSoftmax(scores), dtype);
  if (mode == 3) shown = weights;
  const Value mixed = MatrixProduct(weights, RepeatHeads(value, times));
  return Outputs{call[0].rank() == 3 ? JoinHeads(mixed) : mixed, key, value,
                 *shown};
}

// The rows of a table of angles for each position: [batch, sequence, 1, size].
Value AnglesOf(const OpCall& call, size_t k) {
  Value table = call[k];
  if (call.Has(3)) {
    const Value ids = Cast(call[3], DType::kI64);
    table = GatherAxis(table, 0, ids);
  }
  Require(table.rank() == 3, "angles have ", table.rank(), " axes");
  return Reshape(table, {table.dim(0), table.dim(1), 1, table.dim(2)});
}

// Pairs of cells of each head, turned by the angle of their position: halves of
// the head, or neighbours if they are interleaved.
absl::StatusOr<Outputs> RotaryRule(const OpCall& call) {
  const bool has_heads = call[0].rank() == 4;
  const Value x =
      Transpose(SplitHeads(call[0], call.Whole("num_heads", 0)), {0, 2, 1, 3});
  int64_t turned = call.Whole("rotary_embedding_dim", 0);
  if (turned == 0) turned = x.dim(3);
  const int64_t half = turned / 2;
  const Value cosine = AnglesOf(call, 1), sine = AnglesOf(call, 2);
  const Value part = Part(x, 3, 0, turned);
  const bool interleaved = call.Whole("interleaved", 0) != 0;
  auto pick = [&](int64_t second) {
    if (!interleaved) return Part(part, 3, second * half, half);
    const Value pairs = Reshape(part, {x.dim(0), x.dim(1), x.dim(2), half, 2});
    return Reshape(Part(pairs, 4, second, 1),
                   {x.dim(0), x.dim(1), x.dim(2), half});
  };
  const Value first = pick(0), second = pick(1);
  const Value real = cosine * first - sine * second;
  const Value imaginary = sine * first + cosine * second;
  Value joined = Concatenate({real, imaginary}, 3);
  if (interleaved) {
    const Dims dims = {x.dim(0), x.dim(1), x.dim(2), half, 1};
    joined =
        Reshape(Concatenate({Reshape(real, dims), Reshape(imaginary, dims)}, 4),
                part.dims);
  }
  const Value all =
      Concatenate({joined, Part(x, 3, turned, x.dim(3) - turned)}, 3);
  if (has_heads) return Transpose(all, {0, 2, 1, 3});
  return Reshape(all, call[0].dims);
}

}  // namespace

std::vector<OpRule> AttentionRules() {
  return {{"Attention", AttentionRule}, {"RotaryEmbedding", RotaryRule}};
}

}  // namespace ocannl::onnx
