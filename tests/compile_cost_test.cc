// SPDX-License-Identifier: Apache-2.0
//
// The time from text to machine code grows like the program: four times as many
// statements take far less than sixteen times as long. It has a bound, too.
#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/train/model.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/must_parse.h"
#include "tests/support/must_parse_tensor.h"

namespace ocannl {
namespace {

// Seconds of the processor that `body` takes, the least of two runs.
double Seconds(const std::function<void()>& body) {
  double least = 1e9;
  for (int run = 0; run < 2; ++run) {
    const std::clock_t start = std::clock();
    body();
    least = std::min(
        least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

// That `work` of 4n takes less than 9 times as long as that of n.
void ExpectNearLinear(const std::function<void(int)>& work, int n) {
  const double few = Seconds([&] { work(n); });
  const double many = Seconds([&] { work(4 * n); });
  EXPECT_LT(many, 9 * few) << few << " s for " << n;
}

// That `body` takes at most five times the seconds that it took when this was
// written, and with a sanitizer at most 20 times that.
void ExpectAbout(double seconds, const std::function<void()>& body) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  seconds *= 20;
#endif
  EXPECT_LT(Seconds(body), 5 * seconds);
}

// As the back end does, which trusts the scheduler.
void Compile(const LoopProgram& program) {
  const ScheduleOptions options{.legality = rewrite::Legality::kTrust};
  for (jit::Isa isa : jit::kIsas) {
    jit::Assemble(Schedule(program, TargetOf(isa), options), isa);
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
  ExpectNearLinear(CompileFusedChain, 200);
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

TEST(CompileCost, Rewrites) { ExpectNearLinear(SplitLoops, 100); }

TEST(CompileCost, HundredsOfSplits) {
  ExpectAbout(0.04, [] { SplitLoops(800); });
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

}  // namespace
}  // namespace ocannl
