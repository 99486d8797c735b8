// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/initializer.h"

#include <array>
#include <cstdint>

#include "ocannl/core/ops/random.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

constexpr double kTwoPi = 6.283185307179586;
constexpr double kTiny = 0x1p-24;

// The words of the graph's next key.
std::array<uint32_t, 4> NextKey(Graph& graph) {
  return Threefry(ThreefryVariant::kLight, {graph.NextRandom(), 0, 0, 0},
                  {graph.seed(), 0, 0, 0});
}

// Word `word` of the blocks at `counter`, under the graph's next key.
Tensor RandomWords(const Arg& counter, const Arg& word, SourceLocation where) {
  std::array<uint32_t, 4> key = NextKey(*std::get<Tensor>(counter.value).graph);
  auto at = [&](uint32_t key_word) { return Arg(key_word, where); };
  return ThreefryLight(at(key[0]), at(key[1]), at(key[2]), at(key[3]), counter,
                       word);
}

Tensor ToUniform(Tensor words, SourceLocation where) {
  Tensor high = Shr(Arg(words, where), Arg(8, where));
  Tensor number = Convert(Arg(high, where), DType::kF32);
  return Mul(Arg(number, where), Arg(kTiny, where));
}

// The number of cells of one row of `param`, in the dtype of `like`.
Tensor Fan(Tensor param, RowKind row, Tensor like) {
  SourceLocation where = param.node().where;
  Tensor fan = EmbedDim(param, {row}, where);
  if (like.node().dtype == DType::kF32) return fan;
  return Convert(Arg(fan, where), like.node().dtype);
}

// random * sqrt(scale_sq / fan)
Tensor Scaled(Tensor random, double scale_sq, Tensor fan) {
  SourceLocation where = fan.node().where;
  Tensor square = Div(Arg(scale_sq, where), Arg(fan, where));
  Tensor scale = Sqrt(Arg(square, where));
  return Mul(Arg(random, where), Arg(scale, where));
}

}  // namespace

Tensor Uniform1(Graph& graph, SourceLocation where) {
  Tensor offsets = Offsets(graph, DType::kU32, where);
  return ToUniform(RandomWords(Arg(offsets, where), Arg(0, where), where),
                   where);
}

Tensor Uniform1At(Tensor counter, SourceLocation where) {
  auto at = [&](auto value) { return Arg(value, where); };
  std::array<uint32_t, 4> first = NextKey(*counter.graph);
  auto key = [&](int word) {
    return at(ThreefryLight(at(first[0]), at(first[1]), at(first[2]),
                            at(first[3]), at(counter), at(word)));
  };
  Tensor offsets = Offsets(*counter.graph, DType::kU32, where);
  return ToUniform(
      ThreefryLight(key(0), key(1), key(2), key(3), at(offsets), at(0)), where);
}

Tensor Uniform(Graph& graph, SourceLocation where) {
  Arg offsets(Offsets(graph, DType::kU32, where), where);
  Tensor block = Shr(offsets, Arg(2, where));
  Tensor word = And(offsets, Arg(3, where));
  return ToUniform(RandomWords(Arg(block, where), Arg(word, where), where),
                   where);
}

Tensor Normal(Graph& graph, SourceLocation where) {
  auto at = [&](Tensor tensor) { return Arg(tensor, where); };
  auto number = [&](double value) { return Arg(value, where); };
  Arg u1 = at(Uniform(graph, where));
  Arg u2 = at(Uniform(graph, where));
  // u1 moved away from 0, where the logarithm has no value.
  Tensor lift = Mul(number(kTiny), at(Sub(number(1), u1)));
  Tensor log = Log(at(Add(u1, at(lift))));
  Tensor radius = Sqrt(at(Mul(number(-2), at(log))));
  Tensor angle = Cos(at(Mul(number(kTwoPi), u2)));
  return Mul(at(radius), at(angle));
}

Tensor DefaultInit(Tensor param) {
  SourceLocation where = param.node().where;
  Tensor centred =
      Sub(Arg(Uniform1(*param.graph, where), where), Arg(0.5, where));
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

}  // namespace ocannl
