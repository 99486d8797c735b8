// SPDX-License-Identifier: Apache-2.0
//
// The .cd text of random graphs with gradients says exactly what is executed:
// it is read back as the same code, which is lowered to the same program and
// leaves the same bits; so it is with other operators in its assignments.
// Changed texts are refused, or lowered to valid
// programs.
//
//   bazel test //tests/notation:cd_random_test --test_env=OCANNL_SEED=7
//   bazel test //tests/notation:cd_random_test --test_env=OCANNL_GRAPHS=1000
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/notation/compare_code.h"
#include "ocannl/fuzz/notation/random_text.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

using fuzz::RandomText;
using testing::HasSubstr;

uint64_t NumberOf(const char* variable, uint64_t number) {
  const char* given = std::getenv(variable);
  if (given != nullptr) CHECK(absl::SimpleAtoi(given, &number));
  return number;
}

uint64_t FirstSeed() { return NumberOf("OCANNL_SEED", 1) * 1'000'000; }

// The code of the random text, with gradients where it has some; none if the
// text is refused.
std::optional<Assignments> RandomCode(uint64_t seed, bool* has_gradients) {
  const RandomText text = fuzz::MakeText(seed, {});
  train::Model model;
  Names names;
  constexpr const char* kNames[] = {"x", "y", "a", "b", "t", "c"};
  for (size_t k = 0; k < text.operands.size() + std::size(kNames); ++k) {
    const size_t count = text.operands.size();
    const Shape& shape = text.operands[k % count];
    const std::string name =
        k < count ? absl::StrCat("x", k) : kNames[k - count];
    const bool is_data = !shape[RowKind::kBatch].empty();
    names.tensors.emplace(
        name, is_data ? Data(model.graph, name,
                             NdArray(DType::kF32, shape.dims()), SpecOf(shape))
                      : Param(model.graph, name, SpecOf(shape), DType::kF32,
                              nullptr));
  }
  names.statics.emplace("step", model.graph.AddStatic("step", 2));
  names.numbers = {{"lr", 10}, {"s", 2}};
  const auto parsed = ParseTensor(model.graph, text.text, names);
  if (!parsed.ok()) return std::nullopt;
  const Tensor result = parsed->tensor;
  *has_gradients = result.node().has_gradient;
  auto code = *has_gradients ? train::GradUpdateOfSum(model, result)
                             : train::Forward(model, result);
  if (!code.ok()) return std::nullopt;
  // An einsum of one operand may have its gradient twice.
  for (Array& array : code->arrays) {
    if (absl::EndsWith(array.name, ".grad")) {
      array.memory = {MemoryMode::kOnDevice, "\"the\\test\"\n"};
    }
  }
  return *std::move(code);
}

bool IsSmall(const LoopProgram& program) {
  int64_t cells = 0;
  for (const auto& buffer : program.buffers) cells += NumElements(buffer.dims);
  return cells < 5000;
}

// Comments that lead back to the code change nothing else.
void CheckOrigins(const Assignments& code) {
  const auto plain = Lower(code);
  const auto commented = Lower(WithOrigins(code));
  ASSERT_TRUE(plain.ok() && commented.ok());
  const auto expected = Optimize(*plain, {});
  const auto actual = Optimize(*commented, {});
  ASSERT_TRUE(expected.ok() && actual.ok());
  std::string text;
  for (absl::string_view line : absl::StrSplit(Print(*actual), '\n')) {
    absl::string_view rest = line;
    const bool is_origin =
        absl::ConsumePrefix(&rest, "  /* ") && absl::ascii_isdigit(rest[0]);
    if (!is_origin) absl::StrAppend(&text, line, "\n");
  }
  EXPECT_EQ(text, Print(*expected) + "\n");
}

void CheckText(const Assignments& code, bool runs, bool on_each_tier) {
  const std::string text = PrintCd(code);
  SCOPED_TRACE(text);
  const absl::StatusOr<Assignments> again = ParseCd(text);
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(*again == code);
  ASSERT_EQ(PrintCd(*again), PrintCd(code, [](const Array&) { return ""; }));
  const absl::StatusOr<LoopProgram> program = Lower(code);
  const absl::StatusOr<LoopProgram> of_text = Lower(*again);
  ASSERT_EQ(program.ok(), of_text.ok()) << program.status();
  if (!program.ok() || !runs) return;
  CheckOrigins(code);
  if (!IsSmall(*program)) return;
  const Arrays inputs = FillInputs(*program);
  const auto expected = RunProgram(*program, inputs);
  const auto actual = RunProgram(*of_text, inputs);
  ASSERT_TRUE(expected.ok() && actual.ok());
  EXPECT_EQ(Difference(*expected, *actual), "");
  if (!on_each_tier) return;
  const auto optimized = Optimize(*of_text, {});
  ASSERT_TRUE(optimized.ok());
  EXPECT_TRUE(fuzz::TiersAgree(*optimized));
}

