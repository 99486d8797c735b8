// SPDX-License-Identifier: Apache-2.0
//
// How long loop programs take on a tier, a line of JSON each, beside a copy in
// the same memory and, for products on a GPU, beside cuBLAS: medians of rounds
// that take turns. Programs are files, as //experiments:bench --dump writes.
//
//   bazel run //experiments:bench -- --filter=gemm,map --dump=/tmp/programs
//   bazel run //experiments:bench_programs -- --tier=cuda /tmp/programs/*.ll
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/peers/cublas.h"
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
#include "ocannl/tier_flags.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 11;
constexpr double kSecondsOfRound = 0.02;
constexpr int64_t kMostRuns = 10'000;
constexpr size_t kCopiedBytes = size_t{1} << 28;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One thing that takes time: `begin` may return before it is done.
class Timed {
 public:
  Timed(const Device& device, std::function<absl::Status()> begin)
      : space_(device.backend().memory()), begin_(std::move(begin)) {}

  // Finds how many runs fill a round.
  absl::Status Prepare() {
    OCANNL_ASSIGN_OR_RETURN(cell_, DeviceMemory::Allocate(64, space_));
    OCANNL_RETURN_IF_ERROR(Round());
    for (runs_ = 1; runs_ < kMostRuns; runs_ *= 2) {
      seconds_.clear();
      OCANNL_RETURN_IF_ERROR(Round());
      if (seconds_.back() * static_cast<double>(runs_) > kSecondsOfRound) break;
    }
    seconds_.clear();
    return absl::OkStatus();
  }

  absl::Status Round() {
    const Clock::time_point start = Clock::now();
    for (int64_t run = 0; run < runs_; ++run) OCANNL_RETURN_IF_ERROR(begin_());
    if (sync_ != nullptr) OCANNL_RETURN_IF_ERROR(sync_());
    // Copies come after what was begun before.
    std::byte byte;
    OCANNL_RETURN_IF_ERROR(
        space_.Copy(cell_.address(), 1, &byte, CopyKind::kOut));
    seconds_.push_back(SecondsSince(start) / static_cast<double>(runs_));
    return absl::OkStatus();
  }

  void set_sync(std::function<absl::Status()> sync) { sync_ = std::move(sync); }
  double seconds() const { return Median(seconds_); }  // of one run

 private:
  const MemorySpace& space_;
  std::function<absl::Status()> begin_;
  std::function<absl::Status()> sync_;
  DeviceMemory cell_;
  int64_t runs_ = 1;
  std::vector<double> seconds_;
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

absl::StatusOr<nlohmann::ordered_json> Measure(const std::string& file,
                                               const Device& device) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Parse(text));
  const std::string name = std::filesystem::path(file).stem().string();
  Stream stream(&device);
  Context context(&stream);
  double bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) continue;
    const NdArray values = InputOf(buffer);
    bytes += static_cast<double>(values.bytes());
    OCANNL_RETURN_IF_ERROR(context.WriteInput(buffer, values));
  }
  const Clock::time_point start = Clock::now();
  OCANNL_ASSIGN_OR_RETURN(Routine routine,
                          context.CompileAndLink(std::move(program)));
  const double compile_seconds = SecondsSince(start);
  for (StaticRef index : routine.statics()) {
    OCANNL_RETURN_IF_ERROR(index.Set(0));
  }

  OCANNL_ASSIGN_OR_RETURN(DeviceMemory from, device.Allocate(kCopiedBytes));
  OCANNL_ASSIGN_OR_RETURN(DeviceMemory to, device.Allocate(kCopiedBytes));
  std::vector<Timed> timed;
  timed.emplace_back(device, [&] { return routine.Run(); });
  timed.back().set_sync([&] {
    stream.Sync();
    return device.backend().RunStatus();
  });
  timed.emplace_back(device, [&] { return to.CopyFrom(from); });
  const auto product = Product::Make(name, device);
  if (product.ok()) {
    timed.emplace_back(device, [&] { return (*product)->Begin(); });
    timed.back().set_sync([&] { return (*product)->Synchronize(); });
  }
  for (Timed& one : timed) OCANNL_RETURN_IF_ERROR(one.Prepare());
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& one : timed) OCANNL_RETURN_IF_ERROR(one.Round());
  }
  const double copy = 2.0 * kCopiedBytes / timed[1].seconds();
  nlohmann::ordered_json json = {
      {"program", name},
      {"tier", std::string(device.backend().name())},
      {"compile_ms", 1e3 * compile_seconds},
      {"ms", 1e3 * timed[0].seconds()},
      {"gb_per_s", 1e-9 * bytes / timed[0].seconds()},
      {"copy_gb_per_s", 1e-9 * copy}};
  if (product.ok()) {
    json["cublas_ms"] = 1e3 * timed[2].seconds();
    json["of_cublas"] = timed[2].seconds() / timed[0].seconds();
  }
  return json;
}

absl::Status Main(const std::vector<std::string>& args) {
  OCANNL_ASSIGN_OR_RETURN(CommandLine line,
                          CommandLine::Parse(args, TierFlags()));
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  const Device device("device", backend);
  for (const std::string& file : line.positional()) {
    absl::StatusOr<nlohmann::ordered_json> json = Measure(file, device);
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
  return ocannl::RunMain([&] {
    absl::Status status = ocannl::Main({argv + 1, argv + argc});
    if (status.ok()) return 0;
    std::cerr << "bench_programs: " << status.message() << "\n";
    return 1;
  });
}
