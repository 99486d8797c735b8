// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a nest whose schedule Verify refuses: it alone keeps its
// loops, the bits are the same, and reports name it.
#include <functional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/interp/interp_backend.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using jit::Isa;

// A map, a product with an epilogue, rows that are reduced, a map.
constexpr char kProgram[] = R"(p ():
  in x : f32[64, 48];
  in w : f32[48, 80];
  temp a : f32[64, 48];
  temp b : f32[64, 80];
  temp c : f32[64, 80];
  temp d : f32[64];
  private lanes : f32[16];
  out y : f32[80, 64];
  for i0 = 0 to 63 {
    for i1 = 0 to 47 {
      a[i0, i1] := x[i0, i1] * 2;
    }
  }
  zero_out b;
  for i2 = 0 to 63 {
    for i3 = 0 to 79 {
      for i4 = 0 to 47 {
        b[i2, i3] := fma(a[i2, i4], w[i4, i3], b[i2, i3]);
      }
    }
  }
  for i5 = 0 to 63 {
    for i6 = 0 to 79 {
      c[i5, i6] := relu(b[i5, i6]);
    }
  }
  for i7 = 0 to 63 {
    vec i8 = 0 to 15 {
      lanes[i8] := c[i7, i8];
    }
    for i9 = 0 to 3 {
      vec i10 = 0 to 15 {
        lanes[i10] := lanes[i10] + c[i7, 16*i9 + i10 + 16];
      }
    }
    d[i7] := lanes[0] + lanes[15];
  }
  for i11 = 0 to 79 {
    for i12 = 0 to 63 {
      y[i11, i12] := c[i12, i11] - d[i12];
    }
  }
)";

struct Case {
  absl::string_view pass;
  // The fault is in what writes this buffer; empty: in all of the program.
  absl::string_view buffer;
  bool is_error;  // of a rewrite, in the place of what Verify refuses
};

bool Writes(const LoopProgram& program, const Stmt& stmt,
            absl::string_view name) {
  bool writes = false;
  WalkStmts({{stmt}}, [&](const Stmt& inner) {
    const BufferId id = WrittenBy(program, inner);
    writes |= id.valid() && program.buffers[id].name == name;
  });
  return writes;
}

