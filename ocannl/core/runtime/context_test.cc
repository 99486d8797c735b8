// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/context.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

// A tier that adds 1 to the first float of the last buffer for each run.
class CountingBackend : public Backend {
 public:
  class CountingExecutable : public Executable {
   public:
    void Run(absl::Span<std::byte* const> buffers,
             absl::Span<const int64_t> statics) const override {
      auto* cell = reinterpret_cast<float*>(buffers.back());
      *cell += statics.empty() ? 1 : static_cast<float>(statics[0]);
    }
  };

  absl::string_view name() const override { return "counting"; }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    if (program.name == "refused") return absl::UnimplementedError("refused");
    return std::make_unique<CountingExecutable>();
  }
};

class ContextTest : public testing::Test {
 protected:
  Routine Link(const Context& context, absl::string_view text) {
    absl::StatusOr<Routine> routine = TryLink(context, text);
    CHECK_OK(routine);
    return *std::move(routine);
  }

  absl::StatusOr<Routine> TryLink(const Context& context,
                                  absl::string_view text) {
    return context.CompileAndLink(MustParse(text));
  }

  CountingBackend backend_;
  Device device_{"host", &backend_};
  Stream stream_{&device_};
  Context context_{&stream_};
};

constexpr absl::string_view kInit = "init (): out w : f32[2]; w[0] := 0.0;";
constexpr absl::string_view kGrad =
    "grad (): in w : f32[2]; out g : f32[2]; g[0] := w[0];";
constexpr absl::string_view kUpdate =
    "update (): in g : f32[2]; inout w : f32[2]; w[0] := g[0];";

TEST_F(ContextTest, WritesAndReadsArrays) {
  NdArray x = NdArray::Of<int32_t>({2}, {3, 4});
  ASSERT_THAT(context_.Write("x", x), IsOk());
  x.values<int32_t>()[0] = 9;
  ASSERT_THAT(context_.Read("x"), IsOk());
  EXPECT_THAT(context_.Read("x")->values<int32_t>(), ElementsAre(3, 4));
  EXPECT_THAT(context_.Read("y"),
              StatusIs(StatusCode::kNotFound, HasSubstr("it has: x")));
  EXPECT_THAT(
      context_.Write("x", NdArray(DType::kF32, {2})),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("`x` as f32[2], but the context has `x` as i32[2]")));
}

