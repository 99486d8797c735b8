// SPDX-License-Identifier: Apache-2.0
//
// docs/source_texts.md: each text of the source documents gives, on every tier,
// what the page says, and no block is without its row.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/notation/statements/define.h"
#include "ocannl/core/tensor/defined_op.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/print_values.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/run_program.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using Words = std::vector<std::string>;

struct Row {
  std::string place, kind;
  Words given, texts, results;
};

// The texts between backticks of a cell.
Words CodeOf(absl::string_view cell) {
  Words code;
  const Words parts = absl::StrSplit(cell, '`');
  for (size_t k = 1; k < parts.size(); k += 2) code.push_back(parts[k]);
  return code;
}

Row RowOf(const std::string& line) {
  const std::string bar(1, '\1');
  Words cells = absl::StrSplit(absl::StrReplaceAll(line, {{"\\|", bar}}), '|');
  CHECK(cells.size() == 8) << line;
  for (std::string& cell : cells) {
    cell = absl::StrReplaceAll(cell, {{bar, "|"}});
    absl::StripAsciiWhitespace(&cell);
  }
  return {.place = cells[1],
          .kind = cells[2],
          .given = CodeOf(cells[3]),
          .texts = CodeOf(cells[4]),
          .results = CodeOf(cells[6])};
}

// "## Slides: 27 blocks" and the rows below it.
struct Document {
  std::string name;
  int blocks;
  std::vector<Row> rows;
};

std::vector<Document> ReadPage() {
  auto text = ReadFile("docs/source_texts.md");
  CHECK_OK(text);
  std::vector<Document> documents;
  for (const std::string& line : Words(absl::StrSplit(*text, '\n'))) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "## ")) {
      const Words parts = absl::StrSplit(rest, ": ");
      documents.push_back({.name = parts[0], .blocks = 0, .rows = {}});
      CHECK(absl::SimpleAtoi(Words(absl::StrSplit(parts[1], ' '))[0],
                             &documents.back().blocks))
          << line;
    } else if (absl::StartsWith(line, "| ") &&
               !absl::StartsWith(line, "| place")) {
      documents.back().rows.push_back(RowOf(line));
    }
  }
  return documents;
}

NdArray Numbers(absl::string_view text) {
  std::vector<float> values;
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    CHECK(absl::SimpleAtof(word, &values.emplace_back())) << text;
  }
  return NdArray::Of<float>({static_cast<int64_t>(values.size())}, values);
}

// `array` is the numbers of `text`, of which a person may have rounded the last
// digit.
void ExpectNumbers(const NdArray& array, absl::string_view text) {
  const NdArray numbers = Numbers(text);
  ASSERT_EQ(array.size(), numbers.size()) << PrintValues(array);
  for (int64_t k = 0; k < numbers.size(); ++k) {
    const double number = numbers.AsDouble(k);
    EXPECT_NEAR(array.AsDouble(k), number, 1e-6 * std::abs(number))
        << text << " where it is " << PrintValues(array);
  }
}

// The arrays of results "w = 1 2" and "w : 2->3".
Words ResultNames(const Row& row) {
  Words names;
  for (const std::string& result : row.results) {
    names.push_back(Words(absl::StrSplit(result, ' '))[0]);
  }
  return names;
}

// One row on one tier.
class Runner {
 public:
  Runner(const Row& row, const Backend* backend) : row_(row), host_(backend) {}

  // The arrays that are results.
  Arrays Run() {
    for (const std::string& given : row_.given) Give(given);
    if (row_.kind == "cd") {
      auto code = train::ParseCode(model_, row_.texts[0], names_);
      CHECK_OK(code) << row_.place;
      RunCode({code->init});
      code_.push_back(std::move(code->update));
    } else if (row_.kind == "op") {
      Tensor result = Parse(row_.texts[0]);
      if (!result.node().named) result = Named(result, "result");
      Initialize(result);
      auto code = train::Forward(model_, result);
      CHECK_OK(code) << row_.place;
      code_.push_back(*std::move(code));
    } else {
      Update(Defined());
    }
    return RunCode(code_);
  }

  std::string ShapeOf(const std::string& name) const {
    return ToString(model_.shapes, *model_.graph.Find(name));
  }

 private:
  Tensor Parse(const std::string& text) {
    return MustParseTensor(model_.graph, text, names_);
  }

  void Give(absl::string_view given) {
    const Words parts = absl::StrSplit(given, absl::MaxSplits(" = ", 1));
    absl::string_view name = parts[0];
    if (absl::StartsWith(name, "{")) {
      Initialize(Parse(std::string(given)));
    } else if (absl::ConsumePrefix(&name, "!")) {
      CHECK(absl::SimpleAtod(parts[1], &names_.numbers[name]));
    } else if (absl::ConsumePrefix(&name, "@")) {
      GiveStatic(std::string(name), parts[1]);
    } else if (absl::ConsumePrefix(&name, "write ")) {
      CHECK_OK(host_.context.Write(name, Numbers(parts[1])));
    } else if (absl::ConsumePrefix(&name, "merge ")) {
      CHECK_OK(host_.context.WriteMerge(name, Numbers(parts[1])));
    } else if (absl::ConsumePrefix(&name, "update ")) {
      Update(Named(Parse(std::string(name)), "result"));
    } else if (absl::ConsumePrefix(&name, "name ")) {
      const Words words = absl::StrSplit(name, ' ');
      names_.tensors.emplace(
          words[0], Tensor{&model_.graph, *model_.graph.Find(words[1])});
    } else {
      const Tensor tensor = Parse(parts[1]);
      const bool is_new = !tensor.node().named;
      names_.tensors.emplace(name, is_new ? Named(tensor, parts[0]) : tensor);
    }
  }

