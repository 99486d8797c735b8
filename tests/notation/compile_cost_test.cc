// SPDX-License-Identifier: Apache-2.0
//
// The time from text to machine code grows like the program, and that of the
// first eager step like its operations. It has a bound, too. The test takes
// 18 s.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/eager/session.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/must_parse.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

// Seconds of the processor that `body` takes.
double Seconds(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// That the time of `work` grows from n to 8n with an exponent of at most 1.15,
// by the least of five runs of each in turn, and of up to 60 where processes
// beside this one take the caches: they only add to it.
void ExpectNearLinear(const std::function<void(int)>& work, int n) {
  double few = 1e9;
  double many = 1e9;
  auto exponent = [&] { return std::log(many / few) / std::log(8); };
  for (int run = 0; run < 5 || (run < 60 && exponent() >= 1.15); ++run) {
    few = std::min(few, Seconds([&] { work(n); }));
    many = std::min(many, Seconds([&] { work(8 * n); }));
  }
  EXPECT_LT(exponent(), 1.15)
      << few << " s for " << n << ", " << many << " s for " << 8 * n;
}

// That `body` takes at most five times the seconds that it took when this was
// written, and with a sanitizer at most 20 times that.
void ExpectAbout(double seconds, const std::function<void()>& body) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  seconds *= 20;
#endif
  EXPECT_LT(std::min(Seconds(body), Seconds(body)), 5 * seconds);
}

// As the back end does, which trusts the scheduler.
void Compile(const LoopProgram& program) {
  const ScheduleOptions options{.legality = rewrite::Legality::kTrust};
  for (jit::Isa isa : jit::kIsas) {
    CHECK_OK(jit::Assemble(Schedule(program, TargetOf(isa), options), isa));
  }
}

// Machine code for the value and the gradients of `steps` expressions, each of
// which has a name and may name `x` and the one before it, `prev`.
void CompileSteps(int steps, const std::string& first, const std::string& step,
                  const std::string& last) {
  train::Model model;
  Names names;
  auto name = [&](const std::string& as, const std::string& text) {
    const Tensor tensor = MustParseTensor(model.graph, text, names);
    names.tensors.insert_or_assign(as, tensor);
    return tensor;
  };
  name("x", first);
  name("prev", "x");
  for (int k = 0; k < steps; ++k) name("prev", step);
  const Assignments code =
      *train::GradUpdate(model, name("loss", absl::StrCat("prev ", last)));
  Compile(*CompileProgram(code, {}));
}

void CompileFusedChain(int steps) {
  CompileSteps(steps, "{x; o=[4]}", "prev *. prev + 0.25", "++ \"... => 0\"");
}

TEST(CompileCost, ChainsThatAreFused) {
  ExpectNearLinear(CompileFusedChain, 100);
}

TEST(CompileCost, ThousandsOfSteps) {
  ExpectAbout(0.4, [] { CompileFusedChain(3000); });
}

TEST(CompileCost, ChainsOfReductions) {
  ExpectNearLinear(
      [](int n) {
        CompileSteps(n, "{x; o=[40]}", "prev *. (prev *. x ++ \"... => 0\")",
                     "++ \"... => 0\"");
      },
      50);
}

TEST(CompileCost, ChainsOfProducts) {
  ExpectNearLinear(
      [](int n) {
        CompileSteps(n, "{x; i=[8]; o=[8]}", "relu (x * prev) + x",
                     "++ \"...|...->... => 0\"");
      },
      50);
}

// A product for each statement: each gets accumulators with a name.
std::string ChainOfProducts(int n) {
  std::string text = "p ():\n  in x : f32[8, 8]; inout t0 : f32[8, 8];\n";
  for (int k = 1; k <= n; ++k) {
    absl::StrAppend(&text, "out t", k, " : f32[8, 8];\n");
  }
  for (int k = 1; k <= n; ++k) {
    const std::string i = absl::StrCat("i", 3 * k);
    const std::string j = absl::StrCat("i", 3 * k + 1);
    const std::string l = absl::StrCat("i", 3 * k + 2);
    const std::string cell = absl::StrCat("t", k, "[", i, ", ", j, "]");
    absl::StrAppend(&text, "zero_out t", k, ";\n");
    for (const std::string& loop : {i, j, l}) {
      absl::StrAppend(&text, "for ", loop, " = 0 to 7 { ");
    }
    absl::StrAppend(&text, cell, " := fma(t", k - 1, "[", i, ", ", l, "], x[",
                    l, ", ", j, "], ", cell, "); } } }\n");
  }
  return text;
}

// The same of the schedules of programs of that size. Machine code takes more
// time than they do, and would hide what they take.
void ExpectScheduleNearLinear(const std::function<LoopProgram(int)>& make,
                              int n) {
  absl::flat_hash_map<int, LoopProgram> programs = {{n, make(n)},
                                                    {8 * n, make(8 * n)}};
  const ScheduleOptions options{.legality = rewrite::Legality::kTrust};
  ExpectNearLinear(
      [&](int size) {
        Schedule(programs.at(size), TargetOf(jit::Isa::kAvx2), options);
      },
      n);
}

TEST(CompileCost, SchedulesOfProducts) {
  ExpectScheduleNearLinear([](int n) { return MustParse(ChainOfProducts(n)); },
                           450);
}

