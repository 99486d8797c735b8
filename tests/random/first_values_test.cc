// SPDX-License-Identifier: Apache-2.0
//
// First values that share code are those of code for each parameter, and are
// compiled once. 2 s.
#include "ocannl/core/first_values.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/build.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/run/run.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

ShapeSpec WithRows(std::optional<Dims> batch, std::optional<Dims> outputs,
                   std::optional<Dims> inputs) {
  ShapeSpec spec;
  spec.rows = {std::move(batch), std::move(outputs), std::move(inputs)};
  return spec;
}

// A tier that counts what it compiles.
class Counting : public Backend {
 public:
  explicit Counting(const Backend* tier) : tier_(tier) {}
  absl::string_view name() const override { return tier_->name(); }
  const MemorySpace& memory() const override { return tier_->memory(); }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    ++compiled;
    for (const loop_ir::Buffer& buffer : program.buffers) {
      filled += buffer.role == loop_ir::Role::kOut ? 1 : 0;
    }
    return tier_->Compile(program);
  }
  mutable int compiled = 0;
  mutable int filled = 0;  // arrays by all of these programs

 private:
  const Backend* tier_;
};

const std::vector<Initializer>& Initializers() {
  static const auto* all = new std::vector<Initializer>{
      DefaultInit,
      train::KaimingUniform(),
      train::KaimingNormal(),
      train::XavierUniform(1),
      train::XavierNormal(1),
      train::NormalInit(0.5),
      train::ConstantInit(3),
      train::TorchLinear().weights,
      [](Tensor p) { return Uniform1(*p.graph, {.dtype = p.node().dtype}); },
      [](Tensor p) { return Normal1(*p.graph, {.dtype = p.node().dtype}); },
      // Of words that are no keys, too.
      [](Tensor p) {
        const Tensor cells = Offsets(*p.graph, DType::kU32);
        return Convert(Add(cells, 7), p.node().dtype);
      },
  };
  return *all;
}

// Adds two parameters of each shape to `model` for each initialiser, and
// returns what depends on all of them. They come in an order that keeps those
// of one sort apart.
Tensor ManyParameters(train::Model& model, DType dtype) {
  Tensor sum = Convert(Number(model.graph, 0), dtype);
  const std::vector<Dims> shapes = {{1}, {3, 5}};
  for (int copy = 0; copy < 2; ++copy) {
    for (size_t k = 0; k < Initializers().size(); ++k) {
      for (const Dims& outputs : shapes) {
        const Tensor p = Param(
            model.graph, absl::StrCat("p", model.graph.size()),
            {.rows = {Dims{}, outputs, Dims{2}}}, dtype, Initializers()[k]);
        sum = sum + Einsum1("...|...->... => 0", p);
      }
    }
  }
  return sum;
}

std::vector<NdArray> ValuesOf(train::Model& model, Tensor t,
                              const Context& context) {
  std::vector<NdArray> values;
  for (Tensor p : train::AllParameters(model, t)) {
    absl::StatusOr<NdArray> value = context.Read(p.node().name);
    CHECK_OK(value);
    values.push_back(*std::move(value));
  }
  return values;
}

TEST(FirstValuesTest, AreThoseOfInitParamsOnEachTier) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
    train::Model apart;
    const Tensor all = ManyParameters(apart, dtype);
    TestDevice reference;
    CHECK_OK(ToRoutine(reference.context, *train::InitParams(apart, all), {})
                 ->Run());
    const auto expected = ValuesOf(apart, all, reference.context);
    const auto differ = [&](const Backend& tier) -> std::string {
      train::Model model;
      const Tensor result = ManyParameters(model, dtype);
      const Counting counting(&tier);
      TestDevice host(&counting);
      const absl::StatusOr<Context> context =
          train::RunInit(model, result, {}, host.context);
      CHECK_OK(context);
      const auto values = ValuesOf(model, result, *context);
      for (size_t k = 0; k < values.size(); ++k) {
        if (!SameBits(values[k], expected[k])) return absl::StrCat(k);
      }
      // A program for each initialiser and shape; those of constants are one.
      if (counting.compiled == 2 * 10 + 1) return "";
      return absl::StrCat(counting.compiled, " programs");
    };
    EXPECT_TRUE(fuzz::OnEachTier(differ)) << Name(dtype);
  }
}

