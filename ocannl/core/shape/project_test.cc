// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/project.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/shape/test_tensors.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

struct Example {
  int row;  // of the table of worked examples in the semantics
  const char* spec;
  std::array<const char*, 2> operands;  // the second may be null
  const char* shape;
  const char* projections;
};

constexpr Example kExamples[] = {
    {1, "b|i->o => o|b->i", {"2|3->4"}, "4|2->3", "4,3,2 : 0 1 2 <- 2 0 1"},
    {2,
     "ab|cd->ef => cf|ae->db",
     {"2,3|4,5->6,7"},
     "4,7|2,6->5,3",
     "4,7,5,3,2,6 : 0 1 2 3 4 5 <- 4 3 5 1 0 2"},
    {3, "b|i->o => b|i", {"2|3->4"}, "2|3", "2,3,4 : 0 1 <- 0 2 1"},
    {4,
     "...|i->1; ...|...->i => ...|i",
     {"3|4->2", "3|1->4"},
     "3|4",
     "3,4,1 : 0 1 <- 0 =1 1 <- 0 1 2"},
    {5,
     "...|i->...; ...|...->i => ...|i",
     {"3|4->2", "3|1->4"},
     "3|4",
     "3,4,2,1 : 0 1 <- 0 2 1 <- 0 1 3"},
    {6, "i; j => i->j", {"2", "3"}, "2->3", "3,2 : 0 1 <- 1 <- 0"},
    {7,
     "i|j->k; l|m->n => il|jm->kn",
     {"2|3->4", "5|6->7"},
     "2,5|3,6->4,7",
     "2,5,4,7,3,6 : 0 1 2 3 4 5 <- 0 2 4 <- 1 3 5"},
    {8,
     "b|i->o; b|i->o => b|i->o",
     {"2|3->4", "2|3->4"},
     "2|3->4",
     "2,4,3 : 0 1 2 <- 0 1 2 <- 0 1 2"},
    {9,
     "b|h->o; b|i->h => b|i->o",
     {"2|4->5", "2|3->4"},
     "2|3->5",
     "2,5,3,4 : 0 1 2 <- 0 1 3 <- 0 3 2"},
    {10,
     "a|i->h; b|h->o => ab|i->o",
     {"2|3->4", "2|4->5"},
     "2,2|3->5",
     "2,2,5,3,4 : 0 1 2 3 <- 0 4 3 <- 1 2 4"},
    {11,
     "b|i->h; b|h->o => i->o",
     {"2|3->4", "2|4->5"},
     "3->5",
     "5,3,2,4 : 0 1 <- 2 3 1 <- 2 0 3"},
    {12,
     "a|i->h; b|h->o => i->o",
     {"2|3->4", "2|4->5"},
     "3->5",
     "5,3,2,4,2 : 0 1 <- 2 3 1 <- 4 0 3"},
    {13,
     "...|i->o => ...|o->i",
     {"2|3->4"},
     "2|4->3",
     "2,3,4 : 0 1 2 <- 0 2 1"},
    {14,
     "b|...->o => o|...->b",
     {"2|3->4"},
     "4|3->2",
     "4,2,3 : 0 1 2 <- 1 0 2"},
    {15,
     "...b|...i->...o => ...i|...o->...b",
     {"2,3|4,5->6,7"},
     "2,5|4,7->6,3",
     "2,5,6,3,4,7 : 0 1 2 3 4 5 <- 0 3 2 5 4 1"},
    {16,
     "...b|...i->...o => i|o->b",
     {"2,3|4,5->6,7"},
     "5|7->3",
     "5,3,7,2,6,4 : 0 1 2 <- 3 1 4 2 5 0"},
    {17, "...|...->...o => o", {"2|3->4"}, "4", "4,2,3 : 0 <- 1 0 2"},
    {18, "...|...->...o => o", {"3,4"}, "4", "4,3 : 0 <- 1 0"},
    {19, "i->...o => ...io", {"2->3,4"}, "3,2,4", "3,2,4 : 0 1 2 <- 0 2 1"},
    {20,
     "i->...; j->... => ...ij",
     {"2->3", "4->3"},
     "3,2,4",
     "3,2,4 : 0 1 2 <- 0 1 <- 0 2"},
    {21, "...|1->... => ...|...", {"2|3->4"}, "2|4", "2,4 : 0 1 <- 0 1 =1"},
    {22,
     "...|...->... => ...|...->0",
     {"2|3->4"},
     "2|3->1",
     "2,3,4 : 0 =0 1 <- 0 2 1"},
    {23, "...|...->... => 0", {"2->3"}, "1", "3,2 : =0 <- 0 1"},
    {23, "...|...->... => |->0", {"2->3"}, "1", "3,2 : =0 <- 0 1"},
    {24, "i->j => i0j", {"2->3"}, "2,1,3", "2,3 : 0 =0 1 <- 1 0"},
    {25, "i=>i0", {"4"}, "4,1", "4 : 0 =0 <- 0"},
    {25, "k=>k2", {"6"}, "6,3", "6 : 0 =2 <- 0"},
    {26, "il;jl=>ijl", {"4,3", "5,3"}, "4,5,3", "4,5,3 : 0 1 2 <- 0 2 <- 1 2"},
    {27,
     "...|i->1; ...|j...->i => ...|ij",
     {"3|4->2", "3|2,3->4"},
     "3|4,2",
     "3,4,2,3 : 0 1 2 <- 0 =1 1 <- 0 1 2 3"},
    {28,
     "i->1; ij...->0 => ...->ji",
     {"2->2", "2,3,4->2"},
     "4->3,2",
     "3,2,4 : 0 1 2 <- =1 1 <- =0 1 0 2"},
    {29, "ijk => ki", {"3,4,5"}, "5,3", "5,3,4 : 0 1 <- 1 2 0"},
    {30,
     "..v..|...ijk => ..v..kji",
     {"2|6,3,4,5"},
     "2,5,4,3",
     "2,5,4,3,6 : 0 1 2 3 <- 0 4 3 2 1"},
    {31,
     "2...|...->... => ...|...->...",
     {"4,5|3->2"},
     "5|3->2",
     "5,2,3 : 0 1 2 <- =2 0 1 2"},
    {32, "...|... => ...|...2", {"2|3"}, "2|3,3", "2,3 : 0 1 =2 <- 0 1"},
    // Beyond the table: diagonals, placeholders, an axis of its own.
    {0, "ii => i", {"3,3"}, "3", "3 : 0 <- 0 0"},
    {0, "i => ii", {"3"}, "3,3", "3 : 0 0 <- 0"},
    {0, "_i_ => i", {"2,3,4"}, "3", "3,2,4 : 0 <- 1 0 2"},
};

