// SPDX-License-Identifier: Apache-2.0
//
// Every operation on every dtype it takes, on all pairs of the cases of IEEE
// and of two's complement, as one statement: alone, in 5, 16 and 33 lanes, with
// operands side by side, apart, the same in all lanes, and constant.
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

enum class Form { kSideBySide, kApart, kSameInAllLanes, kConstant };

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

class OpProgram {
 public:
  OpProgram(const Row& row, Form form, int64_t lanes, const Columns& columns)
      : row_(row), form_(form), lanes_(lanes), columns_(columns) {
    const auto cases = static_cast<int64_t>(columns[0].size());
    times_ = (cases + lanes - 1) / lanes;
    program_.name = "op";
    program_.buffers.push_back({"y", row.result, {times_, lanes}, Role::kOut});
    std::vector<Expr> args;
    for (size_t k = 0; k < row.operands.size(); ++k) {
      args.push_back(Operand(k, k + 1 == row.operands.size()));
    }
    Expr value = ApplyOp(row.op, args, row.result);
    For lane_loop = {LoopKind::kVec, {1}, lanes, {}};
    lane_loop.body.stmts.push_back(
        Set{{{0}, {Iterator({0}), Iterator({1})}}, value.id()});
    For loop = {LoopKind::kFor, {0}, times_, {}};
    loop.body.stmts.push_back(std::move(lane_loop));
    program_.body.stmts.push_back(std::move(loop));
    CHECK_OK(Verify(program_)) << Print(program_);
  }

  std::string Difference(const Backend& tier) const {
    const Buffer& y = program_.buffers[{0}];
    Trial::Arrays arrays = {NdArray(y.dtype, y.dims)};
    arrays.insert(arrays.end(), arrays_.begin(), arrays_.end());
    std::string difference = Trial(program_, arrays, {}).Try(tier);
    if (difference.empty()) return "";
    return absl::StrCat(difference, "\n", Print(program_));
  }

 private:
  // A buffer that holds the operand's column, and the cell for this iteration.
  Expr Operand(size_t k, bool is_last) {
    if (is_last && form_ == Form::kConstant) {
      const Constant& constant = columns_[k][0];
      return FromConstant(program_.exprs,
                          FromBits(constant.dtype, constant.bits));
    }
    const int64_t step = form_ == Form::kApart ? 3 : 1;
    const bool same = is_last && form_ == Form::kSameInAllLanes;
    Dims dims = {times_, same ? 1 : step * lanes_};
    const BufferId x = program_.buffers.Add(
        {absl::StrCat("x", k), row_.operands[k], dims, Role::kIn});
    NdArray array(row_.operands[k], dims);
    const size_t size = SizeOf(row_.operands[k]);
    const std::vector<Constant>& column = columns_[k];
    for (int64_t cell = 0; cell < array.size(); ++cell) {
      // The gaps hold other cases.
      size_t at = same ? cell * lanes_ : cell / step + cell % step;
      std::memcpy(array.data() + cell * size, &column[at % column.size()].bits,
                  size);
    }
    arrays_.push_back(std::move(array));
    Affine lane = same ? Affine() : step * Affine(Iterator({1}));
    return program_.Read(Access{x, {Iterator({0}), lane}});
  }

  const Row& row_;
  Form form_;
  int64_t lanes_;
  const Columns& columns_;
  int64_t times_;
  LoopProgram program_;
  std::vector<NdArray> arrays_;  // of the operands
};

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

std::string DifferenceOf(const Row& row, const Backend& tier) {
  const Columns columns = AllCases(row);
  for (int64_t lanes : kLaneCounts) {
    for (Form form : {Form::kSideBySide, Form::kApart, Form::kSameInAllLanes}) {
      std::string difference =
          OpProgram(row, form, lanes, columns).Difference(tier);
      if (!difference.empty()) return difference;
    }
  }
  if (row.operands.size() == 1) return "";
  for (const Constant& last : Zoo(row.operands.back())) {
    const Columns some = CasesWithLast(columns, last);
    if (some[0].empty()) continue;
    std::string difference =
        OpProgram(row, Form::kConstant, 17, some).Difference(tier);
    if (!difference.empty()) return difference;
  }
  return "";
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
  EXPECT_TRUE(OnEachTier([&](const Backend& tier) -> std::string {
    for (const Row& row : RowsOf(GetParam())) {
      const std::string difference = DifferenceOf(row, tier);
      if (difference.empty()) continue;
      return absl::StrCat(Info(row.op).name, " of ", Name(row.operands.back()),
                          " to ", Name(row.result), ": ", difference);
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
