// SPDX-License-Identifier: Apache-2.0
//
// Every operation on tensors, of random sizes: what its code adds to gradients
// is the adjoint of its derivative, <v, J u> = <J^T v, u>, where J u is
// computed with dual numbers; and its code gives the same bits on every tier.
// An operation of the notation without a row here fails the test.
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/function.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/dual_program.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeed = 12;
constexpr double kRelative = 1e-9;

// X, Y and Z are parameters; `ids` are n integers from -1 to m, `deep` is data
// that static index `s` slices; n, m and k are sizes.
struct Row {
  std::string name;  // of the function, or the operator
  std::string expression;
};

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {"*", "{X; o=[n]; i=[m]} * {Y; o=[m]; i=[k]}"},
      {"@|", "(deep @| s) *. {X; o=[m]}"},
      {"+*", "{X; o=[n, m]} +* \"nm; mk => kn\" {Y; o=[m, k]}"},
      {"+*", "{X; o=[n, m]} +* \"nm; mk; k => n\" {Y; o=[m, k]} {Z; o=[k]}"},
      {"++", "{X; o=[n, m]} ++ \"nm => m\""},
      {"+++", "{X; o=[n, m]} +++ \"nm; mk => nk\" {Y; o=[m, k]}"},
      {"++^", "{X; o=[n, k]} ++^ \"a, k; b, k => k, a^b\" {Y; o=[m, k]}"},
      {"@^^", "{X; o=[n, m]} @^^ \"nm => n\""},
      {"@--", "{X; o=[n, m]} @-- \"nm => m\""},
      // Each cell is there twice: the first of the two gets the gradient.
      {"@^^", "stack(\"i, ...\", {X; o=[n, m]}, {X}) @^^ \"inm => n\""},
      {"@--",
       "interleave(\"..., i\", {X; o=[n]}, {X}) @-- \"i=+k => i\" [\"k\" = 3]"},
      {"@^+", "{X; o=[n, m]} @^+ \"nm; mk => nk\" {Y; o=[m, k]}"},
      {"@-+", "{X; o=[n, m]} @-+ \"nm; mk => nk\" {Y; o=[m, k]}"},
      {"stretch", "stretch({X; o=[m]}) +* \"nm; nm => n\" {Y; o=[n, m]}"},
      {"type_as", "type_as({X; o=[n]}, {Y; o=[n]}) *. {Y}"},
      {"widen", "widen({X; o=[n]}) *. {X}"},
      {"where", "where({X; o=[n, m]} < {Y; o=[m]}, {X}, {Z; o=[n, m]})"},
      {"where", "where(ids, {X; o=[n]}, {Y; o=[n]} *. {X})"},
      {"gather", "gather(\"vd; b => bd\", {X; o=[m, k]}, ids)"},
      {"gather", "gather(\"dv; b => d->b\", {X; o=[k, m]}, ids)"},
      {"scatter_add", "scatter_add(\"bd; b => vd\", {X; o=[n, k]}, ids, 3)"},
      {"cumulative_sum",
       "cumulative_sum(\"...->..., t\", {X; o=[k, n]; i=[m]})"},
      {"cumulative_sum", "cumulative_sum(\"t, ...\", {X; o=[n, m, k]})"},
      {"stack", "stack(\"...->i, ...\", {X; o=[n]; i=[m]}, {Y; o=[n]; i=[m]})"},
      {"stack", "stack(\"..., i\", {X; o=[n]}, {X}, {Y; o=[n]})"},
      {"interleave", "interleave(\"..., i\", {X; o=[n, m]}, {Y; o=[n, m]})"},
      {"recip_sqrt", "recip_sqrt(exp {X; o=[n]})"},
      {"every_nth", "every_nth(\"i, ...\", {X; o=[6, m]}, 3, 1)"},
      {"reshape", "reshape(\"6,_\", {X; o=[n, 3]; i=[4]})"},
      {"reshape", "reshape(\"_->8\", {X; o=[n, 12]; i=[2]})"},
      {"part", "part(\"..., i\", {X; o=[n, 5]}, 1, 3)"},
      {"part", "part(\"...->i, ...\", {X; o=[5, n]; i=[m]}, 0, 5)"},
  };
  return *rows;
}

// What has no gradient, which is not the derivative's doing: numbers, random
// numbers, also with a counter and of a dtype, indices, and what stops it.
bool HasNoGradient(absl::string_view name) {
  static const auto* const names = new std::set<absl::string_view>{
      "stop_gradient", "range",   "range_of_shape", "dim",    "one_hot",
      "argmax",        "argmin",  "kaiming",        "xavier", "embed_self_id",
      "uniform1",      "uniform", "normal1",        "normal"};
  const size_t dtype = name.rfind('_') + 1;
  if (FindDType(name.substr(dtype))) name = name.substr(0, dtype - 1);
  return names->contains(absl::StripSuffix(name, "_at"));
}

bool HasRow(absl::string_view name) {
  for (const Row& row : Rows()) {
    if (row.name == name) return true;
  }
  return false;
}