  // "3 of 4" or "3"
  void GiveStatic(const std::string& name, const std::string& text) {
    const Words words = absl::StrSplit(text, " of ");
    int64_t value = 0;
    int64_t range = 0;
    CHECK(absl::SimpleAtoi(words[0], &value));
    const bool ends = words.size() > 1 && absl::SimpleAtoi(words[1], &range);
    names_.statics.emplace(
        name, model_.graph.AddStatic(
                  name, ends ? std::optional<int64_t>(range) : std::nullopt));
    statics_.emplace_back(name, value);
  }

  // The sum of y, which the two texts define.
  Tensor Defined() {
    auto op = DefineOp("op", row_.texts[0], row_.texts[1], names_);
    CHECK_OK(op) << row_.place;
    const std::string logic = row_.kind == "define @" ? "@" : ".";
    const Tensor y =
        Named(ApplyDefined(
                  *op, {names_.tensors.at("a"), names_.tensors.at("b")}, logic),
              "y");
    return Named(Einsum1("...|...->... => 0", y), "sum");
  }

  void Initialize(Tensor tensor) {
    auto init = train::InitParams(model_, tensor);
    CHECK_OK(init) << row_.place;
    RunCode({*std::move(init)});
  }

  void Update(Tensor loss) {
    Initialize(loss);
    auto step = train::GradUpdate(model_, loss, {.keep_gradients = true});
    CHECK_OK(step) << row_.place;
    code_.push_back(*std::move(step));
  }

  // The results that there are after a run of `parts` as one routine.
  Arrays RunCode(const std::vector<Assignments>& parts) {
    Assignments code = train::Sequence("code", parts);
    for (const std::string& name : ResultNames(row_)) {
      (void)Keep(code, name);  // what is not in this code is in another
    }
    auto routine = ToRoutine(host_.context, code, {});
    CHECK_OK(routine) << row_.place;
    for (const auto& [name, value] : statics_) {
      if (routine->Static(name).ok()) CHECK_OK(routine->Set(name, value));
    }
    CHECK_OK(routine->Run()) << row_.place;
    Arrays arrays;
    for (const std::string& name : ResultNames(row_)) {
      auto array = host_.context.Read(name);
      if (array.ok()) arrays.emplace(name, *std::move(array));
    }
    return arrays;
  }

  const Row& row_;
  train::Model model_;
  Names names_;
  TestDevice host_;
  std::vector<std::pair<std::string, int64_t>> statics_;
  std::vector<Assignments> code_;  // what is still to be run
};

RunResult RunLoops(const Row& row, const Backend& backend) {
  auto program = Parse(row.texts[0]);
  CHECK_OK(program) << row.place;
  auto result = RunProgram(*program, FillInputs(*program), backend);
  CHECK_OK(result) << row.place;
  return *std::move(result);
}

class SourceTextsTest : public testing::TestWithParam<Row> {};

TEST_P(SourceTextsTest, GivesThatOnEveryTier) {
  const Row& row = GetParam();
  Arrays first;
  ASSERT_FALSE(row.results.empty());
  for (const std::string& tier : AvailableTiers()) {
    auto backend = FindTier(tier);
    CHECK_OK(backend);
    if (row.kind == "ll") {
      const Arrays arrays = RunLoops(row, **backend);
      for (const std::string& name : row.results) {
        EXPECT_TRUE(arrays.contains(name)) << name;
      }
      if (first.empty()) first = arrays;
      EXPECT_EQ(Difference(first, arrays), "") << tier;
      continue;
    }
    Runner runner(row, *backend);
    const Arrays arrays = runner.Run();
    if (first.empty()) first = arrays;
    EXPECT_EQ(Difference(first, arrays), "") << tier;
    for (const std::string& result : row.results) {
      const Words shape = absl::StrSplit(result, " : ");
      const Words value = absl::StrSplit(result, " = ");
      ASSERT_NE(shape.size(), value.size()) << result;
      if (shape.size() == 2) {
        EXPECT_EQ(runner.ShapeOf(shape[0]), shape[1]) << shape[0];
        continue;
      }
      ASSERT_TRUE(arrays.contains(value[0])) << value[0];
      ExpectNumbers(arrays.at(value[0]), value[1]);
    }
  }
}

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  for (const Document& document : ReadPage()) {
    rows.insert(rows.end(), document.rows.begin(), document.rows.end());
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Page, SourceTextsTest, testing::ValuesIn(AllRows()));

TEST(SourceTextsPageTest, HasARowForEveryBlock) {
  // As they were counted in the documents.
  const std::vector<std::pair<std::string, int>> counted = {
      {"Slides", 28},
      {"train.ml, the later one", 10},
      {"train.ml of 0.3.3", 8}};
  const std::vector<Document> documents = ReadPage();
  ASSERT_EQ(documents.size(), counted.size());
  for (size_t k = 0; k < counted.size(); ++k) {
    EXPECT_EQ(documents[k].name, counted[k].first);
    EXPECT_EQ(documents[k].blocks, counted[k].second);
    EXPECT_EQ(documents[k].rows.size(), documents[k].blocks);
  }
}

}  // namespace
}  // namespace ocannl
