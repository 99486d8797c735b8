// SPDX-License-Identifier: Apache-2.0
//
// Every operation on every dtype it takes, on all pairs of the cases of IEEE
// and of two's complement, as a statement: alone, in 5, 16 and 33 lanes, with
// operands side by side, apart, the same in all lanes, and constant.
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/programs/policy.h"
#include "ocannl/fuzz/trial.h"
#include "tests/agree/all_tiers.h"

namespace ocannl::fuzz {
namespace {

// Sanitizers make everything several times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kLaneCounts[] = {17};
#else
constexpr int64_t kLaneCounts[] = {1, 5, 16, 33};
#endif

// One operation on operands of fixed dtypes.
struct Row {
  Op op;
  std::vector<DType> operands;
  DType result;
};

enum class Form { kSideBySide, kApart, kSameInAllLanes };
constexpr Form kForms[] = {Form::kSideBySide, Form::kApart,
                           Form::kSameInAllLanes};

// The operands of all trials: one list of values for each.
using Columns = std::vector<std::vector<Constant>>;

// Every n-tuple of the cases of the operands, of less cases where n is large.
Columns AllCases(const Row& row) {
  constexpr size_t kMostCases[] = {0, 1000, 64, 14, 0, 0, 3};
  std::vector<std::vector<Constant>> cases;
  for (DType dtype : row.operands) {
    absl::Span<const Constant> zoo = Zoo(dtype);
    size_t most = kMostCases[row.operands.size()];
    size_t step = (zoo.size() + most - 1) / most;
    std::vector<Constant> some = {zoo.back()};  // a NaN
    for (size_t k = 0; k + 1 < zoo.size(); k += step) some.push_back(zoo[k]);
    cases.push_back(std::move(some));
  }
  Columns columns(cases.size());
  std::vector<size_t> at(cases.size());
  while (true) {
    for (size_t k = 0; k < cases.size(); ++k) {
      columns[k].push_back(cases[k][at[k]]);
    }
    // Counts up, the first operand fastest.
    size_t k = 0;
    while (k < at.size() && ++at[k] == cases[k].size()) at[k++] = 0;
    if (k == at.size()) return columns;
  }
}

// The cases of `columns` whose last operand is `last`.
Columns CasesWithLast(const Columns& columns, const Constant& last) {
  Columns result(columns.size());
  for (size_t row = 0; row < columns[0].size(); ++row) {
    if (!(columns.back()[row] == last)) continue;
    for (size_t k = 0; k < columns.size(); ++k) {
      result[k].push_back(columns[k][row]);
    }
  }
  return result;
}

// A nest of loops for all cases in each form, or with each of some constants.
class OpProgram {
 public:
  OpProgram(const Row& row, int64_t lanes, const Columns& columns)
      : OpProgram(lanes, columns) {
    MakeResult(row, {static_cast<int64_t>(std::size(kForms)), times_, lanes});
    for (size_t k = 0; k < std::size(kForms); ++k) {
      operands_.clear();
      MakeOperands(row, kForms[k], columns, row.operands.size());
      AddNest(row, static_cast<int64_t>(k), nullptr);
    }
    Finish();
  }
  // With constants, of each of which `columns` have the same other operands.
  OpProgram(const Row& row, int64_t lanes, const Columns& columns,
            absl::Span<const Constant> constants)
      : OpProgram(lanes, columns) {
    const auto count = static_cast<int64_t>(constants.size());
    MakeResult(row, {count, times_, lanes});
    MakeOperands(row, Form::kSideBySide, columns, row.operands.size() - 1);
    for (int64_t k = 0; k < count; ++k) AddNest(row, k, &constants[k]);
    Finish();
  }

  std::string Difference(const Backend& tier) const {
    std::string difference = trial_->Try(tier);
    if (difference.empty()) return "";
    return absl::StrCat(difference, "\n", Print(program_));
  }

 private:
  // A buffer that holds an operand's column, and its cell for a pass.
  struct Operand {
    BufferId x;
    int64_t step;  // from lane to lane
  };

  OpProgram(int64_t lanes, const Columns& columns) : lanes_(lanes) {
    const auto cases = static_cast<int64_t>(columns[0].size());
    times_ = (cases + lanes - 1) / lanes;
    program_.name = "op";
  }

  void MakeResult(const Row& row, const Dims& dims) {
    program_.buffers.push_back({"y", row.result, Role::kOut, dims});
    arrays_.emplace_back(row.result, dims);
  }

  void MakeOperands(const Row& row, Form form, const Columns& columns,
                    size_t count) {
    for (size_t k = 0; k < count; ++k) {
      const bool same =
          form == Form::kSameInAllLanes && k + 1 == row.operands.size();
      MakeOperand(row.operands[k], same, form == Form::kApart ? 3 : 1,
                  columns[k]);
    }
  }

