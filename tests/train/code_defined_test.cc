// SPDX-License-Identifier: Apache-2.0
//
// Operations that are defined by texts of %cd, with values and gradients that
// were worked out by hand, on every tier of this machine. One second.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/statements/define.h"
#include "ocannl/core/tensor/defined_op.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

// Operations of a = [[1; 5; 2; 5]; ...] and w: the value and the gradients of
// the sum of y *. [1; 2; ...].
struct Defined {
  const char* forward;
  const char* backward;
  const char* spec;
  Values y, a, b;
};

// a is 1 5 2 4, b is 1 2; the windows of 2 do not overlap, or do.
constexpr char kWindows[] = "2*o<+k; k => o";
constexpr char kOverlapping[] = "o<+k; k => o";

const Defined kDefined[] = {
    {"let%cd op_asn ~v ~t1 ~t2 ~projections = v =:+ v1 * v2 ~projections in",
     "let%cd grad_asn ~t:_ ~g ~t1 ~t2 ~projections = g1 =+ g * v2; "
     "g2 =+ v1 * g in",
     kWindows,
     {11, 10},
     {1, 2, 2, 4},
     {5, 13}},
    {"[%cd t =:@^ add (t1, t2)]",
     "let%cd grad_asn ~t ~g ~t1 ~t2 ~projections = "
     "{ sum_rhs1 } =:@^ add (t1, t2); { cond_rhs1 } =: eq (t, sum_rhs1); "
     "g1 =+ where (cond_rhs1, g, 0); g2 =+ where (cond_rhs1, g, 0)",
     kWindows,
     {7, 6},
     {0, 1, 0, 2},
     {0, 3}},
    {"v =:@^ v1 + v2",
     "sum_rhs1 =:@^ t1 + t2; cond_rhs1 =: t = sum_rhs1; "
     "g1 =+ where (cond_rhs1, g, 0); g2 =+ where (cond_rhs1, g, 0)",
     kWindows,
     {7, 6},
     {0, 1, 0, 2},
     {0, 3}},
    {"v =:@^ v1 + v2",
     "{ hit_rhs1 } =: t = t1 + t2; g1 =+ where (hit_rhs1, g, 0); "
     "g2 =+ where (hit_rhs1, g, 0)",
     kOverlapping,
     {7, 6, 6},
     {0, 3, 0, 3},
     {2, 4}},
    {"lhs_e =: v1 * v2; v =:+ lhs_e * lhs_e",
     "rhs1_twice =: 2 * v1 * v2; g1 =+ g * rhs1_twice * v2; "
     "g2 =+ g * rhs1_twice * v1",
     kWindows,
     {101, 68},
     {2, 40, 8, 64},
     {18, 228}},
    {"v =:+ v1 * v2",
     "{ total_rhs2 } =:+ v1; g1 =+ g * v2; g2 =+ total_rhs2 * g",
     kWindows,
     {11, 10},
     {1, 2, 2, 4},
     {9, 27}},
};

TEST(CodeDefinedTest, OperationsAreDefined) {
  for (const Defined& each : kDefined) {
    SCOPED_TRACE(absl::StrCat(each.forward, " and ", each.backward));
    for (const std::string& tier : AvailableTiers()) {
      train::Model model;
      Names names;
      auto op = DefineOp("op", each.forward, each.backward, names);
      ASSERT_TRUE(op.ok()) << op.status();
      const Tensor a =
          MustParseTensor(model.graph, "{a = [1; 5; 2; 4]}", names);
      const Tensor b = MustParseTensor(model.graph, "{b = [1; 2]}", names);
      const Tensor y = Named(ApplyDefined(*op, {a, b}, each.spec), "y");
      const Tensor loss = Named(
          Einsum1("i => 0", PointMul(y, Offsets(model.graph, DType::kF32) + 1)),
          "loss");
      auto init = train::InitParams(model, loss);
      CHECK_OK(init);
      auto step = train::GradUpdate(model, loss);
      CHECK_OK(step);
      for (const char* name : {"y", "a.grad", "b.grad"}) {
        CHECK_OK(Keep(*step, name));
      }
      auto backend = FindTier(tier);
      CHECK_OK(backend);
      TestDevice host(*backend);
      auto start = ToRoutine(host.context, *init, {});
      CHECK_OK(start);
      CHECK_OK(start->Run());
      auto routine = ToRoutine(start->context(), *step, {});
      CHECK_OK(routine);
      CHECK_OK(routine->Run());
      const Context& after = routine->context();
      EXPECT_EQ(CellsOf(after, "y"), each.y) << tier;
      EXPECT_EQ(CellsOf(after, "a.grad"), each.a) << tier;
      EXPECT_EQ(CellsOf(after, "b.grad"), each.b) << tier;
    }
  }
}

