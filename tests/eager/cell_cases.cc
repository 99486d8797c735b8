// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "ocannl/train/compat/torch_lean_names.h"
#include "tests/eager/primitive_cases.h"

namespace ocannl::train {
namespace {

Case Of1(std::string name, Ref (Ops::*op)(Ref, Ops::Where),
         std::function<double(double)> f, bool has_gradient = true) {
  return {std::move(name),
          {{2, 3}},
          [op](Ops& ops, auto args) {
            return (ops.*op)(args[0], SourceLocation::Current());
          },
          [f](const Args& args) { return Map(args[0], f); },
          has_gradient};
}

Case Of2(std::string name, Ref (Ops::*op)(Ref, Ref, Ops::Where),
         std::function<double(double, double)> f) {
  return {std::move(name),
          {{2, 3}, {2, 3}},
          [op](Ops& ops, auto args) {
            return (ops.*op)(args[0], args[1], SourceLocation::Current());
          },
          [f](const Args& args) {
            Numbers y;
            for (size_t i = 0; i < args[0].size(); ++i) {
              y.push_back(f(args[0][i], args[1][i]));
            }
            return y;
          }};
}

// Cells of `x` in the order of `from`.
Numbers Pick(const Numbers& x, const std::vector<int>& from) {
  Numbers y;
  for (int i : from) y.push_back(i < 0 ? 0 : x[i]);
  return y;
}

Ref Ids(Ops& ops, const Dims& dims, const std::vector<int32_t>& ids) {
  return ops.Const(
      std::make_shared<const NdArray>(NdArray::Of<int32_t>(dims, ids)));
}

}  // namespace

Numbers Map(const Numbers& x, const std::function<double(double)>& f) {
  Numbers y;
  for (double a : x) y.push_back(f(a));
  return y;
}

Numbers Softmaxed(Numbers x, int width) {
  for (size_t i = 0; i < x.size(); i += width) {
    double sum = 0;
    for (int k = 0; k < width; ++k) sum += std::exp(x[i + k]);
    for (int k = 0; k < width; ++k) x[i + k] = std::exp(x[i + k]) / sum;
  }
  return x;
}

Case Moved(std::string name, Dims shape, std::function<Ref(Ops&, Ref)> op,
           std::vector<int> from) {
  return {std::move(name),
          {std::move(shape)},
          [op](Ops& ops, auto args) { return op(ops, args[0]); },
          [from](const Args& args) { return Pick(args[0], from); }};
}

std::vector<Case> PointwiseCases() {
  return {
      Of2("Add", &Ops::Add, [](double a, double b) { return a + b; }),
      Of2("Sub", &Ops::Sub, [](double a, double b) { return a - b; }),
      Of2("Mul", &Ops::Mul, [](double a, double b) { return a * b; }),
      Of2("Max", &Ops::Max, [](double a, double b) { return std::max(a, b); }),
      Of2("Min", &Ops::Min, [](double a, double b) { return std::min(a, b); }),
      Of1("Abs", &Ops::Abs, [](double a) { return std::abs(a); }),
      Of1("Inv", &Ops::Inv, [](double a) { return 1 / a; }),
      Of1("Relu", &Ops::Relu, [](double a) { return std::max(a, 0.); }),
      Of1("Sigmoid", &Ops::Sigmoid,
          [](double a) { return 1 / (1 + std::exp(-a)); }),
      Of1("Tanh", &Ops::Tanh, [](double a) { return std::tanh(a); }),
      Of1("Softplus", &Ops::Softplus,
          [](double a) { return std::log1p(std::exp(a)); }),
      Of1("Silu", &Ops::Silu, [](double a) { return a / (1 + std::exp(-a)); }),
      Of1("Exp", &Ops::Exp, [](double a) { return std::exp(a); }),
  };
}

std::vector<Case> FunctionCases() {
  return {
      {"Log",
       {{4}},
       [](Ops& ops, auto args) { return ops.Log(ops.Abs(args[0])); },
       [](const Args& args) {
         return Map(args[0], [](double a) { return std::log(std::abs(a)); });
       }},
      {"Sqrt",
       {{4}},
       [](Ops& ops, auto args) { return ops.Sqrt(ops.Abs(args[0])); },
       [](const Args& args) {
         return Map(args[0], [](double a) { return std::sqrt(std::abs(a)); });
       }},
      {"Scale",
       {{2, 2}},
       [](Ops& ops, auto args) { return ops.Scale(args[0], -2.5); },
       [](const Args& args) {
         return Map(args[0], [](double a) { return -2.5 * a; });
       }},
      {"Shift",
       {{2, 2}},
       [](Ops& ops, auto args) { return ops.Shift(args[0], 1.5); },
       [](const Args& args) {
         return Map(args[0], [](double a) { return a + 1.5; });
       }},
      {"Clamp",
       {{2, 4}},
       [](Ops& ops, auto args) { return ops.Clamp(args[0], -0.5, 0.25); },
       [](const Args& args) {
         return Map(args[0],
                    [](double a) { return std::clamp(a, -0.5, 0.25); });
       }},
      {"SafeLog",
       {{5}},
       [](Ops& ops, auto args) { return ops.SafeLog(args[0], 0.5); },
       [](const Args& args) {
         return Map(args[0], [](double a) {
           return std::log(std::log1p(std::exp(a)) + 0.5);
         });
       }},
  };
}

std::vector<Case> GroupCases() {
  return {
      Of1(
          "Detach", &Ops::Detach, [](double a) { return a; }, false),
      {"MseLoss",
       {{2, 3}, {2, 3}},
       [](Ops& ops, auto args) { return ops.MseLoss(args[0], args[1]); },
       [](const Args& args) {
         double sum = 0;
         for (size_t i = 0; i < 6; ++i) {
           sum += std::pow(args[0][i] - args[1][i], 2);
         }
         return Numbers{sum / 6};
       }},
      {"Softmax",
       {{2, 3}},
       [](Ops& ops, auto args) { return ops.Softmax(args[0]); },
       [](const Args& args) { return Softmaxed(args[0], 3); }},
      {"LogSoftmax",
       {{2, 2, 3}},
       [](Ops& ops, auto args) { return ops.LogSoftmax(args[0]); },
       [](const Args& args) {
         return Map(Softmaxed(args[0], 3),
                    [](double a) { return std::log(a); });
       }},
      {"SoftmaxOfANumber",
       {{}},
       [](Ops& ops, auto args) { return ops.Softmax(args[0]); },
       [](const Args&) { return Numbers{1}; }},
      {"LogSoftmaxOfANumber",
       {{}},
       [](Ops& ops, auto args) { return ops.LogSoftmax(args[0]); },
       [](const Args&) { return Numbers{0}; }},
  };
}

std::vector<Case> ShapeCases() {
  return {
      Moved("BroadcastTo", {2, 1},
            [](Ops& ops, Ref x) {
              return ops.BroadcastTo(x, {2, 2, 3});
            },
            {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}),
      Moved("BroadcastANumber", {},
            [](Ops& ops, Ref x) { return ops.BroadcastTo(x, {3}); }, {0, 0, 0}),
      Moved("Reshape", {2, 3},
            [](Ops& ops, Ref x) {
              return ops.Reshape(x, {3, 2});
            },
            {0, 1, 2, 3, 4, 5}),
      Moved("Flatten", {2, 3}, [](Ops& ops, Ref x) { return ops.Flatten(x); },
            {0, 1, 2, 3, 4, 5}),
      Moved("Transpose2d", {2, 3},
            [](Ops& ops, Ref x) { return ops.Transpose2d(x); },
            {0, 3, 1, 4, 2, 5}),
      Moved("Transpose3dFirstToLast", {2, 1, 3},
            [](Ops& ops, Ref x) { return Transpose3dFirstToLast(ops, x); },
            {0, 3, 1, 4, 2, 5}),
      Moved("Transpose3dLastToFirst", {2, 1, 3},
            [](Ops& ops, Ref x) { return Transpose3dLastToFirst(ops, x); },
            {0, 3, 1, 4, 2, 5}),
      Moved("Transpose3dLastTwo", {1, 2, 3},
            [](Ops& ops, Ref x) { return Transpose3dLastTwo(ops, x); },
            {0, 3, 1, 4, 2, 5}),
      Moved("SwapAdjacentAtDepth", {2, 3, 1},
            [](Ops& ops, Ref x) { return ops.SwapAdjacentAtDepth(x, 0); },
            {0, 3, 1, 4, 2, 5}),
  };
}

std::vector<Case> IndexCases() {
  return {
      Moved("GatherScalar", {4},
            [](Ops& ops, Ref x) { return GatherScalar(ops, x, 2); }, {2}),
      Moved("GatherRow", {3, 2},
            [](Ops& ops, Ref x) { return GatherRow(ops, x, 2); }, {4, 5}),
      Moved("GatherScalarNat", {4},
            [](Ops& ops, Ref x) {
              return GatherScalarNat(ops, x, Ids(ops, {}, {3}));
            },
            {3}),
      Moved("GatherVecNatOutOfRangeAndTwice", {3},
            [](Ops& ops, Ref x) {
              return GatherVecNat(ops, x, Ids(ops, {5}, {1, 7, 1, -1, 0}));
            },
            {1, -1, 1, -1, 0}),
      Moved("TokenIdsFromFloatVec", {3},
            [](Ops& ops, Ref x) {
              const Ref ids = TokenIdsFromFloatVec(
                  ops, ops.Const(std::make_shared<const NdArray>(
                           NdArray::Of<float>({4}, {2, 0, 2, 5}))));
              return GatherVecNat(ops, x, ids);
            },
            {2, 0, 2, -1}),
      Moved("GatherRowsNat", {3, 2},
            [](Ops& ops, Ref x) {
              return GatherRowsNat(ops, x, Ids(ops, {3}, {2, 3, 0}));
            },
            {4, 5, -1, -1, 0, 1}),
      Moved("SliceLeadingAxisRange", {4, 2},
            [](Ops& ops, Ref x) { return ops.SliceLeadingAxisRange(x, 1, 2); },
            {2, 3, 4, 5}),
      Moved("ConcatOfOne", {3},
            [](Ops& ops, Ref x) { return ops.ConcatLeadingAxis({x}); },
            {0, 1, 2}),
  };
}

std::vector<Case> JoinCases() {
  return {
      {"ConcatLeadingAxis",
       {{1, 2}, {2, 2}},
       [](Ops& ops, auto args) {
         return ops.ConcatLeadingAxis({args[1], args[0], args[1]});
       },
       [](const Args& args) {
         Numbers y = args[1];
         y.insert(y.end(), args[0].begin(), args[0].end());
         y.insert(y.end(), args[1].begin(), args[1].end());
         return y;
       }},
      {"ConcatVectors",
       {{2}, {1}},
       [](Ops& ops, auto args) { return ConcatVectors(ops, args[0], args[1]); },
       [](const Args& args) {
         return Numbers{args[0][0], args[0][1], args[1][0]};
       }},
  };
}

std::vector<Case> ScatterCases() {
  return {
      {"ScatterAddVec",
       {{3}, {}},
       [](Ops& ops, auto args) {
         return ScatterAddVec(ops, args[0], Ids(ops, {}, {1}), args[1]);
       },
       [](const Args& args) {
         return Numbers{args[0][0], args[0][1] + args[1][0], args[0][2]};
       }},
      {"ScatterAddOutOfRange",
       {{3}, {}},
       [](Ops& ops, auto args) {
         return ScatterAddVec(ops, args[0], Ids(ops, {}, {3}), args[1]);
       },
       [](const Args& args) { return args[0]; }},
      {"ScatterAddRow",
       {{2, 2}, {2}},
       [](Ops& ops, auto args) {
         return ScatterAddRow(ops, args[0], Ids(ops, {}, {1}), args[1]);
       },
       [](const Args& args) {
         return Numbers{args[0][0], args[0][1], args[0][2] + args[1][0],
                        args[0][3] + args[1][1]};
       }},
  };
}

}  // namespace ocannl::train