  void MakeOperand(DType dtype, bool same, int64_t step,
                   const std::vector<Constant>& column) {
    Dims dims = {times_, same ? 1 : step * lanes_};
    const BufferId x = program_.buffers.Add(
        {absl::StrCat("x", program_.buffers.size()), dtype, Role::kIn, dims});
    NdArray array(dtype, dims);
    const size_t size = SizeOf(dtype);
    for (int64_t cell = 0; cell < array.size(); ++cell) {
      // The gaps hold other cases.
      size_t at = same ? cell * lanes_ : cell / step + cell % step;
      std::memcpy(array.data() + cell * size, &column[at % column.size()].bits,
                  size);
    }
    arrays_.push_back(std::move(array));
    operands_.push_back({x, same ? 0 : step});
  }

  // Fills y[number]. Null: the last operand is no constant.
  void AddNest(const Row& row, int64_t number, const Constant* constant) {
    const auto nest = static_cast<int32_t>(program_.body.stmts.size());
    const IteratorId time = {2 * nest};
    const IteratorId lane = {2 * nest + 1};
    std::vector<Expr> args;
    for (const auto& [x, step] : operands_) {
      args.push_back(program_.Read(
          Access{x, {Iterator(time), step * Affine(Iterator(lane))}}));
    }
    if (constant != nullptr) {
      args.push_back(FromConstant(program_.exprs,
                                  FromBits(constant->dtype, constant->bits)));
    }
    Expr value = ApplyOp(row.op, args, row.result);
    For lane_loop = {LoopKind::kVec, lane, lanes_, {}};
    lane_loop.body.stmts.push_back(
        Set{{{0}, {number, Iterator(time), Iterator(lane)}}, value.id()});
    For loop = {LoopKind::kFor, time, times_, {}};
    loop.body.stmts.push_back(std::move(lane_loop));
    program_.body.stmts.push_back(std::move(loop));
  }

  void Finish() {
    CHECK_OK(Verify(program_)) << Print(program_);
    trial_.emplace(program_, std::move(arrays_), std::vector<int64_t>());
  }

  int64_t lanes_;
  int64_t times_;
  LoopProgram program_;
  Trial::Arrays arrays_;           // of the buffers
  std::vector<Operand> operands_;  // of the next nest
  std::optional<Trial> trial_;
};

// So many constants share a program: it takes longer to start than to run.
constexpr size_t kConstants = 16;

// Of one row; they stay where they are, as trials look at them.
using Programs = std::deque<OpProgram>;

Programs ProgramsOf(const Row& row) {
  const Columns columns = AllCases(row);
  Programs programs;
  for (int64_t lanes : kLaneCounts) programs.emplace_back(row, lanes, columns);
  if (row.operands.size() == 1) return programs;
  std::vector<Constant> constants;
  for (const Constant& last : columns.back()) {
    if (!absl::c_linear_search(constants, last)) constants.push_back(last);
  }
  const Columns some = CasesWithLast(columns, constants[0]);
  absl::Span<const Constant> rest = constants;
  while (!rest.empty()) {
    const auto taken = rest.subspan(0, kConstants);
    programs.emplace_back(row, 17, some, taken);
    rest.remove_prefix(taken.size());
  }
  return programs;
}

// Every row of `op`, by trying all dtypes.
std::vector<Row> RowsOf(Op op) {
  std::vector<Row> rows;
  for (DType dtype : kDTypes) {
    std::vector<DType> operands(Info(op).arity, dtype);
    if (Info(op).typing == Typing::kSelect) operands[0] = DType::kBool;
    for (DType wanted : kDTypes) {
      absl::StatusOr<DType> result = ResultType(op, operands, wanted);
      bool once = op != Op::kConvert && op != Op::kBitcast;
      if (!result.ok() || (once && wanted != DType::kF32)) continue;
      rows.push_back({op, operands, *result});
    }
  }
  return rows;
}

class OpMatrixTest : public testing::TestWithParam<Op> {};

TEST_P(OpMatrixTest, TiersAgree) {
  const std::vector<Row> rows = RowsOf(GetParam());
  std::map<size_t, Programs> made;  // of each child; tiers in it share them
  EXPECT_TRUE(OnEachTier([&](const Backend& tier) -> std::string {
    for (size_t k = 0; k < rows.size(); ++k) {
      const Row& row = rows[k];
      auto [programs, is_new] = made.try_emplace(k);
      if (is_new) programs->second = ProgramsOf(row);
      for (const OpProgram& program : programs->second) {
        const std::string difference = program.Difference(tier);
        if (difference.empty()) continue;
        return absl::StrCat(Info(row.op).name, " of ",
                            Name(row.operands.back()), " to ", Name(row.result),
                            ": ", difference);
      }
    }
    return "";
  }));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpMatrixTest, testing::ValuesIn(AllOps()),
                         [](const auto& instance) {
                           return std::string(Info(instance.param).name);
                         });

}  // namespace
}  // namespace ocannl::fuzz
