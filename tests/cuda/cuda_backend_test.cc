// SPDX-License-Identifier: Apache-2.0
//
// The CUDA tier on an emulated driver: graphs, static indices, several devices,
// code that is found again; and each call of the driver fails once.
#include "ocannl/cuda/cuda_backend.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/tiering/checking_backend.h"
#include "ocannl/emulation/emulated_cuda.h"
#include "ocannl/emulation/emulated_driver.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// Two maps that may run at once, a sum that needs both, and a loop of one
// thread; temps that share memory; a static index.
constexpr char kSteps[] = R"(
steps (n : [0..2]):
  in x : f32[3, 70];
  inout y : f32[70];
  out sum : f32[1];
  temp a : f32[70];
  temp b : f32[70];
  temp c : f32[70];
  for i0 = 0 to 69 { a[i0] := x[n, i0] * 3; }
  for i1 = 0 to 69 { b[i1] := exp(x[n, i1]); }
  for i2 = 0 to 69 { y[i2] := y[i2] + a[i2] * b[69 - i2]; }
  for i3 = 0 to 69 { c[i3] := y[i3] / 7; }
  sum[0] := 0;
  for i4 = 0 to 69 { sum[0] := sum[0] + c[i4]; }
)";

// A thread reads what another one wrote in the step before.
constexpr char kTurns[] = R"(
turns (n : [0..2]):
  in x : f32[3, 70];
  inout y : f32[70];
  temp t : f32[70];
  for i0 = 0 to 69 { t[i0] := y[69 - i0] + x[n, i0]; }
  for i1 = 0 to 69 { y[i1] := t[i1] * 0.5; }
)";

NdArray Points() {
  NdArray points(DType::kF32, {3, 70});
  for (int k = 0; k < 210; ++k)
    points.values<float>()[k] = 0.01f * (k % 37) - 1;
  return points;
}

// What six runs leave, or the first error.
absl::StatusOr<std::vector<float>> Results(const Backend& backend,
                                           bool traces = false,
                                           const char* program = kSteps) {
  const Device device("gpu", &backend);
  Stream stream(&device, {.traces = traces});
  const Context context(&stream);
  OCANNL_RETURN_IF_ERROR(context.Write("x", Points()));
  OCANNL_RETURN_IF_ERROR(context.Write("y", NdArray(DType::kF32, {70})));
  OCANNL_ASSIGN_OR_RETURN(Routine steps,
                          context.CompileAndLink(MustParse(program)));
  std::vector<float> results;
  for (int64_t run = 0; run < (traces ? 60 : 6); ++run) {
    OCANNL_RETURN_IF_ERROR(steps.Set("n", run % 3));
    OCANNL_RETURN_IF_ERROR(steps.Run());
    if (traces) continue;  // which a read ends
    OCANNL_ASSIGN_OR_RETURN(NdArray sum, steps.context().Read("sum"));
    results.push_back(sum.values<float>()[0]);
  }
  OCANNL_ASSIGN_OR_RETURN(NdArray y, steps.context().Read("y"));
  for (float value : y.values<float>()) results.push_back(value);
  return results;
}

std::vector<float> Expected() { return *Results(interp::InterpBackend()); }