TEST(Cd, LeadsBackToTheSource) {
  train::Model model;
  Shape vector;
  vector[RowKind::kOutput] = {2};
  const Tensor x =
      Data(model.graph, "x", NdArray(DType::kF32, {2}), SpecOf(vector));
  const Tensor y = Named(PointMul(x, x), "y");
  const std::string place = absl::StrCat("cd_random_test.cc:", __LINE__ - 1);
  const auto code = train::Forward(model, y);
  ASSERT_TRUE(code.ok());
  EXPECT_THAT(PrintCd(*code),
              HasSubstr(absl::StrCat("the result of Forward\";  # ", place)));
  const auto program = Lower(WithOrigins(*code));
  ASSERT_TRUE(program.ok());
  EXPECT_THAT(Print(*program),
              HasSubstr(absl::StrCat("/* 5: y =: x * x ~logic:\".\", ", place,
                                     " */\n  for i0")));
}

TEST(CdRandom, IsReadBack) {
  const uint64_t wanted = NumberOf("OCANNL_GRAPHS", 6'000);
  uint64_t graphs = 0;
  uint64_t seed = FirstSeed();
  for (; graphs < wanted && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    bool has_gradients = false;
    const std::optional<Assignments> code = RandomCode(seed, &has_gradients);
    if (!code) continue;
    graphs += has_gradients ? 1 : 0;
    CheckText(*code, seed % 10 == 0, seed % 100 == 0);
    if (seed % 4 > 0) continue;
    CheckText(fuzz::WithOtherOperators(*code, seed), seed % 20 == 0,
              seed % 200 == 0);
  }
  std::cout << graphs << " graphs with gradients of the seeds " << FirstSeed()
            << " to " << seed << "\n";
}

std::string Changed(std::string text, fuzz::Random& random) {
  constexpr const char* kParts[] = {"0",
                                    "1",
                                    "-",
                                    "2*",
                                    "1099511627776",
                                    "@",
                                    "!@step",
                                    "[",
                                    "]",
                                    "=>",
                                    "\"",
                                    ";",
                                    " else nan",
                                    "=-",
                                    "=/",
                                    "=:@^",
                                    "i",
                                    "j",
                                    "[\"i\" = 3]",
                                    "bool",
                                    "i64",
                                    "f8e4m3",
                                    "merge",
                                    "virtual \"\"",
                                    "x0[x1]",
                                    "bits_i32("};
  for (int64_t left = 1 + random.Below(3); left > 0; --left) {
    const size_t at = random.Below(text.size());
    switch (random.Below(4)) {
      case 0:
        text.erase(at, 1 + random.Below(6));
        break;
      case 1:
        text.insert(at, kParts[random.Below(std::size(kParts))]);
        break;
      case 2: {
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit != text.npos) {
          text.replace(digit, 1, kParts[random.Below(5)]);
        }
        break;
      }
      default: {
        const size_t from = text.rfind('\n', at) + 1;
        text.insert(from, text.substr(from, text.find('\n', at) + 1 - from));
      }
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(CdRandom, ChangedTextsAreRefusedOrValid) {
  int accepted = 0;
  int codes = 0;
  for (uint64_t seed = FirstSeed(); codes < 1000; ++seed) {
    bool has_gradients = false;
    const std::optional<Assignments> code = RandomCode(seed, &has_gradients);
    if (!code || !has_gradients) continue;
    ++codes;
    fuzz::Random random(seed);
    for (int k = 0; k < 20; ++k) {
      const std::string text = Changed(PrintCd(*code), random);
      SCOPED_TRACE(absl::StrCat("seed ", seed, ":\n", text));
      const absl::StatusOr<Assignments> changed = ParseCd(text);
      if (!changed.ok()) {
        EXPECT_EQ(changed.status().message().substr(0, 5), "line ");
        continue;
      }
      const absl::StatusOr<Assignments> again = ParseCd(PrintCd(*changed));
      ASSERT_TRUE(again.ok()) << again.status() << PrintCd(*changed);
      ASSERT_TRUE(*again == *changed) << PrintCd(*changed);
      const absl::StatusOr<LoopProgram> program = Lower(*changed);
      if (!program.ok() || !Verify(*program).ok()) continue;
      ++accepted;
      ASSERT_TRUE(Optimize(*program, {}).ok());
    }
  }
  std::cout << accepted << " of " << 20 * codes << " changed texts are valid\n";
  EXPECT_GT(accepted, codes);
}

}  // namespace
}  // namespace ocannl
