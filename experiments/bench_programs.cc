// SPDX-License-Identifier: Apache-2.0
//
// How long loop programs take on a tier, a line of JSON each, beside a copy in
// the same memory and, for products on a GPU, beside cuBLAS: medians of rounds
// that take turns (bench/runner.h). Programs are files, as //experiments:bench
// --dump writes.
//
//   bazel run //experiments:bench -- --filter=gemm,map --dump=/tmp/programs
//   bazel run //experiments:bench_programs -- --tier=cuda /tmp/programs/*.ll
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/peers/cublas.h"
#include "experiments/bench/runner.h"
#include "experiments/bench/workload.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/run_options.h"

namespace ocannl {
namespace {

constexpr size_t kCopiedBytes = size_t{1} << 28;

// Times what a device does: `begin` may return before it is done. Errors come
// to `status`, and the time is then of no work.
class DeviceTimer {
 public:
  // Error: no memory.
  static absl::StatusOr<DeviceTimer> Make(const Device& device) {
    DeviceTimer timer(device);
    OCANNL_ASSIGN_OR_RETURN(timer.cell_, device.Allocate(1));
    return timer;
  }

  // Seconds. `sync` waits until `begin` can have no more errors.
  double Time(int64_t runs, absl::FunctionRef<absl::Status()> begin,
              absl::FunctionRef<absl::Status()> sync) {
    return SecondsOf(1, [&] {
      for (; runs > 0 && status_.ok(); --runs) status_.Update(begin());
      status_.Update(sync());
      // Copies come after what was begun before.
      std::byte byte;
      status_.Update(device_->backend().memory().Copy(cell_.address(), 1, &byte,
                                                      CopyKind::kOut));
    });
  }

  const absl::Status& status() const { return status_; }

 private:
  explicit DeviceTimer(const Device& device) : device_(&device) {}

  const Device* device_;
  DeviceMemory cell_;
  absl::Status status_;
};

NdArray InputOf(const Buffer& buffer) {
  if (buffer.dtype != DType::kF32) return NdArray(buffer.dtype, buffer.dims);
  return FilledArray(buffer.name, buffer.dims, 1, 0);
}

// The product that //experiments:bench calls so, by cuBLAS.
class Product {
 public:
  // Errors: no product, no cuBLAS, no memory.
  static absl::StatusOr<std::unique_ptr<Product>> Make(const std::string& name,
                                                       const Device& device) {
    auto product = std::make_unique<Product>();
    if (std::sscanf(name.c_str(), "gemm_%dx%dx%d", &product->m_, &product->n_,
                    &product->k_) != 3) {
      return absl::NotFoundError("no product");
    }
    OCANNL_ASSIGN_OR_RETURN(product->cublas_, Cublas::Open());
    const auto [m, n, k] = std::array<size_t, 3>{
        static_cast<size_t>(product->m_), static_cast<size_t>(product->n_),
        static_cast<size_t>(product->k_)};
    for (size_t cells : {m * k, k * n, m * n}) {
      OCANNL_ASSIGN_OR_RETURN(product->memory_.emplace_back(),
                              device.Allocate(sizeof(float) * cells));
    }
    return product;
  }

  absl::Status Begin() const {
    return cublas_->Multiply(m_, n_, k_, memory_[0].address(),
                             memory_[1].address(), memory_[2].address());
  }
  absl::Status Synchronize() const { return cublas_->Synchronize(); }

 private:
  int m_, n_, k_;
  std::optional<Cublas> cublas_;
  std::vector<DeviceMemory> memory_;
};

nlohmann::ordered_json Row(const Measurement& measurement) {
  nlohmann::ordered_json json = {
      {"program", measurement.workload},
      {"copy_gb_per_s", 1e-9 * measurement.rate.median}};
  for (const Standing& standing : measurement.standings) {
    const double seconds = standing.seconds.median;
    if (standing.ours) {
      json["tier"] = standing.name;
      json["ms"] = 1e3 * seconds;
      json["gb_per_s"] = 1e-9 * measurement.work / seconds;
      json["of_copy"] = standing.share.median;
    } else {
      json["cublas_ms"] = 1e3 * seconds;
      json["of_cublas"] = standing.ratio.median;
    }
  }
  if (!measurement.missing.empty()) json["missing"] = measurement.missing;
  return json;
}

absl::StatusOr<nlohmann::ordered_json> MeasureFile(const std::string& file,
                                                   const Device& device) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Parse(text));
  Workload workload{.name = std::filesystem::path(file).stem().string(),
                    .probe = ProbeKind::kMemoryCopy};
  Stream stream(&device);
  Context context(&stream);
  for (const Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) continue;
    const NdArray values = InputOf(buffer);
    workload.work += static_cast<double>(values.bytes());
    OCANNL_RETURN_IF_ERROR(context.WriteInput(buffer, values));
  }
  absl::StatusOr<Routine> routine;
  const double compile_seconds = SecondsOf(
      1, [&] { routine = context.CompileAndLink(std::move(program)); });
  OCANNL_RETURN_IF_ERROR(routine.status());
  for (StaticRef index : routine->statics()) {
    OCANNL_RETURN_IF_ERROR(index.Set(0));
  }

  OCANNL_ASSIGN_OR_RETURN(DeviceMemory from, device.Allocate(kCopiedBytes));
  OCANNL_ASSIGN_OR_RETURN(DeviceMemory to, device.Allocate(kCopiedBytes));
  OCANNL_ASSIGN_OR_RETURN(DeviceTimer timer, DeviceTimer::Make(device));
  workload.contenders.push_back({.name = std::string(device.backend().name()),
                                 .ours = true,
                                 .time = [&](int64_t runs) {
                                   return timer.Time(
                                       runs, [&] { return routine->Run(); },
                                       [&] {
                                         stream.Sync();
                                         return device.backend().RunStatus();
                                       });
                                 }});
  const auto product = Product::Make(workload.name, device);
  if (product.ok()) {
    workload.contenders.push_back(
        {.name = "cublas", .time = [&](int64_t runs) {
           return timer.Time(
               runs, [&] { return (*product)->Begin(); },
               [&] { return (*product)->Synchronize(); });
         }});
  }
  const Measurement measurement =
      Measure(workload,
              [&] {
                return 2. * kCopiedBytes /
                       timer.Time(
                           1, [&] { return to.CopyFrom(from); },
                           [] { return absl::OkStatus(); });
              },
              {.moment = 0.01});
  OCANNL_RETURN_IF_ERROR(timer.status());

  nlohmann::ordered_json json = Row(measurement);
  json["compile_ms"] = 1e3 * compile_seconds;
  return json;
}

absl::Status Main(const std::vector<std::string>& args) {
  OCANNL_ASSIGN_OR_RETURN(CommandLine line,
                          CommandLine::Parse(args, FlagsOf(kTierFlags)));
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  const Device device("device", backend);
  for (const std::string& file : line.positional()) {
    absl::StatusOr<nlohmann::ordered_json> json = MeasureFile(file, device);
    if (!json.ok()) {
      json = nlohmann::ordered_json{{"program", file},
                                    {"error", json.status().message()}};
    }
    std::cout << json->dump() << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::RunMain("bench_programs", [&] {
    return ocannl::Main({argv + 1, argv + argc});
  });
}