TEST(FirstValuesTest, OfManyCellsShareNoCode) {
  for (int64_t size : {int64_t{1} << 15, (int64_t{1} << 15) + 1}) {
    train::Model model;
    const auto add = [&](const std::string& name) {
      return Param(model.graph, name, WithRows({}, Dims{size}, Dims{}),
                   DType::kF32, DefaultInit);
    };
    const Tensor a = add("a");
    const Tensor sum = a + add("b");
    const Counting counting(TestDevice::Interpreter());
    TestDevice host(&counting);
    CHECK_OK(train::RunInit(model, sum, {}, host.context));
    EXPECT_EQ(counting.filled, size > 1 << 15 ? 2 : 1);
    const auto values = ValuesOf(model, sum, host.context);
    TestDevice reference;
    CHECK_OK(ToRoutine(reference.context, *train::InitParams(model, sum), {})
                 ->Run());
    EXPECT_EQ(values.size(), 2u);
    EXPECT_FALSE(SameBits(values[0], values[1]));
    EXPECT_TRUE(SameBits(values[1], *reference.context.Read("b")));
  }
}

// Parameters that are alike at first, and get another first value, as moons do.
TEST(FirstValuesTest, OfSetInitAreThoseOfInitParams) {
  const auto make = [](train::Model& model) {
    Tensor sum = Number(model.graph, 0);
    for (const char* name : {"a", "b", "c"}) {
      const Tensor p = Param(model.graph, name, WithRows({}, Dims{3}, Dims{2}),
                             DType::kF32, DefaultInit);
      model.graph.SetInit(p.id, Xavier(Uniform1(model.graph), p, 2).id);
      sum = sum + Einsum1("...|...->... => 0", p);
    }
    return sum;
  };
  train::Model apart, together;
  const Tensor all = make(apart), result = make(together);
  TestDevice reference, host;
  CHECK_OK(
      ToRoutine(reference.context, *train::InitParams(apart, all), {})->Run());
  CHECK_OK(train::RunInit(together, result, {}, host.context));
  const auto expected = ValuesOf(apart, all, reference.context);
  const auto values = ValuesOf(together, result, host.context);
  for (size_t k = 0; k < expected.size(); ++k) {
    EXPECT_TRUE(SameBits(values[k], expected[k])) << k;
  }
}

// A parameter whose first value is like that of an earlier one has its nodes
// later, and they are those that it would have had at once: after a later
// dtype, a new seed and a rollback, too.
TEST(FirstValuesTest, MadeLaterAreTheSameCode) {
  int later = 0;
  const auto code = [&](const Initializer& init, std::optional<DType> dtype) {
    Graph graph;
    const auto add = [&](const std::string& name) {
      return Param(graph, name, WithRows({}, Dims{3}, Dims{2}), dtype, init);
    };
    const Tensor a = add("a");
    graph.set_seed(7);
    const int32_t size = graph.size();
    const Tensor b = add("b");
    later += graph.size() == size + 1 ? 1 : 0;
    const Graph::Mark mark = graph.mark();
    Shapes shapes;
    CHECK_OK(InferShapes(graph, {add("c").id, b.id}, shapes));
    graph.RollBack(mark);
    const Tensor wide = Convert(Uniform(graph), DType::kF64);
    const Tensor sum = PointMul(add("c"), wide) + a + b;
    CHECK_OK(InferShapes(graph, {sum.id}, shapes = {}));
    ComputedBy computed_by;
    return absl::StrCat(
        PrintCd(Initialize(graph, shapes, ParametersOf(graph, sum.id))),
        PrintCd(*Forward(graph, shapes, sum.id, computed_by)));
  };
  for (size_t k = 0; k < Initializers().size(); ++k) {
    const Initializer& init = Initializers()[k];
    // Of no name: nothing is made later.
    const auto at_once = [&](Tensor parameter) { return init(parameter); };
    for (std::optional<DType> dtype :
         {std::optional(DType::kF64), std::optional<DType>()}) {
      if (k >= 8 && !dtype) continue;  // its dtype is that of the parameter
      EXPECT_EQ(code(init, dtype), code(at_once, dtype)) << k;
    }
  }
  EXPECT_EQ(later, 2 * 7);  // all of the library but ConstantInit
}

