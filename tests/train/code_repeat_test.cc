// SPDX-License-Identifier: Apache-2.0
//
// Code that is copied for tensors that are alike (code_repeat.h). 0.1 seconds.
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/must_parse_tensor.h"

namespace ocannl {
namespace {

// Code for one tensor of a shape is copied for the next ones, unless the text
// may name these otherwise: it must say the same.
TEST(CodeRepeat, LoopsSayTheSameOfTensorsThatAreNamed) {
  const std::vector<absl::StatusOr<train::UpdateRule>> rules = {
      train::Sgd(),
      train::Sgd({.momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
      train::AdamW(),
      train::RmsProp({.momentum = 0.9, .centered = true}),
      train::UpdateRule{"x", R"(
        for p in params do
          ~~(p "noise of" first; { n } =: uniform1(); p =- n *. p.grad))"},
      train::UpdateRule{"y", R"(
        { all } =: 1;
        for p in params do
          for q in params do
            (p =- q.grad ++ "...|...->... => 0";
             all =+ p ++ "...|...->... => 0"))"},
      train::UpdateRule{"z", R"(
        for p in params do
          ({ old } =: p; { like_old } like old;
           p =: old - like_old + p.grad.merge + (w2 ++ "...|...->... => 0");
           like_old =+ learning_rate *. old))"}};
  for (const auto& rule : rules) {
    CHECK_OK(rule);
    std::vector<std::string> texts;
    for (bool named : {false, true}) {
      train::Model model;
      Names names{.numbers = rule->numbers};
      names.tensors.emplace("learning_rate",
                            Named(Number(model.graph, 0.5), "learning_rate"));
      for (const char* name : {"w1", "w2", "w3", "v_w2", "w4", "c"}) {
        const std::string spec = *name == 'c' ? "o=[2]" : "o=[3]";
        Names own;
        const Tensor p = MustParseTensor(
            model.graph, absl::StrCat("{ ", name, "; ", spec, " }"), own);
        names.lists["params"].push_back(p);
        if (named || names.lists["params"].size() == 1) {
          names.tensors.emplace(absl::StrCat("first", named ? name : ""), p);
        }
        if (named) names.tensors.emplace("first", p);
      }
      auto code = train::ParseCode(model, rule->text, names);
      CHECK_OK(code);
      std::vector<std::string> states;
      for (const auto& [name, state] : model.states) {
        states.push_back(absl::StrCat(name, " ", ToString(state.shape)));
      }
      absl::c_sort(states);
      texts.push_back(absl::StrCat(PrintCd(code->update), PrintCd(code->init),
                                   absl::StrJoin(states, "\n")));
    }
    EXPECT_EQ(texts[0], texts[1]) << rule->name;
  }
}

}  // namespace
}  // namespace ocannl