TEST_F(ContextTest, WritesAllArraysOrNone) {
  ASSERT_THAT(context_.Write("w", NdArray::Of<float>({2}, {1, 2})), IsOk());
  std::vector<std::pair<std::string, NdArray>> arrays = {
      {"v", NdArray::Of<float>({1}, {3})}, {"w", NdArray(DType::kF32, {1})}};
  EXPECT_THAT(context_.WriteAll(arrays),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the write needs `w` as f32[1]")));
  EXPECT_THAT(context_.ArrayNames(), ElementsAre("w"));
  EXPECT_THAT(context_.Read("w")->values<float>(), ElementsAre(1, 2));
  arrays[1].second = NdArray::Of<float>({2}, {4, 5});
  ASSERT_THAT(context_.WriteAll(arrays), IsOk());
  EXPECT_THAT(context_.Read("v")->values<float>(), ElementsAre(3));
  EXPECT_THAT(context_.Read("w")->values<float>(), ElementsAre(4, 5));
}

TEST_F(ContextTest, CopiesFromAnotherContext) {
  Context other(&stream_);
  ASSERT_THAT(other.Write("x", NdArray::Of<double>({}, {2.5})), IsOk());
  ASSERT_THAT(context_.Copy("x", other), IsOk());
  ASSERT_THAT(context_.Copy("x", context_), IsOk());
  ASSERT_THAT(other.Write("x", NdArray::Of<double>({}, {7})), IsOk());
  EXPECT_THAT(context_.Read("x")->values<double>(), ElementsAre(2.5));
  EXPECT_THAT(context_.Copy("z", other), StatusIs(StatusCode::kNotFound));
}

// Whoever looks, in whatever way, finds what all runs so far have done.
TEST_F(ContextTest, ObservationsWaitForWhatWasPutOff) {
  Stream other_stream(&device_);
  Context other(&other_stream);
  ASSERT_THAT(context_.Write("x", NdArray::Of<float>({}, {0})), IsOk());
  Routine step = Link(context_, "step (): inout x : f32[]; x[] := x[] + 1;");
  auto run = [&](int times) {
    for (int k = 0; k < times; ++k) ASSERT_THAT(step.Run(), IsOk());
  };
  run(1000);
  EXPECT_THAT(context_.Read("x")->values<float>(), ElementsAre(1000));
  run(1000);
  ASSERT_THAT(other.Copy("x", context_), IsOk());
  EXPECT_THAT(other.Read("x")->values<float>(), ElementsAre(2000));
  run(1000);
  ASSERT_THAT(context_.Copy("x", other), IsOk());
  EXPECT_THAT(context_.Read("x")->values<float>(), ElementsAre(2000));
  run(1000);
  ASSERT_THAT(context_.Write("x", NdArray::Of<float>({}, {7})), IsOk());
  EXPECT_THAT(context_.Read("x")->values<float>(), ElementsAre(7));
  run(1000);
  EXPECT_THAT(context_.Read("x")->values<float>(), ElementsAre(1007));
}

TEST_F(ContextTest, RoutinesShareArraysByName) {
  Routine init = Link(context_, kInit);
  Routine again = Link(context_, kInit);
  EXPECT_THAT(context_.Read("w"), StatusIs(StatusCode::kFailedPrecondition,
                                           HasSubstr("`w` was never written")));
  ASSERT_THAT(init.Run(), IsOk());
  ASSERT_THAT(again.Run(), IsOk());
  EXPECT_THAT(context_.Read("w")->values<float>(), ElementsAre(2, 0));
  EXPECT_EQ(init.runs(), 1);
}

TEST_F(ContextTest, AnArrayKeepsItsTypeAndDims) {
  Routine init = Link(context_, kInit);
  EXPECT_THAT(TryLink(context_, "other (): out a : f32[1]; out w : f32[3];"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("routine `other` needs `w` as f32[3], but the "
                                 "context has `w` as f32[2]")));
  EXPECT_THAT(context_.ArrayNames(), ElementsAre("w"));
}

TEST_F(ContextTest, InputsMustHaveBeenWritten) {
  Routine grad = Link(context_, kGrad);
  EXPECT_THAT(grad.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("routine `grad` reads `w`, which was never "
                                 "written; call Write(\"w\", values)")));
  ASSERT_THAT(context_.Write("w", NdArray(DType::kF32, {2})), IsOk());
  EXPECT_THAT(grad.Run(), IsOk());
}

TEST_F(ContextTest, ALineageRunsInOrderAtFirst) {
  Routine init = Link(context_, kInit);
  Routine grad = Link(init.context(), kGrad);
  Routine update = Link(grad.context(), kUpdate);
  EXPECT_THAT(grad.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("routine `grad` reads `w`, which `init`, "
                                 "linked before it, writes, but `init` has "
                                 "never run; run `init` first")));
  EXPECT_THAT(update.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("reads `g`, which `grad`")));
  ASSERT_THAT(init.Run(), IsOk());
  ASSERT_THAT(grad.Run(), IsOk());
  ASSERT_THAT(update.Run(), IsOk());
  EXPECT_THAT(update.Run(), IsOk());  // once is enough
  EXPECT_THAT(init.Run(), IsOk());
}

TEST_F(ContextTest, WritesWaitForEarlierReadsAndWrites) {
  ASSERT_THAT(context_.Write("w", NdArray(DType::kF32, {2})), IsOk());
  Routine grad = Link(context_, kGrad);
  Routine after_read = Link(grad.context(), kInit);
  EXPECT_THAT(after_read.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("writes `w`, which `grad`, linked before it, "
                                 "reads")));
  Routine init = Link(context_, kInit);
  Routine after_write = Link(init.context(), kInit);
  EXPECT_THAT(after_write.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("writes `w`, which `init`, linked before it, "
                                 "writes")));
}

TEST_F(ContextTest, ReadersDoNotWaitForReaders) {
  ASSERT_THAT(context_.Write("w", NdArray(DType::kF32, {2})), IsOk());
  Routine grad = Link(context_, kGrad);
  Routine norm = Link(grad.context(),
                      "norm (): in w : f32[2]; out n : f32[1];"
                      "n[0] := w[0];");
  EXPECT_THAT(norm.Run(), IsOk());
}

