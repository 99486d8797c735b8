// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/notation/function.h"

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/stretch.h"

namespace ocannl {
namespace {

using Call = FunctionCall;

constexpr double kScaleSquared = 6;  // of the source documents

template <class Scaled>
Function ScaledInit(std::string name, Scaled scaled) {
  auto apply = [name, scaled](const Call& call) -> absl::StatusOr<Tensor> {
    if (!call.parameter) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", name,
                       "` scales by the sizes of a parameter; write it in the "
                       "first value of one: {w = ",
                       name, "(uniform1())}"));
    }
    double scale_sq = kScaleSquared;
    if (call.args.size() > 1) {
      const auto& node = std::get<Tensor>(call.args[1].value).node();
      const auto* number = std::get_if<NumberSource>(&node.source);
      if (number == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the second argument of `", name,
            "` is its squared scale, a number, but it was given ", node.text));
      }
      scale_sq = number->value;
    }
    return scaled(std::get<Tensor>(call.args[0].value), *call.parameter,
                  scale_sq);
  };
  return {
      .name = std::move(name), .min_args = 1, .max_args = 2, .apply = apply};
}

template <class Random>
Function RandomTensor(std::string name, Random random) {
  return {.name = std::move(name),
          .min_args = 0,
          .max_args = 0,
          .apply = [random](const Call& call) {
            return random(*call.graph, call.where);
          }};
}

std::vector<Function> MakeFunctions() {
  std::vector<Function> functions;
  for (Op op : AllOps()) {
    if (IsInfix(op) || op == Op::kConvert || op == Op::kBitcast) continue;
    functions.push_back(
        {.name = std::string(Info(op).text),
         .min_args = Info(op).arity,
         .max_args = Info(op).arity,
         .apply = [op](const Call& call) { return Pointwise(op, call.args); }});
  }
#define OCANNL_CONVERSIONS(enumerator, text, type)                           \
  functions.push_back({text, 1, 1, [](const Call& call) {                    \
                         return Convert(call.args[0], DType::k##enumerator); \
                       }});                                                  \
  functions.push_back({"bits_" text, 1, 1, [](const Call& call) {            \
                         return Bitcast(call.args[0], DType::k##enumerator); \
                       }});
  OCANNL_DTYPES(OCANNL_CONVERSIONS)
#undef OCANNL_CONVERSIONS
  functions.push_back({.name = "stretch",
                       .min_args = 1,
                       .max_args = 1,
                       .apply = [](const Call& call) {
                         return Stretch(std::get<Tensor>(call.args[0].value),
                                        call.where);
                       }});
  functions.push_back(RandomTensor("uniform1", Uniform1));
  functions.push_back(RandomTensor("uniform", Uniform));
  functions.push_back(RandomTensor("normal", Normal));
  functions.push_back(ScaledInit("kaiming", Kaiming));
  functions.push_back(ScaledInit("xavier", Xavier));
  return functions;
}

const std::vector<Function>& Functions() {
  static const auto* functions = new std::vector<Function>(MakeFunctions());
  return *functions;
}

// "max(a, b)"
std::string Example(const Function& function) {
  std::string text = absl::StrCat(function.name, "(");
  for (int i = 0; i < function.min_args; ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", std::string(1, 'a' + i));
  }
  return text + ")";
}

}  // namespace

const Function* FindFunction(absl::string_view name) {
  for (const Function& function : Functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const Function& function : Functions()) names.push_back(function.name);
  return names;
}

absl::StatusOr<Tensor> CallFunction(const Function& function,
                                    const FunctionCall& call) {
  int given = static_cast<int>(call.args.size());
  if (function.min_args <= given && given <= function.max_args) {
    return function.apply(call);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`", function.name, "` takes ", function.min_args,
      function.max_args > function.min_args
          ? absl::StrCat(" or ", function.max_args)
          : "",
      function.max_args == 1 ? " argument" : " arguments",
      ", but it was given ", given, "; write ", Example(function)));
}

}  // namespace ocannl
