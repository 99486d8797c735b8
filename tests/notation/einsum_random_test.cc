// SPDX-License-Identifier: Apache-2.0
//
// Random specs on random shapes against loops over everything that they name:
// inferred shapes, values and gradients, on numbers that add up exactly; some
// of them on each tier.
//
//   bazel test //tests/notation:einsum_random_test --test_env=OCANNL_SEED=7
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/notation/einsum_program.h"
#include "ocannl/fuzz/notation/random_einsum.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using fuzz::EinsumProgram;
using fuzz::EinsumValues;
using fuzz::ProgramTensor;
using fuzz::Random;
using fuzz::Values;

// Up to `most`, and down to as much below 0.
Values SmallNumbers(Random& random, int64_t size, int64_t most) {
  Values values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(static_cast<double>(random.Below(2 * most + 1) - most));
  }
  return values;
}

NdArray ArrayOf(const Values& values, const Dims& dims) {
  return NdArray::Of<float>(dims,
                            std::vector<float>(values.begin(), values.end()));
}

void ExpectValues(const RunResult& run, const std::string& name,
                  const Values& expected) {
  ASSERT_TRUE(run.contains(name)) << name;
  Values values;
  for (int64_t i = 0; i < run.at(name).size(); ++i) {
    values.push_back(run.at(name).AsDouble(i));
  }
  // A NaN equals a NaN.
  EXPECT_THAT(values,
              testing::Pointwise(testing::NanSensitiveDoubleEq(), expected))
      << name;
}

// The operands and weights of the cells of the result, and what the engine
// makes of them.
class Case {
 public:
  Case(const EinsumProgram& program, Random& random)
      : program_(program), most_(program.operands.size() > 3 ? 1 : 3) {
    for (const ProgramTensor& operand : program.operands) {
      AddOperand(operand.shape(), random);
    }
    shape_ = program.result.shape();
    weights_ = SmallNumbers(random, NumElements(shape_.dims()), most_);
    stored_ = random.OneIn(2);
    on_each_tier_ = random.OneIn(20);
    expected_ = Evaluate(program, operands_, weights_);
  }

  void Check() {
    Tensor y =
        Named(Reduce(program_.op, program_.accum, program_.Spec(), args_), "y");
    for (const auto& group : program_.groups) {
      for (const std::string& part : group) {
        EXPECT_THAT(SetDim(y, part, program_.sizes.at(part)), IsOk());
      }
    }
    if (stored_) {
      ASSERT_THAT(SetMemoryMode(y, MemoryMode::kMaterialized), IsOk());
    }
    auto code = Code(y);
    ASSERT_THAT(code, IsOk());
    EXPECT_EQ(ToString(model_.shapes.at(y.id)), ToString(shape_));
    for (Array& array : code->arrays) {
      if (absl::EndsWith(array.name, ".grad")) {
        array.memory = {MemoryMode::kOnDevice, "the test"};
      }
    }
    PassOptions options;
    Run(*code, options);
    options.skip = {"share", "simplify", "virtualize"};
    Run(*code, options);
  }

 private:
  void AddOperand(const Shape& shape, Random& random) {
    operands_.push_back(SmallNumbers(random, NumElements(shape.dims()), most_));
    // Sums would spread it.
    if (program_.accum != Op::kAdd && random.OneIn(4)) {
      Values& values = operands_.back();
      values[random.Below(values.size())] =
          std::numeric_limits<double>::quiet_NaN();
    }
    std::string name = absl::StrCat("x", args_.size());
    NdArray array = ArrayOf(operands_.back(), shape.dims());
    inputs_.emplace(name, array);
    if (shape[RowKind::kBatch].empty()) {
      args_.emplace_back(
          Param(model_.graph, name, SpecOf(shape), DType::kF32, nullptr));
    } else {
      differentiable_ = false;
      args_.emplace_back(Data(model_.graph, name, array, SpecOf(shape)));
    }
  }

  absl::StatusOr<Assignments> Code(Tensor y) {
    if (!differentiable_) return train::Forward(model_, y);
    NdArray weights = ArrayOf(weights_, shape_.dims());
    inputs_.emplace("c", weights);
    return train::GradUpdateOfSum(
        model_, PointMul(y, Data(model_.graph, "c", weights, SpecOf(shape_))));
  }

  void Run(const Assignments& code, const PassOptions& options) {
    auto loops = CompileProgram(code, options);
    ASSERT_THAT(loops, IsOk());
    ASSERT_TRUE(!on_each_tier_ || fuzz::TiersAgree(*loops));
    auto run = RunProgram(*loops, inputs_);
    ASSERT_THAT(run, IsOk());
    if (stored_ || !differentiable_) ExpectValues(*run, "y", expected_.result);
    for (size_t k = 0; differentiable_ && k < operands_.size(); ++k) {
      ExpectValues(*run, absl::StrCat("x", k, ".grad"), expected_.gradients[k]);
    }
  }

  const EinsumProgram& program_;
  int64_t most_;  // in an array, so that sums of products are exact
  train::Model model_;
  std::vector<Arg> args_;
  std::vector<Values> operands_;
  Arrays inputs_;
  Shape shape_;  // of the result
  Values weights_;
  bool stored_;  // else it may be computed where it is used
  bool on_each_tier_;
  EinsumValues expected_;
  bool differentiable_ = true;
};

void Check(uint64_t seed) {
  Random random(seed);
  const EinsumProgram program = fuzz::RandomEinsum(random);
  const std::string text = program.Spec();
  SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", text));
  const int count = static_cast<int>(program.operands.size());
  auto spec = ParseEinsum(text, count);
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(ParseEinsum(ToString(*spec), count), IsOkAndHolds(*spec))
      << ToString(*spec);
  Case(program, random).Check();
}

TEST(EinsumRandom, IsWhatItsDefinitionSays) {
  uint64_t seed = 1;
  const char* given = std::getenv("OCANNL_SEED");
  if (given != nullptr) CHECK(absl::SimpleAtoi(given, &seed));
  for (int k = 0; k < 600 && !testing::Test::HasFailure(); ++k) {
    Check(1000 * seed + k);
  }
}

}  // namespace
}  // namespace ocannl