TEST_F(ContextTest, SiblingsAreIndependent) {
  ASSERT_THAT(context_.Write("w", NdArray(DType::kF32, {2})), IsOk());
  Routine init = Link(context_, kInit);
  Routine grad = Link(context_, kGrad);
  EXPECT_THAT(grad.Run(), IsOk());
}

TEST_F(ContextTest, DisjointRoutinesRunInAnyOrder) {
  Routine init = Link(context_, kInit);
  Routine other =
      Link(init.context(), "other (): out v : f32[2]; v[0] := 0.0;");
  EXPECT_THAT(other.Run(), IsOk());
  EXPECT_THAT(init.Run(), IsOk());
}

constexpr absl::string_view kStep =
    "step (): inout g : f32[2]; g[0] := g[0] + 1.0;";
constexpr absl::string_view kMerge =
    "merge_g (): merge g.merge : f32[2]; out y : f32[2]; y[0] := g.merge[0];";

TEST_F(ContextTest, TheMergeBufferHoldsOneArray) {
  Stream other_stream(&device_);
  Context other(&other_stream);
  for (absl::string_view name : {"g", "h"}) {
    ASSERT_THAT(other.Write(name, NdArray(DType::kF32, {2})), IsOk());
  }
  Routine merge = Link(context_, kMerge);
  EXPECT_THAT(
      merge.Run(),
      StatusIs(StatusCode::kFailedPrecondition,
               HasSubstr("routine `merge_g` reads `g`, f32[2], from the merge "
                         "buffer, which holds nothing; call "
                         "CopyToMerge(\"g\", from)")));
  ASSERT_THAT(context_.CopyToMerge("g", other), IsOk());
  EXPECT_THAT(merge.Run(), IsOk());
  ASSERT_THAT(context_.CopyToMerge("h", other), IsOk());
  EXPECT_THAT(merge.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("reads `g`, f32[2], from the merge buffer, "
                                 "which holds `h`, f32[2]")));
  ASSERT_THAT(context_.CopyToMerge("g", other), IsOk());
  EXPECT_THAT(merge.Run(), IsOk());
  EXPECT_THAT(context_.ArrayNames(), ElementsAre("y"));
}

TEST_F(ContextTest, BytesAreUsedInTheOrderOfTheStream) {
  Worker worker;
  for (Worker* with : {static_cast<Worker*>(nullptr), &worker}) {
    Stream stream(&device_, {.worker = with});
    Context context(&stream);
    auto none = [](auto) { return absl::OkStatus(); };
    EXPECT_THAT(context.Use("g", none), StatusIs(StatusCode::kNotFound));
    EXPECT_THAT(context.Fill("g", none), StatusIs(StatusCode::kNotFound));
    EXPECT_THAT(context.FillMerge("g", none), StatusIs(StatusCode::kNotFound));
    Routine step = Link(context, kStep);
    Routine merge = Link(context, kMerge);
    EXPECT_THAT(context.Use("g", none),
                StatusIs(StatusCode::kFailedPrecondition));
    const NdArray values = NdArray::Of<float>({2}, {3, 5});
    std::vector<std::byte> seen;
    auto fill = [&](absl::Span<std::byte> bytes) {
      std::copy_n(values.data(), bytes.size(), bytes.data());
      return absl::OkStatus();
    };
    ASSERT_THAT(context.Fill("g", fill), IsOk());
    ASSERT_THAT(step.Run(), IsOk());
    ASSERT_THAT(context.Use("g",
                            [&](absl::Span<const std::byte> bytes) {
                              seen.assign(bytes.begin(), bytes.end());
                              return absl::OkStatus();
                            }),
                IsOk());
    ASSERT_THAT(context.Fill("g", fill), IsOk());
    stream.Sync();
    const NdArray stepped = NdArray::Of<float>({2}, {4, 5});
    ASSERT_EQ(seen.size(), stepped.bytes());
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), stepped.data()));
    ASSERT_THAT(context.FillMerge("g", fill), IsOk());
    ASSERT_THAT(merge.Run(), IsOk());
    EXPECT_EQ(context.Read("g")->AsDouble(0), 3);
  }
}

