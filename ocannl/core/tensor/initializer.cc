// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/initializer.h"

#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/open_dtype.h"
#include "ocannl/core/tensor/text.h"

namespace ocannl {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr int kWordBits = 32;

// Four words.
using Key = std::vector<Arg>;

// Word `word` of block `block`.
Tensor WordAt(const Key& key, const Arg& block, const Arg& word) {
  return ThreefryCrypto(key[0], key[1], key[2], key[3], block, word);
}

// A u32 leaf: the lower or higher bits of a static index.
Tensor SymbolWord(Graph& graph, SymbolSource symbol, SourceLocation where) {
  return {&graph, graph.Add({.source = symbol,
                             .name = "",
                             .text = symbol.part == SymbolSource::Part::kHigh
                                         ? "step >> 32"
                                         : "step",
                             .dtype = DType::kU32,
                             .has_gradient = false,
                             .where = where})};
}

// The two's complement of a number that is an integer of i64 or u64.
std::optional<uint64_t> IntegerOf(const TensorNode& node) {
  const double value = std::get<NumberSource>(node.source).value;
  if (std::abs(value) < 0x1p53) {
    if (std::trunc(value) != value) return std::nullopt;
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
  for (DType dtype : {DType::kI64, DType::kU64}) {
    const auto exact = ParseConstant(node.text, dtype);
    if (exact) return exact->bits;
  }
  return std::nullopt;
}

Tensor CounterError(Tensor counter, absl::string_view fix) {
  const TensorNode& node = counter.node();
  return ErrorTensor(
      *counter.graph, node.text,
      absl::StrCat("the counter of random numbers is u32, i64 or u64; ", fix),
      node.where);
}

// The words of the counter, but of a static index.
std::array<Tensor, 2> WordsOf(Tensor counter, SourceLocation where) {
  Graph& graph = *counter.graph;
  const TensorNode& node = counter.node();
  if (std::holds_alternative<NumberSource>(node.source)) {
    const std::optional<uint64_t> bits = IntegerOf(node);
    if (!bits) {
      const Tensor error = CounterError(counter, "write an integer");
      return {error, error};
    }
    return {Number(graph, static_cast<uint32_t>(*bits), where),
            Number(graph, static_cast<uint32_t>(*bits >> 32), where)};
  }
  if (IsInteger(node.dtype) && SizeOf(node.dtype) == 8) {
    counter = Stretch(counter, where);
    const Tensor high = Shr(Arg(counter, where), Arg(kWordBits, where));
    return {Convert(Arg(counter, where), DType::kU32),
            Convert(Arg(high, where), DType::kU32)};
  }
  if (node.dtype == DType::kU32 && !IsNumberLike(node.source)) {
    return {Stretch(counter, where), Number(graph, 0, where)};
  }
  if (IsNumberLike(node.source) ||
      std::holds_alternative<ErrorSource>(node.source)) {
    return {counter, Number(graph, 0, where)};
  }
  const Tensor error = CounterError(
      counter, absl::StrCat("write ", ConversionText(node, DType::kU32)));
  return {error, error};
}

// Two words of the graph's seed and of the draw's ordinal, and two of the
// counter. Threefry makes blocks of neighbouring keys independent.
Key NextKey(Graph& graph, const Draw& draw, SourceLocation where) {
  const auto words = KeyWords(graph.NextRandom(), graph.seed());
  Key key = {Arg(words[0], where), Arg(words[1], where)};
  SymbolSource symbol{kStep};
  if (draw.counter) {
    const TensorSource& source = draw.counter->node().source;
    if (!std::holds_alternative<SymbolSource>(source)) {
      for (Tensor word : WordsOf(*draw.counter, where)) {
        key.emplace_back(word, where);
      }
      return key;
    }
    symbol = std::get<SymbolSource>(source);
  }
  for (auto part : {SymbolSource::Part::kLow, SymbolSource::Part::kHigh}) {
    symbol.part = part;
    key.emplace_back(SymbolWord(graph, symbol, where), where);
  }
  return key;
}

// The number of bits of a significand, the leading one included.
template <class T>
constexpr int Precision(T) {
  return std::numeric_limits<T>::digits;
}
template <int exponent_bits, int fraction_bits, bool has_infinity>
constexpr int Precision(
    NarrowFloat<exponent_bits, fraction_bits, has_infinity>) {
  return fraction_bits + 1;
}

int PrecisionOf(DType dtype) {
  return VisitDType(dtype, [](auto zero) { return Precision(zero); });
}

// The leading `bits` of the words, as a number of `dtype`.
Tensor Leading(Tensor words, int bits, DType dtype, SourceLocation where) {
  Tensor high = Shr(Arg(words, where), Arg(kWordBits - bits, where));
  return Convert(Arg(high, where), dtype);
}

// A number in [0, 1) of words; `at(k)` is word k of those that a cell has.
template <class At>
Tensor ToUniform(DType dtype, SourceLocation where, At at) {
  const int bits = PrecisionOf(dtype);
  const Arg tiny(std::ldexp(1., -bits), where);
  if (bits <= kWordBits) {
    Tensor leading = Leading(at(0), bits, ComputeDType(dtype), where);
    return InDType(Mul(Arg(leading, where), tiny), dtype, where);
  }
  const int low_bits = bits / 2;
  Tensor high = Leading(at(0), bits - low_bits, dtype, where);
  Tensor shifted = Mul(Arg(high, where), Arg(std::ldexp(1., low_bits), where));
  Tensor low = Leading(at(1), low_bits, dtype, where);
  return Mul(Arg(Add(Arg(shifted, where), Arg(low, where)), where), tiny);
}

// The number of cells of one row of `param`, in the dtype that computes `like`:
// a narrow one may not hold it.
Tensor Fan(Tensor param, RowKind row, Tensor like) {
  SourceLocation where = param.node().where;
  return InDType(EmbedDim(param, {row}, where), ComputeDType(like.node().dtype),
                 where);
}

// random * sqrt(scale_sq / fan)
Tensor Scaled(Tensor random, double scale_sq, Tensor fan) {
  SourceLocation where = fan.node().where;
  Tensor square = Div(Arg(scale_sq, where), Arg(fan, where));
  Tensor scale = InDType(Sqrt(Arg(square, where)), random.node().dtype, where);
  return Mul(Arg(random, where), Arg(scale, where));
}

Tensor BoxMuller(Graph& graph, Draw draw, SourceLocation where,
                 decltype(Uniform) uniform) {
  const DType result = draw.dtype;
  draw.dtype = ComputeDType(result);
  auto at = [&](Tensor tensor) { return Arg(tensor, where); };
  auto number = [&](double value) { return Arg(value, where); };
  Arg u1 = at(uniform(graph, draw, where));
  Arg u2 = at(uniform(graph, draw, where));
  // u1 moved away from 0, where the logarithm has no value.
  const double tiny = std::ldexp(1., -PrecisionOf(draw.dtype));
  Tensor lift = Mul(number(tiny), at(Sub(number(1), u1)));
  Tensor log = Log(at(Add(u1, at(lift))));
  Tensor radius = Sqrt(at(Mul(number(-2), at(log))));
  Tensor angle = Cos(at(Mul(number(kTwoPi), u2)));
  Tensor normal = Mul(at(radius), at(angle));
  return InDType(normal, result, where);
}

// The nodes of an initialiser follow the parameter. Those of XavierNormal, the
// longest one, are 60.
constexpr int32_t kMostNodes = 128;

bool HasSpec(const TensorNode& node) {
  return absl::c_any_of(node.spec->rows,
                        [](const auto& row) { return row.has_value(); });
}

bool IsWord(const TensorNode& node) {
  return node.dtype == DType::kU32 &&
         std::holds_alternative<NumberSource>(node.source);
}

// A size that a narrow dtype may not hold is checked where it is inferred.
bool HoldsSizes(DType dtype) { return SizeOf(dtype) >= 4; }

bool IsPlain(const TensorNode& node, TensorId parameter) {
  const bool is_kept =
      node.memory && node.memory->mode != MemoryMode::kEffectivelyConstant;
  if (is_kept || HasSpec(node)) return false;
  return std::visit(
      Overload{[](const NumberSource&) { return true; },
               [](const OffsetsSource&) { return true; },
               [](const SymbolSource& symbol) {
                 return symbol.static_index == kStep;
               },
               [&](const DimSource& dim) {
                 return dim.of == parameter && dim.name.empty() &&
                        HoldsSizes(node.dtype);
               },
               [](const ComputeSource& compute) {
                 const auto* pointwise =
                     std::get_if<ComputeSource::Pointwise>(&compute.logic);
                 return compute.op && !compute.accum && pointwise != nullptr &&
                        !pointwise->stretches;
               },
               [](const auto&) { return false; }},
      node.source);
}

FirstValueForm LaterForm(const SharedInit& shared, const LaterInit& later) {
  FirstValueForm result{.form = shared.form, .words = {}};
  std::vector<std::array<uint32_t, 4>> keys;
  for (uint32_t draw = 1; draw <= shared.randoms; ++draw) {
    keys.push_back(KeyWords(later.randoms + draw, later.seed));
  }
  for (const SharedInit::Word& word : shared.words) {
    result.words.push_back(word.draw < 0 ? word.value
                                         : keys[word.draw][word.half]);
  }
  return result;
}

}  // namespace

std::array<uint32_t, 4> KeyWords(uint32_t ordinal, uint32_t seed) {
  return Threefry(ThreefryVariant::kCrypto, {ordinal, 0, 0, 0},
                  {seed, 0, 0, 0});
}

uint32_t WordOf(const TensorNode& node) {
  return static_cast<uint32_t>(ConstantOf(node, DType::kU32).bits);
}

Tensor Uniform1(Graph& graph, const Draw& draw, SourceLocation where) {
  const Key key = NextKey(graph, draw, where);
  const Arg offsets(Offsets(graph, DType::kU32, where), where);
  return ToUniform(draw.dtype, where, [&](int word) {
    return WordAt(key, offsets, Arg(word, where));
  });
}

Tensor Uniform(Graph& graph, const Draw& draw, SourceLocation where) {
  const Key key = NextKey(graph, draw, where);
  const Arg offsets(Offsets(graph, DType::kU32, where), where);
  const bool by_two = PrecisionOf(draw.dtype) > kWordBits;
  const Arg block(Shr(offsets, Arg(by_two ? 1 : 2, where)), where);
  const Arg cell(And(offsets, Arg(by_two ? 1 : 3, where)), where);
  return ToUniform(draw.dtype, where, [&](int word) {
    if (!by_two) return WordAt(key, block, cell);
    const Arg first(Mul(cell, Arg(2, where)), where);
    return WordAt(key, block, Arg(Add(first, Arg(word, where)), where));
  });
}

Tensor Normal1(Graph& graph, const Draw& draw, SourceLocation where) {
  return BoxMuller(graph, draw, where, Uniform1);
}

Tensor Normal(Graph& graph, const Draw& draw, SourceLocation where) {
  return BoxMuller(graph, draw, where, Uniform);
}

Tensor DefaultInit(Tensor param) {
  SourceLocation where = param.node().where;
  Tensor centred =
      Sub(Arg(Uniform1(*param.graph, {}, where), where), Arg(0.5, where));
  Tensor scaled = Mul(Arg(centred, where), Arg(0.5, where));
  if (param.node().dtype == DType::kF32) return scaled;
  return Convert(Arg(scaled, where), param.node().dtype);
}

Tensor Kaiming(Tensor random, Tensor param, double scale_sq) {
  return Scaled(random, scale_sq, Fan(param, RowKind::kInput, random));
}

Tensor Xavier(Tensor random, Tensor param, double scale_sq) {
  SourceLocation where = param.node().where;
  Tensor inputs = Fan(param, RowKind::kInput, random);
  Tensor outputs = Fan(param, RowKind::kOutput, random);
  Tensor fan = Add(Arg(inputs, where), Arg(outputs, where));
  return Scaled(random, scale_sq, fan);
}

std::optional<std::vector<TensorId>> PlainFirstValue(const Graph& graph,
                                                     TensorId parameter) {
  const auto& param = std::get<ParamSource>(graph[parameter].source);
  if (!param.init) return std::nullopt;
  // The nodes come after the parameter, or later together.
  const int32_t count = param.later
                            ? graph.shared_inits()[param.later->shared].nodes
                            : param.init->index - parameter.index;
  const int32_t first = param.init->index - count + 1;
  if (count < 1 || count > kMostNodes) return std::nullopt;
  std::bitset<kMostNodes> reached;
  reached[count - 1] = true;
  bool is_random = false;
  int32_t size = 0;
  for (int32_t k = count - 1; k >= 0; --k) {
    const TensorNode& node = graph[{first + k}];
    // One that an initialiser makes may share its numbers.
    if (std::holds_alternative<ParamSource>(node.source)) return std::nullopt;
    if (!reached[k]) continue;
    if (!IsPlain(node, parameter)) return std::nullopt;
    ++size;
    is_random |= std::holds_alternative<OffsetsSource>(node.source);
    const auto* compute = std::get_if<ComputeSource>(&node.source);
    if (compute == nullptr) continue;
    for (TensorId operand : compute->operands) {
      if (operand.index < first) return std::nullopt;
      reached[operand.index - first] = true;
    }
  }
  if (!is_random) return std::nullopt;
  std::vector<TensorId> nodes;
  nodes.reserve(size);
  for (int32_t k = 0; k < count; ++k) {
    if (reached[k]) nodes.push_back({first + k});
  }
  return nodes;
}

std::vector<TensorId> WordsOf(const Graph& graph,
                              const std::vector<TensorId>& nodes) {
  std::vector<TensorId> words;
  absl::c_copy_if(nodes, std::back_inserter(words),
                  [&](TensorId id) { return IsWord(graph[id]); });
  return words;
}

std::optional<FirstValueForm> FormOf(const Graph& graph, TensorId parameter) {
  const auto& later = std::get<ParamSource>(graph[parameter].source).later;
  if (later) return LaterForm(graph.shared_inits()[later->shared], *later);
  const auto nodes = PlainFirstValue(graph, parameter);
  if (!nodes) return std::nullopt;
  FirstValueForm result;
  std::vector<int64_t>& form = result.form;
  auto add = [&](auto value) { form.push_back(static_cast<int64_t>(value)); };
  for (TensorId id : *nodes) {
    const TensorNode& node = graph[id];
    add(node.source.index());
    add(node.dtype);
    if (IsWord(node)) {
      result.words.push_back(WordOf(node));
    } else if (std::holds_alternative<NumberSource>(node.source)) {
      add(ConstantOf(node, node.dtype).bits);
    } else if (const auto* symbol = std::get_if<SymbolSource>(&node.source)) {
      add(symbol->part);
    } else if (const auto* dim = std::get_if<DimSource>(&node.source)) {
      add(dim->rows.size());
      for (RowKind row : dim->rows) add(row);
    } else if (const auto* compute = std::get_if<ComputeSource>(&node.source)) {
      add(*compute->op);
      for (TensorId operand : compute->operands) {
        add(absl::c_lower_bound(*nodes, operand) - nodes->begin());
      }
    }
  }
  return result;
}

}  // namespace ocannl