TEST(OpsGradient, EveryFunctionHasARow) {
  for (const std::string& name : FunctionNames()) {
    const bool is_conversion =
        FindDType(name) || absl::StartsWith(name, "bits_");
    if (FindOp(name) || is_conversion || HasNoGradient(name)) {
      continue;
    }
    EXPECT_TRUE(HasRow(name)) << name << " needs a row";
  }
  for (absl::string_view symbol : NotationSymbols()) {
    const InfixOperator* infix = FindInfix(symbol);
    // The others are pointwise, a number or one of their operands.
    const bool wants_row =
        infix != nullptr &&
        (infix->accum || infix->form == InfixOperator::kCompose ||
         infix->form == InfixOperator::kSlice);
    EXPECT_TRUE(!wants_row || HasRow(symbol)) << symbol << " needs a row";
  }
}

// One row, built as often as it is run.
class Case {
 public:
  explicit Case(uint64_t seed) : random_(seed), seed_(seed) {
    for (const char* size : {"n", "m", "k"}) {
      sizes_[size] = static_cast<double>(random_() % 4 + 1);
    }
    // Half of the cases have no negative numbers, of which some have no root.
    least_ = seed % 2 == 0 ? 0.2 : -2;
  }

  // In the graph of `model`.
  absl::StatusOr<Tensor> Build(const std::string& expression,
                               train::Model& model) {
    Graph& graph = model.graph;
    Names names = {.tensors = {}, .statics = {}, .numbers = sizes_};
    std::mt19937_64 same(seed_);
    const int n = static_cast<int>(sizes_["n"]);
    const int m = static_cast<int>(sizes_["m"]);
    std::vector<int32_t> ids;
    for (int k = 0; k < n; ++k) {
      ids.push_back(static_cast<int32_t>(same() % (m + 2)) - 1);
    }
    ShapeSpec row;
    row[RowKind::kOutput] = Dims{n};
    names.tensors.emplace(
        "ids", Data(graph, "ids", NdArray::Of<int32_t>({n}, ids), row));
    ShapeSpec batch;
    batch[RowKind::kBatch] = Dims{1};
    batch[RowKind::kOutput] = Dims{m};
    names.tensors.emplace(
        "deep",
        Data(graph, "deep", NdArray::Of<double>({1, m}, Numbers(m)), batch));
    names.statics.emplace("s", graph.AddStatic("s", 1));
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed,
                            ParseTensor(graph, expression, names));
    return parsed.tensor;
  }

  // `build` adds an expression of f64 to a graph.
  void Check(absl::FunctionRef<absl::StatusOr<Tensor>(train::Model&)> build) {
    train::Model forward;
    auto y = build(forward);
    ASSERT_THAT(y, IsOk());
    if (!y->node().has_gradient) return;
    auto code = train::Forward(forward, *y);
    ASSERT_THAT(code, IsOk());
    PassOptions as_it_is;
    as_it_is.limit = 0;
    auto loops = CompileProgram(*code, as_it_is);
    ASSERT_THAT(loops, IsOk());
    DualArrays inputs;
    for (const Buffer& buffer : loops->buffers) {
      if (buffer.role != Role::kIn) continue;
      for (const Array& array : code->arrays) {
        if (array.name == buffer.name) AddInput(array, inputs);
      }
    }
    DualArrays outputs = RunOnDuals(*loops, inputs);

    train::Model backward;
    auto again = build(backward);
    const Dims dims = forward.shapes.at(y->id).dims();
    weights_ = Numbers(NumElements(dims));
    const ShapeSpec spec = SpecOf(forward.shapes.at(y->id));
    const NdArray weights = NdArray::Of<double>(dims, weights_);
    arrays_.insert_or_assign("weights", weights);
    auto both = train::GradUpdateOfSum(
        backward,
        PointMul(*again, Data(backward.graph, "weights", weights, spec)));
    ASSERT_THAT(both, IsOk());
    for (Array& array : both->arrays) {
      if (absl::EndsWith(array.name, ".grad")) {
        array.memory = {MemoryMode::kOnDevice, "the test"};
      }
    }
    auto program = CompileProgram(*both, {});
    ASSERT_THAT(program, IsOk());
    auto run = RunProgram(*program, arrays_);
    ASSERT_THAT(run, IsOk());
    Compare(outputs.at(y->node().name), inputs, *run);
  }

 private:
  std::vector<double> Numbers(int64_t count) {
    std::vector<double> numbers;
    std::uniform_real_distribution<double> number(least_, 2);
    for (int64_t k = 0; k < count; ++k) numbers.push_back(number(random_));
    return numbers;
  }

  // The value of data, or a value and a direction for a parameter.
  void AddInput(const Array& array, DualArrays& inputs) {
    std::vector<Dual>& duals = inputs[array.name];
    const bool is_data = array.data != nullptr;
    const int64_t size = NumElements(array.dims);
    const std::vector<double> slopes = Numbers(size);
    const NdArray values =
        is_data ? *array.data : NdArray::Of<double>(array.dims, Numbers(size));
    for (int64_t k = 0; k < size; ++k) {
      duals.push_back(
          {.value = values.AsDouble(k), .slope = is_data ? 0 : slopes[k]});
    }
    arrays_.insert_or_assign(array.name, values);
  }

  void Compare(const std::vector<Dual>& y, const DualArrays& inputs,
               const RunResult& run) {
    double forward = 0, backward = 0, scale = 0;
    for (size_t k = 0; k < y.size(); ++k) {
      forward += weights_[k] * y[k].slope;
      scale += std::abs(weights_[k] * y[k].slope);
    }
    int gradients = 0;
    for (const auto& [name, duals] : inputs) {
      auto gradient = run.find(absl::StrCat(name, ".grad"));
      if (gradient == run.end()) continue;
      ++gradients;
      for (size_t k = 0; k < duals.size(); ++k) {
        backward += gradient->second.AsDouble(k) * duals[k].slope;
      }
    }
    EXPECT_GT(gradients, 0);
    if (!std::isfinite(forward)) return;
    EXPECT_NEAR(forward, backward, kRelative * scale);
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  double least_;
  absl::flat_hash_map<std::string, double> sizes_;
  std::vector<double> weights_;
  Arrays arrays_;
};