TEST_F(ContextTest, TheMergeBufferHoldsArraysOfTheDimsThatAreRead) {
  Context other(&stream_);
  ASSERT_THAT(other.Write("g", NdArray(DType::kF32, {3})), IsOk());
  Routine merge = Link(context_, kMerge);
  ASSERT_THAT(context_.CopyToMerge("g", other), IsOk());
  EXPECT_THAT(merge.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                    HasSubstr("reads `g`, f32[2], from the "
                                              "merge buffer, which holds `g`, "
                                              "f32[3]")));
  EXPECT_THAT(context_.CopyToMerge("z", other),
              StatusIs(StatusCode::kNotFound));
}

TEST_F(ContextTest, AnArrayWithTheNameOfAMergeBufferIsAnArray) {
  const NdArray values = NdArray::Of<float>({2}, {3, 4});
  Routine merge = Link(context_, kMerge);
  ASSERT_THAT(context_.WriteMerge("g", values), IsOk());
  Routine plain = Link(
      context_,
      "plain (): in g.merge : f32[2]; out z : f32[2]; z[0] := g.merge[1];");
  EXPECT_THAT(plain.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                    HasSubstr("Write(\"g.merge\", values)")));
  ASSERT_THAT(context_.Write("g.merge", NdArray::Of<float>({2}, {5, 6})),
              IsOk());
  EXPECT_THAT(plain.Run(), IsOk());
  EXPECT_THAT(merge.Run(), IsOk());
  EXPECT_THAT(context_.Read("g.merge")->values<float>(), ElementsAre(5, 6));
}

TEST_F(ContextTest, ARoutineReadsOneMergeBuffer) {
  EXPECT_THAT(TryLink(context_,
                      "two (): merge g.merge : f32[2]; merge h.merge : f32[2]; "
                      "out y : f32[2]; y[0] := g.merge[0] + h.merge[1];"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("routine `two` reads `g.merge` and `h.merge`, "
                                 "but a stream has one merge buffer")));
  EXPECT_THAT(
      TryLink(context_,
              "odd (): merge g : f32[2]; out y : f32[2]; "
              "y[0] := g[0];"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("call it `g.merge`")));
  EXPECT_THAT(context_.ArrayNames(), ElementsAre());
}

TEST_F(ContextTest, StaticIndicesAreSetWithinTheirRange) {
  Routine add = Link(context_, "add (n : [0..9], m): out y : f32[1];");
  EXPECT_THAT(add.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                  HasSubstr("`n` of routine `add` was never "
                                            "set; call Set(\"n\", value)")));
  EXPECT_THAT(add.Set("n", 10),
              StatusIs(StatusCode::kOutOfRange,
                       HasSubstr("cannot be 10; set a value from 0 to 9")));
  EXPECT_THAT(add.Set("n", -1), StatusIs(StatusCode::kOutOfRange));
  EXPECT_THAT(add.Set("m", -1), StatusIs(StatusCode::kOutOfRange));
  EXPECT_THAT(add.Set("k", 0),
              StatusIs(StatusCode::kNotFound, HasSubstr("it has: n, m")));
  EXPECT_THAT(add.Set("m", std::numeric_limits<int64_t>::max()), IsOk());
  absl::StatusOr<StaticRef> n = add.Static("n");
  ASSERT_THAT(n, IsOk());
  EXPECT_THAT(n->Set(9), IsOk());
  EXPECT_EQ(add.statics()[0].value(), 9);
  ASSERT_THAT(add.Run(), IsOk());
  EXPECT_THAT(context_.Read("y")->values<float>(), ElementsAre(9));
}

TEST_F(ContextTest, BackendsMayRefuse) {
  EXPECT_THAT(TryLink(context_, "refused (): out y : f32[1];"),
              StatusIs(StatusCode::kUnimplemented));
}

TEST_F(ContextTest, ImpossibleSizesAreErrors) {
  EXPECT_THAT(TryLink(context_,
                      "big (): out a : f32[1];"
                      "out y : f32[1099511627776, 65536];"),
              StatusIs(StatusCode::kResourceExhausted));
  EXPECT_THAT(context_.ArrayNames(), ElementsAre());
}

}  // namespace
}  // namespace ocannl
