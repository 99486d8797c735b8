// SPDX-License-Identifier: Apache-2.0
//
// Random texts: whatever they are, they are read or refused with a place, and
// refusing leaves no trace.
#include <cstdint>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {
namespace {

constexpr uint32_t kSeed = 20240607;
constexpr int kTexts = 4000;

const char* const kTokens[] = {"x",          "n",      "{w}",
                               "{v; o=[2]}", "1",      "2:i64",
                               "0.5",        "relu",   "max",
                               "(",          ")",      "[",
                               "]",          "[|",     "|]",
                               "{",          "}",      ",",
                               ";",          ":",      "=",
                               "+",          "-",      "*",
                               "*.",         "/.",     "**.",
                               "<",          "&&",     "++",
                               "+*",         "@^^",    "@|",
                               "step",       "!@",     "!.",
                               "!..",        "lr",     "\"i => i\"",
                               "\"",         "f64",    "kaiming",
                               "o",          "i",      "w",
                               "uniform1()", "normal", "\n",
                               "#",          "/*",     "\"ij; jk => ik\"",
                               "not",        "select", "inf",
                               "$"};

const char* const kValid[] = {
    "{w3} * relu ({b2; o=[16]} + ({w2} * relu ({b1; o=[16]} + ({w1} * x))))",
    "(relu (1 - (x *. x)) ++ \"...|... => 0\") /. !..lr",
    "x +* \"b|h->o; b|i->h => b|i->o\" {w; i=[2]; o=[3, 4]}",
    "{w: f64 = f64(kaiming(uniform1 (), 2)); o=[2]} *. 0.1:f64 **. -3",
    "select(not (x < 0.5), [ (1,2,3);(4,5,6) ], max(x, -inf)) @| step",
    "x @^+ \"i; j => ij\" x @^^ \"ij => i\" + !@step - f32 (n & 3)"};

class ParseFuzzTest : public ::testing::Test {
 protected:
  ParseFuzzTest() : random_(kSeed) { std::cout << "seed " << kSeed << "\n"; }

  size_t Below(size_t n) { return random_() % n; }

  // Reads the text in a graph of its own; says whether it is valid.
  static bool Check(const std::string& text) {
    Graph graph;
    Names names;
    auto add = [&](const char* name, DType dtype) {
      ShapeSpec spec;
      spec[RowKind::kInput] = Dims();
      spec[RowKind::kOutput] = Dims{2};
      Tensor tensor = Data(graph, name, NdArray(dtype, {2, 2}), spec);
      names.tensors.emplace(name, tensor);
    };
    add("x", DType::kF32);
    add("n", DType::kI64);
    names.statics.emplace("step", graph.AddStatic("step", 2));
    names.numbers.emplace("lr", 10);
    const int32_t size = graph.size();
    absl::StatusOr<ParsedTensor> parsed = ParseTensor(graph, text, names);
    if (parsed.ok()) {
      EXPECT_EQ(parsed->tensor.graph, &graph);
      EXPECT_LT(parsed->tensor.id.index, graph.size());
      return true;
    }
    EXPECT_TRUE(absl::StartsWith(parsed.status().message(), "line "))
        << parsed.status();
    EXPECT_EQ(graph.size(), size) << text;
    EXPECT_EQ(graph.NextRandom(), 1u) << text;
    return false;
  }

  std::mt19937 random_;
};

TEST_F(ParseFuzzTest, TokenSoup) {
  int valid = 0;
  for (int i = 0; i < kTexts; ++i) {
    std::string text;
    for (size_t n = Below(i % 4 == 0 ? 60 : 8) + 1; n > 0; --n) {
      absl::StrAppend(&text, kTokens[Below(std::size(kTokens))], " ");
    }
    valid += Check(text);
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, kTexts);
}

TEST_F(ParseFuzzTest, ChangedTexts) {
  for (const char* text : kValid) EXPECT_TRUE(Check(text)) << text;
  int valid = 0;
  for (int i = 0; i < kTexts; ++i) {
    std::string text = kValid[Below(std::size(kValid))];
    for (size_t n = Below(3) + 1; n > 0 && !text.empty(); --n) {
      size_t at = Below(text.size());
      switch (Below(4)) {
        case 0:  // a byte
          text[at] = static_cast<char>(Below(256));
          break;
        case 1:  // a piece goes
          text.erase(at, Below(6) + 1);
          break;
        case 2: {  // a piece comes twice
          const size_t from = Below(text.size());
          text.insert(at, text.substr(from, Below(20)));
          break;
        }
        case 3:  // a token comes
          text.insert(at, kTokens[Below(std::size(kTokens))]);
          break;
      }
    }
    valid += Check(text);
  }
  EXPECT_GT(valid, 0);
  EXPECT_LT(valid, kTexts);
}

TEST_F(ParseFuzzTest, EveryBeginning) {
  for (const char* valid : kValid) {
    const std::string text(valid);
    for (size_t n = 0; n < text.size(); ++n) Check(text.substr(0, n));
  }
}

}  // namespace
}  // namespace ocannl