// Five sorts of nests in each layer: products, rows, sums, maps and copies.
LoopProgram TransformerProgram(int layers) {
  train::Model model;
  NdArray tokens(DType::kI32, {1, 2});
  const Tensor x = Data(model.graph, "x", std::move(tokens),
                        {.rows = {Dims{1, 2}, Dims{}, Dims{}}});
  const train::DecoderOnly net({&model.graph, "net"},
                               {.vocabulary = 4,
                                .length = 2,
                                .layers = layers,
                                .block = {.size = 4, .heads = 1, .hidden = 4}});
  const Tensor loss =
      train::CrossEntropy(net(x, nullptr), OneHot(x, 4, DType::kF32), {});
  return *CompileProgram(*train::GradUpdate(model, loss), {});
}

TEST(CompileCost, Transformers) {
  ExpectNearLinear([](int n) { Compile(TransformerProgram(n)); }, 4);
}

// As of products: where what a nest costs depends on all others.
TEST(CompileCost, SchedulesOfTransformers) {
  ExpectScheduleNearLinear(TransformerProgram, 16);
}

// The first step of a session, which computes each operation by itself.
void RunEagerly(int operations) {
  train::Session session(TestDevice::Interpreter(), {});
  session.Begin();
  const auto value = std::make_shared<const NdArray>(NdArray(DType::kF32, {4}));
  const auto params = train::ParamList::Allocate({*value});
  CHECK_OK(session.Use(*params, {value}));
  train::Ref x = session.args()[1];
  for (int k = 0; k < operations; ++k) {
    x = session.Add(session.Scale(x, 0.5), session.args()[1]);
  }
  CHECK_OK(session.Value(x).status());
}

TEST(CompileCost, EagerSteps) { ExpectNearLinear(RunEagerly, 250); }

TEST(CompileCost, FlatSums) {
  ExpectNearLinear(
      [](int n) {
        train::Model model;
        std::string sum = "{x; o=[4]}";
        for (int k = 1; k < n; ++k) sum += " + {x}";
        const Tensor root = MustParseTensor(model.graph, sum);
        CHECK_OK(CompileProgram(*train::Forward(model, root), {}));
      },
      1000);
}

TEST(CompileCost, LoopPrograms) {
  ExpectNearLinear(
      [](int n) {
        std::string text = "p ():\n  in x : f32[4]; inout y : f32[4];\n";
        for (int k = 0; k < n; ++k) {
          absl::StrAppend(&text, "for i", k, " = 0 to 3 { y[i", k, "] := y[i",
                          k, "] * 0.5 + x[-i", k, " + 3]; }\n");
        }
        Compile(MustParse(text));
      },
      250);
}

void SplitLoops(int n) {
  std::string text = "p ():\n  in x : f32[40]; inout y : f32[40];\n";
  std::string script;
  for (int k = 0; k < n; ++k) {
    absl::StrAppend(&text, "for i", k, " = 0 to 39 { y[i", k, "] := y[i", k,
                    "] + x[i", k, "]; }\n");
    absl::StrAppend(&script, "split i", k, " 16\n");
  }
  CHECK_OK(rewrite::RunScript(MustParse(text), script));
}

// A line of a script finds its loop without a look at the other nests.
TEST(CompileCost, Rewrites) { ExpectNearLinear(SplitLoops, 200); }

TEST(CompileCost, HundredsOfSplits) {
  ExpectAbout(0.04, [] { SplitLoops(800); });
}

// A plan for a GPU: the nests of a few products and of maps between them.
TEST(CompileCost, PlansForAGpu) {
  absl::flat_hash_map<int, LoopProgram> programs;
  ExpectNearLinear(
      [&](int n) {
        const auto [program, is_new] = programs.try_emplace(n);
        if (is_new) program->second = MustParse(ChainOfProducts(n));
        std::vector<Refusal> refused;
        gpu::ScheduleGpu(program->second, gpu::kSm90, {.refused = &refused});
        CHECK(refused.empty());
      },
      50);
}

// The text of an update rule becomes code, for many parameters.
void UpdateAll(int params) {
  train::Model model;
  Names names;
  std::string sum = "0";
  for (int k = 0; k < params; ++k)
    absl::StrAppend(&sum, " + {w", k, "; o=[1]}");
  const Tensor loss = MustParseTensor(model.graph, sum, names);
  CHECK_OK(
      train::RuleUpdate(model, loss, Number(model.graph, 0.1), train::AdamW()));
}

TEST(CompileCost, UpdateRules) {
  ExpectNearLinear(UpdateAll, 100);
  ExpectAbout(0.2, [] { UpdateAll(400); });
}

// The value, the gradients and the update of parameters of one cell each: a
// nest is as small as it can be, so its tables and names cost the most.
void TrainOneCells(int params) {
  train::Model model;
  Tensor sum = Number(model.graph, 0);
  for (int k = 0; k < params; ++k) {
    const train::Linear linear({&model.graph, absl::StrCat("p", k)},
                               {.outputs = Dims{1}, .bias = false});
    sum = sum + linear(Data(model.graph, absl::StrCat("x", k),
                            NdArray::Of<float>({1}, {1}),
                            {.rows = {Dims{}, Dims{1}, Dims{}}}));
  }
  Assignments step = *train::GradUpdate(model, sum);
  Append(step,
         train::RuleUpdate(model, sum, Number(model.graph, 0.1), train::Sgd())
             ->update);
  Compile(*CompileProgram(step, {}));
}

TEST(CompileCost, ParametersOfOneCell) {
  ExpectNearLinear(TrainOneCells, 100);
  ExpectAbout(0.1, [] { TrainOneCells(1000); });
}

}  // namespace
}  // namespace ocannl
