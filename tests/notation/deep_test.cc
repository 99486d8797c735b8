// SPDX-License-Identifier: Apache-2.0
//
// Texts and graphs that nest deeply or go on for long: they work or are errors
// with a place, and no walk overflows a stack of 1 MiB.
#include <pthread.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/cli/tool.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/notation/statements/define.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStackBytes = size_t{8} << 20;  // frames are larger
#else
constexpr size_t kStackBytes = size_t{1} << 20;
#endif

// Runs `body` on a stack of kStackBytes.
void OnSmallStack(std::function<void()> body) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, kStackBytes) == 0);
  pthread_t thread;
  auto run = [](void* data) -> void* {
    (*static_cast<std::function<void()>*>(data))();
    return nullptr;
  };
  CHECK(pthread_create(&thread, &attributes, run, &body) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

std::string Repeat(const std::string& text, int times) {
  std::string repeated;
  for (int k = 0; k < times; ++k) repeated += text;
  return repeated;
}

// What the tool says: its results, or its error.
std::string Say(const std::vector<std::string>& args) {
  std::ostringstream out, err;
  OnSmallStack([&] { RunTool(args, out, err); });
  return err.str().empty() ? out.str() : err.str();
}

std::string Eval(const std::string& text, const std::string& tier = "interp") {
  return Say({"eval", text, "--in=x=range:4", "--tier=" + tier});
}

std::string FileOf(const std::string& statements) {
  const std::string path = testing::TempDir() + "/deep.ll";
  CHECK_OK(WriteFile(path, absl::StrCat("p ():\n  in x : f32[4];\n",
                                        "  out y : f32[4];\n", statements)));
  return path;
}

// y[i0] := value
std::string Values(const std::string& value) {
  return FileOf(absl::StrCat("  for i0 = 0 to 3 { y[i0] := ", value, "; }\n"));
}

std::string Print(const std::string& file, const std::string& tier = "interp") {
  return Say({"run", file, "--in=x=1,2,3,4", "--tier=" + tier});
}

// Explains each stage, which prints the program and parses nothing.
std::string Explain(const std::string& file) {
  return Say({"explain", file, "--stage=schedule"});
}

TEST(DeepTest, ExpressionsOfTheNotation) {
  const std::string deep = "the expression is nested too deeply";
  for (const char* prefix :
       {"(", "- ", "relu ", "relu(", "x *. (", "x **. ", "[", "x + ("}) {
    SCOPED_TRACE(prefix);
    EXPECT_THAT(Eval(Repeat(prefix, 20'000) + "x"),
                HasSubstr("nested too deeply"));
  }
  EXPECT_THAT(Eval(Repeat("{w = ", 1000) + "x" + Repeat("}", 1000)),
              HasSubstr(deep));
  EXPECT_EQ(Eval(Repeat("- ", 200) + "x"), "result : f32 4\n  0 1 2 3\n");
  EXPECT_EQ(Eval(Repeat("(", 200) + "x" + Repeat(")", 200)),
            "x : f32 4\n  0 1 2 3\n");
}

TEST(DeepTest, SumsOfManyTerms) {
  const std::string sum = "x" + Repeat(" + x", 1999);
  for (const char* tier : {"interp", "auto"}) {
    EXPECT_EQ(Eval(sum, tier), "result : f32 4\n  0 2000 4000 6000\n");
  }
  EXPECT_THAT(Say({"explain", sum, "--in=x=range:4", "--stage=schedule"}),
              HasSubstr("result"));
  EXPECT_THAT(Say({"eval", sum + " + {w}", "--in=x=range:4", "--grad=w"}),
              HasSubstr("w.grad : f32 4\n  1 1 1 1\n"));
}

TEST(DeepTest, TextsOfTooManyOperations) {
  OnSmallStack([] {
    train::Model model;
    const std::string sum = "{x}" + Repeat(" + x", 100'000);
    EXPECT_EQ(std::string(ParseTensor(model.graph, sum, {}).status().message()),
              "line 1, column 40005: the expression has more than 10000 "
              "operations; make a part of it a tensor of its own");
    EXPECT_EQ(model.graph.size(), 0);
  });
}

TEST(DeepTest, LongSpecs) {
  std::string names = "a0";
  for (int k = 1; k < 20'000; ++k) absl::StrAppend(&names, ",a", k);
  EXPECT_THAT(Eval("x ++ \"" + names + " => 0\""), HasSubstr("axes"));
}

// Joined by commas.
std::string List(const std::string& text, int times) {
  return Repeat(text + ",", times - 1) + text;
}

TEST(DeepTest, AxesOfTensors) {
  auto most = [](int axes) {
    return absl::StrCat("it has ", axes, " axes, but 64 is the most");
  };
  const std::string ones = List("1", 30'000);
  EXPECT_THAT(Eval("{w = 1; o=[" + ones + "]}"), HasSubstr(most(30'000)));
  EXPECT_THAT(Eval("{w = 1; o=[" + ones + "]} + x"), HasSubstr(most(30'000)));
  EXPECT_THAT(Say({"eval", "v * v", "--in=v=range:" + ones}),
              HasSubstr("error: shape error in `v`"));
  // Each operation adds axes, which stay when the next ones pair them up.
  std::string grows = "x";
  for (int k = 0; k < 50; ++k) {
    grows =
        absl::StrCat("(", grows, " ++ \"... => ", List("0", 1000), ",...\")");
  }
  EXPECT_THAT(Eval(grows), HasSubstr(most(1001)));
  for (const int axes : {63, 64}) {
    const std::string text = absl::StrCat(
        "relu (x ++ \"... => ", List("0", axes), ",...\") ++ \"...,i => i\"");
    EXPECT_THAT(Eval(text),
                HasSubstr(axes == 63 ? "result : f32 4\n" : most(65)));
  }
  EXPECT_THAT(Eval("relu (relu (x ++ \"... => " + List("0", 50) +
                   ",...\") ++ \"... => " + List("0", 50) + ",...\")"),
              HasSubstr("over 64 axes"));
}

TEST(DeepTest, AxesOfBuffers) {
  auto file = [](int axes) {
    return FileOf(absl::StrCat("  temp t : f32[", List("1", axes), "];\n  t[",
                               List("0", axes), "] := 2;\n",
                               "  for i0 = 0 to 3 { y[i0] := t[",
                               List("0", axes), "]; }\n"));
  };
  for (const char* tier : {"interp", "auto"}) {
    EXPECT_EQ(Print(file(200), tier), "y : f32[4]\n  2 2 2 2\n");
    EXPECT_THAT(Print(file(100'000), tier),
                HasSubstr("a buffer has at most 200 axes"));
  }
  EXPECT_THAT(Print(Values("x[" + List("0", 100'000) + "]")),
              HasSubstr("`x` has 1 axes, not 100000"));
}

TEST(DeepTest, ValuesOfLoopPrograms) {
  const std::string deep = "the value is nested too deeply; make a part of it";
  for (const char* prefix : {"(", "-", "neg(", "x[i0] + (", "x[i0] * -"}) {
    SCOPED_TRACE(prefix);
    EXPECT_THAT(Print(Values(Repeat(prefix, 20'000) + "x[i0]")),
                HasSubstr("line 4, column "));
    EXPECT_THAT(Print(Values(Repeat(prefix, 20'000) + "x[i0]")),
                HasSubstr(deep));
  }
  EXPECT_THAT(Print(Values("x[i0]" + Repeat(" + x[i0]", 20'000))),
              HasSubstr("line 4, column 30: " + deep));
  const std::string most =
      Values(Repeat("exp(neg(", 100) + "x[i0]" + Repeat("))", 100));
  for (const char* tier : {"interp", "auto"}) {
    EXPECT_THAT(Print(most, tier), HasSubstr("y : f32[4]"));
  }
  EXPECT_THAT(Explain(most), HasSubstr("exp(neg("));
}

TEST(DeepTest, ChainsOfLocals) {
  std::string chain = "  for i0 = 0 to 3 {\n    let v0 : f32 := x[i0];\n";
  constexpr int kLocals = 5000;
  for (int k = 1; k < kLocals; ++k) {
    absl::StrAppend(&chain, "let v", k, " : f32 := v", k - 1, " + 1;\n");
  }
  absl::StrAppend(&chain, "y[i0] := v", kLocals - 1, "; }\n");
  const std::string file = FileOf(chain);
  EXPECT_THAT(Explain(file), HasSubstr("let v4999"));
  for (const char* tier : {"interp", "auto"}) {
    EXPECT_EQ(Print(file, tier), "y : f32[4]\n  5000 5001 5002 5003\n");
  }
}

TEST(DeepTest, NestsOfLoops) {
  auto nest = [](int loops) {
    std::string text;
    for (int k = 0; k < loops; ++k) {
      absl::StrAppend(&text, "for i", k, " = 0 to 0 {\n");
    }
    return FileOf(text + "zero_out y;\n" + Repeat("}", loops));
  };
  for (const char* tier : {"interp", "auto"}) {
    EXPECT_EQ(Print(nest(200), tier), "y : f32[4]\n  0 0 0 0\n");
    EXPECT_THAT(Print(nest(20'000), tier),
                HasSubstr("line 205, column 1: loops are nested too deeply"));
  }
  EXPECT_THAT(Explain(nest(200)), HasSubstr("for i199"));
}

// Rows that are in as many loops as there may be: no block of them fits in.
TEST(DeepTest, RowsThatNestLoops) {
  std::string inner = "l[0] := l[0] + 1;";
  for (int k = 101; k < 300; ++k) {
    inner = absl::StrCat("for i", k, " = 0 to 0 { ", inner, " }");
  }
  const std::string file = FileOf(absl::StrCat(
      "private l : f32[8]; temp s : f32[64]; temp t : f32[64, 16];\n",
      "for i0 = 0 to 63 { vec i1 = 0 to 7 { l[i1] := 1; }\n", inner,
      "vec i2 = 0 to 3 { l[i2] := l[i2] + l[i2 + 4]; } s[i0] := l[0]; }\n",
      "for i3 = 0 to 63 { for i4 = 0 to 15 { t[i3, i4] := s[i3] * 2; } }\n",
      "for i5 = 0 to 3 { y[i5] := t[i5, 0] * x[i5]; }\n"));
  for (const char* tier : {"interp", "x86"}) {
    EXPECT_EQ(Print(file, tier), "y : f32[4]\n  6 12 18 24\n");
  }
}

TEST(DeepTest, RewritesThatNestLoops) {
  const std::string file = Values("x[i0]");
  std::string script = "s0 = split i0 1";
  for (int k = 1; k < 800; ++k) {
    absl::StrAppend(&script, "; s", k, " = split s", k - 1, " 1");
  }
  EXPECT_THAT(Say({"run", file, "--in=x=1,2,3,4", "--rewrite=" + script}),
              HasSubstr("is in a nest of 200 loops, which is the most"));
}

TEST(DeepTest, GraphsOfManyOperations) {
  OnSmallStack([] {
    train::Model model;
    const Tensor x = ParseTensor(model.graph, "{x; o=[2]}", {})->tensor;
    Tensor t = x;
    for (int k = 0; k < 50'000; ++k) t = t + x;
    ASSERT_TRUE(InferShapes(model.graph, {t.id}, model.shapes).ok());
    Assignments code = *train::GradUpdate(model, Einsum1("...|... => 0", t));
    EXPECT_GT(code.list.size(), 50'000u);
  });
}

TEST(DeepTest, FormulasOfDefinitions) {
  auto error = [](const std::string& forward, const std::string& backward) {
    absl::Status status;
    OnSmallStack([&] { status = DefineOp("f", forward, backward).status(); });
    return std::string(status.message());
  };
  const std::string sum = "v1" + Repeat(" + v1", 5000);
  EXPECT_THAT(error("v =: " + sum, ""),
              HasSubstr("line 1, column 1: `v` has more than 200 operations"));
  EXPECT_THAT(error("v =: v1", "g1 =+ g * (" + sum + ")"),
              HasSubstr("line 1, column 1: `g1` has more than 200 operations"));
  EXPECT_THAT(error("v =: v1", Repeat("g1 =+ g;\n", 300)),
              HasSubstr("line 202, column 1: `g1` has more than 200"));
}

TEST(DeepTest, CodeOfManyTermsAndStatements) {
  OnSmallStack([] {
    train::Model model;
    const Tensor p = ParseTensor(model.graph, "{p; o=[2]}", {})->tensor;
    Names names;
    names.tensors.emplace("p", p);
    EXPECT_TRUE(
        train::ParseCode(model, "p =: p" + Repeat(" + p", 5000), names).ok());
    EXPECT_TRUE(train::ParseCode(model, Repeat("p =+ p;\n", 3000), names).ok());
    EXPECT_THAT(
        std::string(
            train::ParseCode(model, Repeat("p =+ p;\n", 30) + "p =: q", names)
                .status()
                .message()),
        HasSubstr("line 31, column 6"));
    EXPECT_FALSE(
        train::ParseCode(model, "p =: " + Repeat("(", 20'000) + "p", names)
            .ok());
  });
}

}  // namespace
}  // namespace ocannl