// Windows that overlap: the gradient runs over the cells of its operand, which
// is the form of a product's, where the definition is 0 with g.
TEST(CodeDefinedTest, GradientsIntoWindowsAreOfCells) {
  auto loops = [](const char* forward, const char* backward) {
    train::Model model;
    Names names;
    auto op = DefineOp("op", forward, backward, names);
    CHECK_OK(op);
    const Tensor a = MustParseTensor(model.graph, "{a = [1; 5; 2; 4]}", names);
    const Tensor b = MustParseTensor(model.graph, "{b = [1; 2]}", names);
    const Tensor y = Named(ApplyDefined(*op, {a, b}, kOverlapping), "y");
    auto step = train::GradUpdate(model, Named(Einsum1("i => 0", y), "loss"));
    CHECK_OK(step);
    const std::string text = PrintCd(*step);
    const size_t at = text.find("a.grad =+");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(loops("v =:+ v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g"),
            "a.grad =+ y.grad * b ~logic:\"i - j; j => i\";");
  EXPECT_EQ(loops("v =:+ v1 * v2", "g1 =+ 2 * g * v2 - g; g2 =+ g"),
            "a.grad =+ ((2 * y.grad) * b) - y.grad "
            "~logic:\"i - j; j; i - j => i\";");
  EXPECT_EQ(loops("v =:@^ v1 + v2",
                  "sum_rhs1 =:@^ t1 + t2; hit_rhs1 =: t = sum_rhs1; "
                  "g1 =+ where (hit_rhs1, g, 0); g2 =+ where (hit_rhs1, g, 0)"),
            "a.grad =+ select(y == y.sum_rhs1, y.grad, 0) "
            "~logic:\"i - j; i; i - j => i\" [\"i\" = 4; \"j\" = 2];");
  // The factor may be an infinity, and times 0 a NaN.
  EXPECT_EQ(loops("v =:+ v1 * v2", "g1 =+ g * (v1 * v2); g2 =+ g"),
            "a.grad =+ y.grad * (a * b) ~logic:\"i; i + j; j => i + j\";");
  EXPECT_EQ(loops("v =:+ v1 / v2", "g1 =+ g / v2; g2 =+ g"),
            "a.grad =+ y.grad / b ~logic:\"i; j => i + j\";");
}

TEST(CodeDefinedTest, ErrorsOfDefinitionsNameTheFix) {
  auto error = [](const char* forward, const char* backward) {
    return std::string(DefineOp("f", forward, backward).status().message());
  };
  EXPECT_EQ(error("v =: v1", "{ sum } =:+ v1; g1 =+ sum"),
            "line 1, column 3: `sum` does not tell whose cells it has; name it "
            "sum_lhs for those of the result, sum_rhs1 for those of t1");
  EXPECT_THAT(error("v =: v1", "{ sum_rhs2 } =:+ v1"),
              HasSubstr("does not tell whose"));
  EXPECT_THAT(error("v =: v1", "c_rhs1 =: v1;\nc_rhs1 =: g"),
              HasSubstr("line 2, column 1: `c_rhs1` is assigned twice"));
  EXPECT_THAT(error("v =: v1", "c_rhs1 =+ v1"), HasSubstr("write =: before"));
  EXPECT_THAT(error("s_lhs =:+ v1; v =: s_lhs", ""),
              HasSubstr("before v only `s_lhs =: ...` may stand"));
}

}  // namespace
}  // namespace ocannl