Tensor Reduced(const Example& example, Graph& graph) {
  std::vector<Arg> args;
  for (const char* shape : example.operands) {
    if (shape != nullptr) args.emplace_back(Zeros(graph, "x", shape));
  }
  std::optional<Op> op;
  if (args.size() == 2) op = Op::kMul;
  return Reduce(op, Op::kAdd, example.spec, args);
}

TEST(Project, FollowsTheWorkedExamples) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.spec);
    Graph graph;
    Tensor result = Reduced(example, graph);
    Shapes shapes;
    ASSERT_THAT(InferShapes(graph, {result.id}, shapes), IsOk());
    EXPECT_EQ(ToString(shapes.at(result.id)), example.shape);
    EXPECT_EQ(ToString(Project(graph, shapes, result.id)), example.projections);
  }
}

std::string ProjectText(Tensor tensor) {
  Shapes shapes;
  absl::Status status = InferShapes(*tensor.graph, {tensor.id}, shapes);
  if (!status.ok()) return std::string(status.message());
  return ToString(Project(*tensor.graph, shapes, tensor.id));
}

TEST(Project, TakesOnePartAtATime) {
  Graph graph;
  Tensor x = Zeros(graph, "x", "2,3"), y = Zeros(graph, "y", "4,3");
  Tensor both = Concat("a, u; b, u => a^b, u", {x, y});
  Shapes shapes;
  ASSERT_THAT(InferShapes(graph, {both.id}, shapes), IsOk());
  auto pieces = ProjectPieces(graph, shapes, both.id);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(ToString(pieces[0].projections), "2,3 : 0 1 <- 0 1");
  EXPECT_EQ(pieces[1].operands, std::vector<int>{1});
  EXPECT_EQ(pieces[1].projections.lhs,
            (Indices{Affine(Iterator({0})) + 2, Iterator({1})}));
}

TEST(Project, PutsReducedAxesOfAProductLast) {
  Graph graph;
  Tensor w = Zeros(graph, "w", "4,3->5");
  EXPECT_EQ(ProjectText(w * Zeros(graph, "x", "2|7->4,3")),
            "2,5,7,4,3 : 0 1 2 <- 1 3 4 <- 0 3 4 2");
}

TEST(Project, ReadsWhatIsBroadcastAtZero) {
  Graph graph;
  Tensor a = Zeros(graph, "a", "2|3");
  Tensor sum = Einsum1("b|i => b|0", a);
  EXPECT_EQ(ProjectText(a - sum), "2,3 : 0 1 <- 0 1 <- 0 =0");
  EXPECT_EQ(ProjectText(a + 1), "2,3 : 0 1 <- 0 1 <- ");
}

TEST(Project, PairsAxesFromTheRight) {
  Graph graph;
  EXPECT_EQ(ProjectText(Zeros(graph, "a", "4") + Zeros(graph, "b", "2,3,4")),
            "2,3,4 : 0 1 2 <- 2 <- 0 1 2");
}

TEST(Project, SlicesAtAStaticIndex) {
  Graph graph;
  int32_t n = graph.AddStatic("n", 5);
  EXPECT_EQ(ProjectText(Slice(Zeros(graph, "a", "5,2|3->4"), n)),
            "2,4,3 : 0 1 2 <- s0 0 1 2");
}

TEST(Project, HasNoLoopsForAScalar) {
  Graph graph;
  EXPECT_EQ(ProjectText(Zeros(graph, "a", "1") + Zeros(graph, "b", "1")),
            " : =0 <- =0 <- =0");
}

}  // namespace
}  // namespace ocannl