// One iteration less of the last nest that writes the buffer, after that pass.
absl::Status Break(const Case& given, absl::string_view pass,
                   LoopProgram& program) {
  if (pass != given.pass) return absl::OkStatus();
  std::vector<Stmt>& stmts = program.body.stmts;
  for (size_t k = stmts.size(); k-- > 0;) {
    if (!Writes(program, stmts[k], given.buffer)) continue;
    // Nests are fused until one of them is refused.
    if (pass == "fuse" && !Writes(program, stmts[k], "b")) continue;
    if (given.is_error) return absl::InternalError("a fault of a test");
    For* loop = std::get_if<For>(&stmts[k]);
    while (loop != nullptr && loop->extent == 1) {
      loop = std::get_if<For>(&loop->body.stmts.back());
    }
    if (loop != nullptr) --loop->extent;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

bool IsScheduled(const Stmt& stmt) {
  bool is_scheduled = false;
  WalkStmts({{stmt}}, [&](const Stmt& inner) {
    const For* loop = std::get_if<For>(&inner);
    is_scheduled |= loop != nullptr && loop->kind != LoopKind::kFor;
  });
  return is_scheduled;
}

// Of a program's nests; of kProgram the lanes of rows.
int CountScheduled(const LoopProgram& program) {
  return static_cast<int>(absl::c_count_if(program.body.stmts, IsScheduled));
}

class RefusalsTest : public testing::TestWithParam<Case> {};

TEST_P(RefusalsTest, OneNestKeepsItsLoops) {
  const LoopProgram program = MustParse(kProgram);
  for (Isa isa : jit::kIsas) {
    std::vector<Refusal> refused;
    rewrite::Script script;
    const LoopProgram whole =
        Schedule(program, TargetOf(isa), {.refused = &refused});
    EXPECT_TRUE(refused.empty());
    const LoopProgram scheduled =
        Schedule(program, TargetOf(isa),
                 {.script = &script,
                  .refused = &refused,
                  .fault = [&](absl::string_view pass, LoopProgram& made) {
                    return Break(GetParam(), pass, made);
                  }});
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_EQ(refused[0].pass, GetParam().pass);
    const std::vector<std::string> nest =
        absl::StrSplit(refused[0].nest, ", ", absl::SkipEmpty());
    EXPECT_EQ(absl::c_linear_search(nest, GetParam().buffer),
              GetParam().pass == "rewrite")
        << Text(refused[0]);
    if (GetParam().pass == "fuse") {  // the nest that reads the buffer
      EXPECT_TRUE(absl::StrContains(refused[0].reason,
                                    absl::StrCat("`", GetParam().buffer, "[")))
          << Text(refused[0]);
    }
    EXPECT_THAT(Verify(scheduled), IsOk());
    if (GetParam().pass == "rewrite") {
      // All but that one.
      EXPECT_EQ(CountScheduled(scheduled), CountScheduled(whole) - 1)
          << Print(scheduled);
    } else {
      EXPECT_GE(CountScheduled(scheduled), CountScheduled(whole))
          << Print(scheduled);
    }
  }
}

TEST_P(RefusalsTest, TheTierTellsAndKeepsTheBits) {
  const LoopProgram program = MustParse(kProgram);
  for (Isa isa : jit::kIsas) {
    if (!jit::IsSupported(isa)) continue;
    const jit::X86Backend backend(
        isa, {.fault = [](absl::string_view pass, LoopProgram& made) {
          return Break(GetParam(), pass, made);
        }});
    EXPECT_EQ(fuzz::Trial(program, fuzz::FillKind::kZoo, 1).Try(backend), "");
    EXPECT_TRUE(absl::StrContains(
        backend.Report(),
        absl::StrCat(" keeps the loops from before ", GetParam().pass)))
        << backend.Report();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, RefusalsTest,
    testing::Values(Case{"rewrite", "a", false}, Case{"rewrite", "y", false},
                    Case{"rewrite", "a", true}, Case{"rewrite", "y", true},
                    Case{"fuse", "c", false}, Case{"collapse", "y", false},
                    Case{"drop_dead_stores", "y", false}));

TEST(RefusalsTest, NestsThatCannotBeCompiledAreInterpreted) {
  const LoopProgram program = MustParse(kProgram);
  const interp::InterpBackend interpreter;
  for (Isa isa : jit::kIsas) {
    if (!jit::IsSupported(isa)) continue;
    int compiled = 0;
    const jit::X86Backend backend(
        isa,
        {.interpreter = &interpreter,
         .fault = [&](absl::string_view pass, LoopProgram& made) {
           absl::Status status = Break({"assemble", "c", true}, pass, made);
           compiled += pass == "assemble" && status.ok();
           return status;
         }});
    EXPECT_EQ(fuzz::Trial(program, fuzz::FillKind::kZoo, 1).Try(backend), "");
    EXPECT_EQ(backend.Report(),
              "p: nest of c is interpreted: a fault of a test\n");
    EXPECT_GE(compiled, 2);
  }
}

// p and q are not live at the same time, so that a context gives them the same
// memory, but the part of the last three nests fuses the first two of them: it
// reads p from the end while it writes q, which has cells twice as large.
TEST(RefusalsTest, TempsOfPartsDoNotShareMemory) {
  const LoopProgram program = MustParse(R"(p ():
  in x : f32[64];
  temp p : f32[64];
  out y : f32[64];
  temp q : f64[64];
  out z : f64[64];
  out w : f32[64];
  for i4 = 0 to 63 { w[i4] := x[63 - i4]; }
  for i0 = 0 to 63 { p[i0] := x[i0] * 2; }
  for i1 = 0 to 63 { y[i1] := p[63 - i1] + 1; }
  for i2 = 0 to 63 { q[i2] := f64(y[i2]) * 3:f64; }
  for i3 = 0 to 63 { z[i3] := q[63 - i3]; }
)");
  const interp::InterpBackend interpreter;
  for (Isa isa : jit::kIsas) {
    if (!jit::IsSupported(isa)) continue;
    const jit::X86Backend backend(
        isa, {.interpreter = &interpreter,
              .fault = [](absl::string_view pass, LoopProgram& made) {
                return Break({"assemble", "w", true}, pass, made);
              }});
    const TestDevice host(&backend);
    NdArray x(DType::kF32, {64});
    for (int k = 0; k < 64; ++k) x.values<float>()[k] = static_cast<float>(k);
    ASSERT_THAT(host.context.Write("x", x), IsOk());
    auto routine = host.context.CompileAndLink(program);
    ASSERT_THAT(routine, IsOk());
    EXPECT_EQ(backend.Report(),
              "p: nest of w is interpreted: a fault of a test\n");
    ASSERT_THAT(routine->Run(), IsOk());
    const auto z = routine->context().Read("z");
    ASSERT_THAT(z, IsOk());
    for (int k = 0; k < 64; ++k) {
      EXPECT_EQ(z->values<double>()[k], 3 * (2 * k + 1)) << k;
    }
  }
}

TEST(RefusalsTest, SeveralNestsKeepTheirLoops) {
  const LoopProgram program = MustParse(kProgram);
  std::vector<Refusal> refused;
  const LoopProgram scheduled = Schedule(
      program, TargetOf(Isa::kAvx2),
      {.refused = &refused,
       .fault = [&](absl::string_view pass, LoopProgram&) -> absl::Status {
         if (pass != "rewrite") return absl::OkStatus();
         return absl::InternalError("a fault of a test");
       }});
  EXPECT_EQ(CountScheduled(scheduled), CountScheduled(program));
  EXPECT_GE(refused.size(), 3u);
}

TEST(RefusalsDeathTest, WhoCollectsNoneSeesThem) {
  const LoopProgram program = MustParse(kProgram);
  auto fault = [](absl::string_view pass, LoopProgram&) -> absl::Status {
    if (pass != "rewrite") return absl::OkStatus();
    return absl::InternalError("a fault of a test");
  };
  EXPECT_DEATH(Schedule(program, TargetOf(Isa::kAvx2), {.fault = fault}),
               "nest of a keeps the loops from before rewrite: a fault");
}

// The nest that is planned for a GPU and writes the buffer; null: none.
For* KernelOf(LoopProgram& program, absl::string_view buffer) {
  for (Stmt& stmt : program.body.stmts) {
    For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->kind == LoopKind::kGrid &&
        Writes(program, stmt, buffer)) {
      return loop;
    }
  }
  return nullptr;
}

// What is wrong with the plan of a nest: an error of a rewrite, or, as Verify
// says, cells that no block writes.
TEST(RefusalsTest, OneKernelOfAGpuKeepsItsLoops) {
  const LoopProgram program = MustParse(kProgram);
  struct Fault {
    std::function<absl::Status(For& kernel)> inject;
    std::string reason;
  };
  const Fault faults[] = {
      {[](For&) { return absl::InternalError("a fault of a test"); },
       "a fault of a test"},
      {[](For& kernel) {
         --kernel.extent;
         return absl::OkStatus();
       },
       "is read before it is written"}};
  for (const Fault& fault : faults) {
    std::vector<Refusal> refused;
    int tries = 0;
    const LoopProgram scheduled =
        gpu::ScheduleGpu(program, gpu::kSm90,
                         {.refused = &refused, .fault = [&](LoopProgram& made) {
                            For* kernel = KernelOf(made, "a");
                            if (kernel == nullptr) return absl::OkStatus();
                            ++tries;
                            return fault.inject(*kernel);
                          }});
    // Of all nests; of this one, also without cuts, and without fusion.
    EXPECT_EQ(tries, 4);
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_TRUE(absl::StartsWith(
        Text(refused[0]),
        "nest of a keeps the loops from before the plan for a GPU: "))
        << Text(refused[0]);
    EXPECT_TRUE(absl::StrContains(refused[0].reason, fault.reason))
        << Text(refused[0]);
    for (const Stmt& stmt : scheduled.body.stmts) {
      EXPECT_EQ(std::get<For>(stmt).kind, Writes(scheduled, stmt, "a")
                                              ? LoopKind::kFor
                                              : LoopKind::kGrid);
    }
    EXPECT_THAT(Verify(scheduled), IsOk());
    EXPECT_THAT(gpu::VerifyKernels(scheduled), IsOk());
  }
}

// A second plan, without cuts, is taken where it is accepted.
TEST(RefusalsTest, ASecondPlanForAGpuIsTaken) {
  const LoopProgram program = MustParse(kProgram);
  std::vector<Refusal> refused;
  int tries = 0;
  const gpu::GpuOptions options = {.refused = &refused,
                                   .fault = [&](LoopProgram& made) {
                                     For* kernel = KernelOf(made, "a");
                                     if (kernel != nullptr && ++tries <= 2)
                                       --kernel->extent;
                                     return absl::OkStatus();
                                   }};
  const LoopProgram scheduled = gpu::ScheduleGpu(program, gpu::kSm90, options);
  EXPECT_TRUE(refused.empty());
  EXPECT_GE(tries, 3);
  for (const Stmt& stmt : scheduled.body.stmts) {
    EXPECT_EQ(std::get<For>(stmt).kind, LoopKind::kGrid);
  }
}

}  // namespace
}  // namespace ocannl
