// SPDX-License-Identifier: Apache-2.0
//
// The cost of inference grows like the model: counted, but for one long chain.
#include <chrono>
#include <cstdint>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/test_tensors.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/initializer.h"

namespace ocannl {
namespace {

// The root of a chain of so many layers.
using MakeChain = std::function<Tensor(Graph& graph, int layers)>;

int64_t Steps(const MakeChain& make, int layers) {
  Graph graph;
  const Tensor root = make(graph, layers);
  Shapes shapes;
  int64_t steps = 0;
  CHECK_OK(InferShapes(graph, {root.id}, shapes, &steps));
  return steps;
}

void ExpectLinear(const MakeChain& make) {
  const int64_t few = Steps(make, 250);
  const int64_t many = Steps(make, 4000);
  EXPECT_GT(few, 250);
  EXPECT_LE(many, few * 16 * 21 / 20);
}

// Layers whose parameters have sizes from the input, or from the end.
Tensor Layers(Graph& graph, int layers, const Initializer& init, bool forward) {
  Tensor x = Zeros(graph, "x", "8|16");
  Tensor h = forward ? x : Weights(graph, "h", {});
  for (int k = 0; k < layers; ++k) {
    Tensor w = Param(graph, "w", {}, DType::kF32, init);
    Tensor b = Param(graph, "b", {}, DType::kF32, init);
    h = Relu(w * h + b);
    if (forward) h = h + x;
  }
  return h + x;
}

TEST(InferCost, Layers) {
  ExpectLinear([](Graph& graph, int layers) {
    return Layers(graph, layers, nullptr, true);
  });
}

TEST(InferCost, LayersWithFirstValues) {
  ExpectLinear([](Graph& graph, int layers) {
    return Layers(graph, layers, DefaultInit, true);
  });
}

TEST(InferCost, EinsumsBackwards) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor h = Weights(graph, "h", {});
    for (int k = 0; k < layers; ++k) {
      h = Einsum1("...|... => ...|...", h);
    }
    return h + Zeros(graph, "x", "3,4");
  });
}

TEST(InferCost, Windows) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor h = Zeros(graph, "x", absl::StrCat(2 * layers + 7));
    for (int k = 0; k < layers; ++k) {
      h = Einsum("o<+k; k => o", h, Zeros(graph, "k", "3"));
    }
    return h;
  });
}

// Each kernel is known from the sizes of the rows before and after it.
TEST(InferCost, WindowsBackwards) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor h = Weights(graph, "h", {});
    for (int k = 0; k < layers; ++k) {
      h = Einsum("o<+k; k => o", h, Zeros(graph, "k", "3"));
    }
    return h + Zeros(graph, "x", "7");
  });
}

// Sizes that only a position demands, one after the other.
TEST(InferCost, Positions) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor sum = Zeros(graph, "x", "1");
    for (int k = 0; k < layers; ++k) {
      Tensor w = Weights(graph, "w", {});
      sum = sum + Einsum("3; i => 0", w, Weights(graph, "v", WithOutput({2})));
    }
    return sum;
  });
}

TEST(InferCost, Concatenations) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor h = Zeros(graph, "x", "2");
    for (int k = 0; k < layers; ++k) {
      h = Concat("a; b => a^b", {h, Zeros(graph, "y", "1")});
    }
    return h;
  });
}

TEST(InferCost, SetSizes) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor h = Zeros(graph, "x", "2");
    for (int k = 0; k < layers; ++k) {
      h = Einsum("i; i->o => o", h, Weights(graph, "w", {}));
      CHECK_OK(SetDim(h, "o", 2 + k % 3));
    }
    return h;
  });
}

TEST(InferCost, ManyUsesOfOneTensor) {
  ExpectLinear([](Graph& graph, int layers) {
    Tensor w = Weights(graph, "w", {});
    Tensor sum = Zeros(graph, "x", "8|16");
    for (int k = 0; k < layers; ++k) sum = Relu(w * sum) + sum;
    return sum;
  });
}

// A chain of layers; the sizes of all parameters are inferred.
Tensor Chain(Graph& graph, int layers, const Initializer& init) {
  Tensor x = Zeros(graph, "x", "8|16");
  Tensor h = x;
  for (int i = 0; i < layers; ++i) {
    Tensor w = Param(graph, absl::StrCat("w", i), {}, DType::kF32, init);
    Tensor b = Param(graph, absl::StrCat("b", i), {}, DType::kF32, init);
    h = Relu(w * h + b) + x;
  }
  return h;
}

// Sanitizers make everything several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::chrono::seconds kLongest(20);
#else
constexpr std::chrono::seconds kLongest(1);
#endif

TEST(InferCost, TakesALongChainInUnderASecond) {
  Graph graph;
  Tensor h = Chain(graph, 2000, nullptr);
  Shapes shapes;
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(InferShapes(graph, {h.id}, shapes).ok());
  auto time = std::chrono::steady_clock::now() - start;
  EXPECT_LT(time, kLongest);
  EXPECT_EQ(ToString(shapes.at(*graph.Find("w1999"))), "16->16");
  EXPECT_EQ(ToString(shapes.at(*graph.Find("b0"))), "16");
}

TEST(InferCost, TakesALongChainWithItsFirstValues) {
  Graph graph;
  Tensor h = Chain(graph, 2000, DefaultInit);
  Shapes shapes;
  ASSERT_TRUE(InferShapes(graph, {h.id}, shapes).ok());
  EXPECT_EQ(ToString(shapes.at(*graph.Find("w0"))), "16->16");
}

// What the last layer says has to reach the first one, by equations.
TEST(InferCost, TakesALongChainOfEinsumsBackwards) {
  Graph graph;
  Tensor h = Weights(graph, "h", {});
  Tensor root = h;
  for (int i = 0; i < 2000; ++i) root = Einsum1("...|... => ...|...", root);
  root = root + Zeros(graph, "x", "3,4");
  Shapes shapes;
  ASSERT_TRUE(InferShapes(graph, {root.id}, shapes).ok());
  EXPECT_EQ(ToString(shapes.at(h.id)), "3,4");
}

}  // namespace
}  // namespace ocannl