// Parameters with initialisers in a graph, and the root of it.
using MakeGraph = std::function<Tensor(Graph&)>;

void ExpectSameShapes(const MakeGraph& make) {
  Graph at_once;
  Shapes expected;
  CHECK_OK(InferShapes(at_once, {make(at_once).id}, expected));
  Graph graph;
  Shapes shapes;
  const Tensor root = make(graph);
  CHECK_OK(InferUses(graph, {root.id}, shapes));
  const std::vector<TensorId> parameters = ParametersOf(graph, root.id);
  for (TensorId id : parameters) {
    EXPECT_EQ(shapes.at(id), expected.at(id)) << graph[id].name;
  }
  CHECK_OK(InferShapes(graph, parameters, shapes));
  EXPECT_EQ(shapes.size(), expected.size());
  for (const auto& [id, shape] : expected) {
    EXPECT_EQ(shapes.at(id), shape) << graph[id].name;
  }
}

TEST(FirstValuesTest, HaveTheShapesOfInferenceAtOnce) {
  for (const Initializer& init : Initializers()) {
    ExpectSameShapes([&](Graph& graph) {
      const Tensor x = Data(graph, "x", NdArray(DType::kF32, {4, 1}),
                            {.rows = {Dims{4}, Dims{1}, Dims{}}});
      Tensor w = Param(graph, "w", {}, DType::kF32, init);
      Tensor v =
          Param(graph, "v", WithRows({}, Dims{5}, {}), DType::kF32, init);
      Tensor b = Param(graph, "b", WithRows({}, {}, Dims{}), DType::kF32, init);
      return v * Relu(w * x + b) + w * x;
    });
  }
}

// What else uses the random numbers of a parameter may tell its shape.
TEST(FirstValuesTest, OfOtherUseTellShapes) {
  ExpectSameShapes([](Graph& graph) {
    const Tensor x = Data(graph, "x", NdArray(DType::kF32, {3}),
                          {.rows = {Dims{}, Dims{3}, Dims{}}});
    std::optional<Tensor> noise;
    const auto init = [&](Tensor p) {
      noise = Uniform1(*p.graph);
      return Mul(*noise, 2);
    };
    const Tensor p =
        Param(graph, "p", WithRows({}, Dims{3}, Dims{}), DType::kF32, init);
    return p + *noise + x;
  });
}

// So may another parameter, which an initialiser makes.
TEST(FirstValuesTest, OfTwoParametersTellShapes) {
  ExpectSameShapes([](Graph& graph) {
    std::optional<Tensor> inner;
    const auto init = [&](Tensor p) {
      std::optional<Tensor> noise;
      const auto inner_init = [&](Tensor q) {
        noise = Uniform1(*q.graph);
        return Mul(*noise, 2);
      };
      inner = Param(*p.graph, "q", WithRows({}, Dims{3}, Dims{}), DType::kF32,
                    inner_init);
      return Mul(*noise, 3);
    };
    const Tensor p =
        Param(graph, "p", WithRows({}, {}, Dims{}), DType::kF32, init);
    return Einsum1("...|... => 0", p) + Einsum1("...|... => 0", *inner);
  });
}

TEST(FirstValuesTest, OfTooManyCellsAreAnError) {
  train::Model model;
  const int64_t size = int64_t{1} << 33;
  const Tensor p = Param(model.graph, "p", WithRows({}, Dims{size}, Dims{}),
                         DType::kF32, DefaultInit);
  TestDevice host;
  const auto status = train::RunInit(model, p, {}, host.context).status();
  EXPECT_NE(status.message().find("more than 2^32 cells"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace ocannl