std::string WithDType(const std::string& expression, absl::string_view dtype) {
  std::string text = expression;
  for (const char* name : {"X", "Y", "Z"}) {
    text = absl::StrReplaceAll(text,
                               {{absl::StrCat("{", name, ";"),
                                 absl::StrCat("{", name, ": ", dtype, ";")}});
  }
  return text;
}

TEST(OpsGradient, GradientsAreAdjoint) {
  for (const Row& row : Rows()) {
    for (uint64_t round = 0; round < 12; ++round) {
      SCOPED_TRACE(absl::StrCat(row.expression, ", round ", round));
      Case one(kSeed + round);
      const std::string text = WithDType(row.expression, "f64");
      one.Check([&](train::Model& model) { return one.Build(text, model); });
    }
  }
}

TEST(OpsGradient, GradientsOfPointwiseOperations) {
  for (Op op : AllOps()) {
    const Typing typing = Info(op).typing;
    if (typing != Typing::kSelect && !Accepts(typing, DType::kF64)) continue;
    if (op == Op::kConvert || op == Op::kBitcast) continue;
    for (uint64_t round = 0; round < 12; ++round) {
      SCOPED_TRACE(absl::StrCat(Info(op).name, ", round ", round));
      Case one(kSeed + round);
      one.Check([&](train::Model& model) -> absl::StatusOr<Tensor> {
        std::vector<Arg> args;
        for (const char* text :
             {"{X: f64; o=[n, m]}", "{Y: f64; o=[m]}", "{Z: f64; o=[n, m]}"}) {
          if (static_cast<int>(args.size()) == Info(op).arity) break;
          OCANNL_ASSIGN_OR_RETURN(Tensor arg, one.Build(text, model));
          args.emplace_back(arg);
        }
        if (typing == Typing::kSelect) args[0] = Less(args[0], 0.5);
        return Pointwise(op, args);
      });
    }
  }
}

TEST(OpsGradient, TheTiersAgree) {
  for (const Row& row : Rows()) {
    for (const char* dtype : {"f32", "f64"}) {
      if (row.name == "@|" && dtype == std::string("f32")) continue;
      SCOPED_TRACE(absl::StrCat(row.expression, " of ", dtype));
      Case one(kSeed);
      train::Model model;
      auto y = one.Build(WithDType(row.expression, dtype), model);
      ASSERT_THAT(y, IsOk());
      auto code = train::GradUpdateOfSum(model, *y);
      ASSERT_THAT(code, IsOk());
      for (Array& array : code->arrays) {
        if (absl::EndsWith(array.name, ".grad")) {
          array.memory = {MemoryMode::kOnDevice, "the test"};
        }
      }
      auto program = CompileProgram(*code, {});
      ASSERT_THAT(program, IsOk());
      EXPECT_TRUE(fuzz::TiersAgree(*program));
    }
  }
}

TEST(OpsGradient, TheTiersAgreeOnIndices) {
  for (const char* text :
       {"argmax(\"..., i\", {X: f32; o=[n, m]})",
        "argmin(\"i, ...\", {X: f64; o=[n, m]})", "one_hot(ids, 3)",
        "argmax(\"i\", ids)", "range(5) *. {X: f32; o=[5]}"}) {
    SCOPED_TRACE(text);
    Case one(kSeed);
    train::Model model;
    auto y = one.Build(text, model);
    ASSERT_THAT(y, IsOk());
    auto code = train::Forward(model, *y);
    ASSERT_THAT(code, IsOk());
    auto program = CompileProgram(*code, {});
    ASSERT_THAT(program, IsOk());
    EXPECT_TRUE(fuzz::TiersAgree(*program));
  }
}

}  // namespace
}  // namespace ocannl