// What a stream has copied from another one, or the first error.
absl::StatusOr<std::vector<float>> CopiedResults(const Backend& backend) {
  const Device device("gpu", &backend);
  Stream from(&device), to(&device);
  const Context source(&from), target(&to);
  OCANNL_RETURN_IF_ERROR(source.Write("y", NdArray(DType::kF32, {70})));
  OCANNL_ASSIGN_OR_RETURN(Routine more, source.CompileAndLink(MustParse(R"(
      more ():
        inout y : f32[70];
        for i0 = 0 to 69 { y[i0] := y[i0] + 0.5; }
    )")));
  OCANNL_RETURN_IF_ERROR(more.Run());
  OCANNL_RETURN_IF_ERROR(target.Copy("y", source));
  OCANNL_RETURN_IF_ERROR(more.context().Write("y", NdArray(DType::kF32, {70})));
  OCANNL_ASSIGN_OR_RETURN(const NdArray y, target.Read("y"));
  return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
}

TEST(CudaBackendTest, RunsAgainAsAGraph) {
  auto backend = emulation::OpenEmulatedCuda({});
  ASSERT_THAT(backend, IsOk());
  auto results = Results(**backend);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(*results, Expected());
  EXPECT_EQ((*backend)->name(), "cuda:0");
  EXPECT_THAT((*backend)->Report(), HasSubstr("cuda:0 is emulated (sm_90)"));
  EXPECT_THAT((*backend)->Report(), HasSubstr(" 1 graphs"));
}

// A team that compiles kernels may be refused.
TEST(CudaBackendTest, CompilesWhileAnotherThreadIsAtWork) {
  Team::SideBySide::Count(1);
  auto backend = emulation::OpenEmulatedCuda({});
  ASSERT_THAT(backend, IsOk());
  const auto results = Results(**backend);
  Team::SideBySide::Count(-1);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(*results, Expected());
}

// Runs that were put off are one loop of launches, in which the device counts
// its static index.
TEST(CudaBackendTest, RepeatsATrace) {
  auto backend = emulation::OpenEmulatedCuda({.target = &gpu::kTinyGpu});
  ASSERT_THAT(backend, IsOk());
  auto results = Results(**backend, /*traces=*/true);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(*results, *Results(interp::InterpBackend(), /*traces=*/true));
}

// Or, when there were enough of them, one block that counts its steps.
TEST(CudaBackendTest, RepeatsInAPersistentKernel) {
  for (const gpu::GpuTarget* target :
       {&gpu::kMiddleGpu, static_cast<const gpu::GpuTarget*>(nullptr)}) {
    auto backend = emulation::OpenEmulatedCuda(
        {.target = target, .runs_before_persistent = 2});
    ASSERT_THAT(backend, IsOk());
    for (const char* program : {kSteps, kTurns}) {
      auto results = Results(**backend, /*traces=*/true, program);
      ASSERT_THAT(results, IsOk());
      EXPECT_EQ(*results,
                *Results(interp::InterpBackend(), /*traces=*/true, program));
    }
    EXPECT_THAT((*backend)->Report(), HasSubstr(" 2 persistent kernels"));
  }
}

// In several launches, each of which goes on where the one before ended.
TEST(CudaBackendTest, RepeatsInLaunches) {
  auto backend = emulation::OpenEmulatedCuda(
      {.runs_before_persistent = 2, .runs_of_launch = 2 * 140});
  ASSERT_THAT(backend, IsOk());
  auto results = Results(**backend, /*traces=*/true, kTurns);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(*results,
            *Results(interp::InterpBackend(), /*traces=*/true, kTurns));
}

// What is no single kernel goes on as several.
TEST(CudaBackendTest, NoPersistentKernelWhereNoneCanBe) {
  auto backend = emulation::OpenEmulatedCuda({.runs_before_persistent = 0});
  ASSERT_THAT(backend, IsOk());
  // More arguments than a kernel can have, of kernels that have ten each.
  std::string arrays;
  std::string body;
  for (int k = 0; k < 60; ++k) {
    const int cells = 70 + k % 2;  // so that neighbours are not fused
    std::string sum = "0";
    for (int j = 0; j < 9; ++j) {
      absl::StrAppend(&arrays, "  in x", k, "_", j, " : f32[", cells, "];\n");
      absl::StrAppend(&sum, " + x", k, "_", j, "[i", k, "]");
    }
    absl::StrAppend(&arrays, "  out y", k, " : f32[", cells, "];\n");
    absl::StrAppend(&body, "  for i", k, " = 0 to ", cells - 1, " { y", k, "[i",
                    k, "] := ", sum, "; }\n");
  }
  for (const std::string& text :
       {std::string("nothing ():\n  in x : f32[2];\n"),
        absl::StrCat("many ():\n", arrays, body)}) {
    const LoopProgram program = MustParse(text);
    auto executable = (*backend)->Compile(program);
    ASSERT_THAT(executable, IsOk());
    std::vector<std::byte*> buffers;
    std::vector<DeviceMemory> memory;
    for (const Buffer& buffer : program.buffers) {
      auto bytes = DeviceMemory::Allocate(
          NumElements(buffer.dims) * SizeOf(buffer.dtype),
          (*backend)->memory());
      ASSERT_THAT(bytes, IsOk());
      memory.push_back(*std::move(bytes));
      buffers.push_back(memory.back().address());
    }
    (*executable)->Repeat(buffers, {}, {}, 3);
    EXPECT_THAT((*backend)->RunStatus(), IsOk());
    EXPECT_THAT((*backend)->Report(), HasSubstr(" 0 persistent kernels"));
  }
}

// That the test above sees when it does not wait for the last step.
TEST(CudaBackendTest, APersistentKernelWithoutABarrierIsSeen) {
  auto backend = emulation::OpenEmulatedCuda(
      {.runs_before_persistent = 2}, [](const std::string& text) {
        return absl::StrReplaceAll(
            text, {{"    __syncthreads();\n  }\n}", "  }\n}"}});
      });
  ASSERT_THAT(backend, IsOk());
  auto results = Results(**backend, /*traces=*/true, kTurns);
  ASSERT_THAT(results, IsOk());
  EXPECT_NE(*results,
            *Results(interp::InterpBackend(), /*traces=*/true, kTurns));
}

TEST(CudaBackendTest, IsChecked) {
  const interp::InterpBackend interp;
  auto backend = emulation::OpenEmulatedCuda({});
  ASSERT_THAT(backend, IsOk());
  auto results = Results(CheckingBackend(&interp, backend->get()));
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(*results, Expected());
}

// More functions than a module has, each of two kernels.
TEST(CudaBackendTest, RunsFunctionsOfSeveralModules) {
  std::string text = "scales ():\n  in x : f32[3, 70];\n";
  std::string body;
  for (int k = 0; k < 40; ++k) {
    absl::StrAppend(&text, "  out y", k, " : f32[70];\n");
    const std::string i = absl::StrCat("i", k);
    absl::StrAppend(&body, "  for ", i, " = 0 to 69 { y", k, "[", i,
                    "] := x[0, ", i, "] * ", k / 2 + 1, "; }\n  zero_out z", k,
                    ";\n");
    absl::StrAppend(&text, "  out z", k, " : f32[", k + 1, "];\n");
  }
  const LoopProgram program = MustParse(text + body);
  auto backend = emulation::OpenEmulatedCuda({.target = &gpu::kTinyGpu});
  ASSERT_THAT(backend, IsOk());
  EXPECT_EQ(
      fuzz::Trial(program, fuzz::FillKind::kUnit, /*seed=*/1).Try(**backend),
      "");
}

// Each call of the driver fails once. The error is the driver's; nothing is
// left behind, and the next run is right.
TEST(CudaBackendTest, AnyCallOfTheDriverMayFail) {
  auto run = [](bool checks) -> absl::StatusOr<std::vector<float>> {
    OCANNL_ASSIGN_OR_RETURN(
        auto backend, emulation::OpenEmulatedCuda({.target = &gpu::kTinyGpu}));
    const interp::InterpBackend interp;
    if (checks) return Results(CheckingBackend(&interp, backend.get()));
    OCANNL_ASSIGN_OR_RETURN(
        auto persistent,
        emulation::OpenEmulatedCuda(
            {.target = &gpu::kMiddleGpu, .runs_before_persistent = 2}));
    OCANNL_ASSIGN_OR_RETURN(std::vector<float> results, Results(*backend));
    OCANNL_ASSIGN_OR_RETURN(const std::vector<float> repeated,
                            Results(*persistent, /*traces=*/true));
    results.insert(results.end(), repeated.begin(), repeated.end());
    OCANNL_ASSIGN_OR_RETURN(const std::vector<float> copied,
                            CopiedResults(*backend));
    results.insert(results.end(), copied.begin(), copied.end());
    return results;
  };
  for (bool checks : {false, true}) {
    const absl::StatusOr<std::vector<float>> unhurt = run(checks);
    ASSERT_THAT(unhurt, IsOk());
    const std::vector<float>& expected = *unhurt;
    const int objects = emulation::NumDriverObjects();  // of other tests
    emulation::FailCall(0);
    ASSERT_THAT(run(checks), IsOk());
    const int calls = emulation::FailCall(0);
    ASSERT_GT(calls, 100);
    int failed = 0;
    for (int n = 1; n <= calls; ++n) {
      emulation::FailCall(n);
      auto results = run(checks);
      if (results.ok()) {
        // It was what a destructor calls on its way.
        EXPECT_EQ(*results, expected);
      } else {
        ++failed;
        EXPECT_THAT(results.status().message(), HasSubstr("CUDA, ")) << n;
        EXPECT_THAT(results.status().message(), HasSubstr("emulated")) << n;
      }
      EXPECT_EQ(emulation::NumDriverObjects(), objects) << n;
    }
    EXPECT_GT(failed, calls / 2);
    emulation::FailCall(0);
    auto results = run(checks);
    ASSERT_THAT(results, IsOk());
    EXPECT_EQ(*results, expected);
  }
}

TEST(CudaBackendTest, TwoGpusAndTheHost) {
  const interp::InterpBackend interp;
  auto first = emulation::OpenEmulatedCuda({.device = 0});
  auto second = emulation::OpenEmulatedCuda({.device = 1});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ((*second)->name(), "cuda:1");
  const std::vector<const Backend*> backends = {first->get(), &interp,
                                                second->get(), first->get()};
  // Through all of them and back.
  NdArray expected = Points();
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Context> contexts;
  for (const Backend* backend : backends) {
    devices.push_back(std::make_unique<Device>("device", backend));
    streams.push_back(std::make_unique<Stream>(devices.back().get()));
    Context context(streams.back().get());
    if (contexts.empty()) {
      ASSERT_THAT(context.Write("x", expected), IsOk());
    } else {
      ASSERT_THAT(context.Copy("x", contexts.back()), IsOk());
    }
    auto more = context.CompileAndLink(MustParse(R"(
      more ():
        inout x : f32[3, 70];
        for i0 = 0 to 2 { for i1 = 0 to 69 { x[i0, i1] := x[i0, i1] + 1; } }
    )"));
    ASSERT_THAT(more, IsOk());
    ASSERT_THAT(more->Run(), IsOk());
    for (float& value : expected.values<float>()) value += 1;
    contexts.push_back(more->context());
  }
  auto x = contexts.back().Read("x");
  ASSERT_THAT(x, IsOk());
  EXPECT_TRUE(x->values<float>() == expected.values<float>());
}

TEST(CudaBackendTest, FindsCodeOfTheCache) {
  const std::string directory = testing::TempDir() + "/cuda_cache";
  std::filesystem::remove_all(directory);
  int compiled = 0;
  for (int run = 0; run < 2; ++run) {
    auto cache = CodeCache::Open(directory);
    ASSERT_THAT(cache, IsOk());
    auto backend = emulation::OpenEmulatedCuda({.cache = *std::move(cache)},
                                               [&](const std::string& text) {
                                                 ++compiled;
                                                 return text;
                                               });
    ASSERT_THAT(backend, IsOk());
    auto results = Results(**backend);
    ASSERT_THAT(results, IsOk());
    EXPECT_EQ(*results, Expected());
  }
  EXPECT_EQ(compiled, 1);
}

TEST(CudaBackendTest, SaysWhatCannotBe) {
  auto none = emulation::OpenEmulatedCuda({.device = 2});
  EXPECT_THAT(none.status().message(),
              HasSubstr("no GPU of number 2; the driver knows 2 GPUs"));
  auto backend = emulation::OpenEmulatedCuda({});
  ASSERT_THAT(backend, IsOk());
  std::string text = "many ():\n  inout y : f32[1];\n";
  for (int k = 0; k < 600; ++k) {
    absl::StrAppend(&text, "  in x", k, " : f32[1];\n");
  }
  for (int k = 0; k < 600; ++k) {
    absl::StrAppend(&text, "  y[0] := y[0] + x", k, "[0];\n");
  }
  EXPECT_THAT(
      (*backend)->Compile(MustParse(text)).status().message(),
      HasSubstr("kernel many_0 has 601 arguments, and a GPU takes 512"));
  auto as_is = emulation::OpenEmulatedCuda({.schedules = false});
  ASSERT_THAT(as_is, IsOk());
  const LoopProgram far = MustParse(R"(
      far ():
        out y : f32[4294967296];
        grid i0 = 0 to 4294967295 {
          thread i1 = 0 to 0 { y[i0 + i1] := 0; }
        })");
  EXPECT_THAT((*as_is)->Compile(far).status().message(),
              HasSubstr("has 4294967296 blocks, and a GPU takes 2147483647"));
}

}  // namespace
}  // namespace ocannl
