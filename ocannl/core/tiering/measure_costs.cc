// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/measure_costs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/settings.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/disk_cache.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {
namespace {

constexpr int kTimes = 3;  // the best of them counts
constexpr int kNests = 8;

struct Seconds {
  double compile;
  double run;
};

class Meter {
 public:
  Meter(const Backend& backend, const std::function<double()>& now)
      : backend_(backend), now_(now) {}

  absl::StatusOr<Seconds> Measure(const std::string& text) const {
    OCANNL_ASSIGN_OR_RETURN(const LoopProgram program, Parse(text));
    std::vector<DeviceMemory> arrays;
    std::vector<std::byte*> addresses;
    for (const Buffer& buffer : program.buffers) {
      const auto bytes = static_cast<size_t>(NumElements(buffer.dims)) *
                         static_cast<size_t>(SizeOf(buffer.dtype));
      OCANNL_ASSIGN_OR_RETURN(arrays.emplace_back(),
                              DeviceMemory::Allocate(bytes, backend_.memory()));
      addresses.push_back(arrays.back().address());
    }
    const double start = now_();
    OCANNL_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> code,
                            backend_.Compile(program));
    Seconds seconds = {.compile = now_() - start, .run = 0};
    OCANNL_ASSIGN_OR_RETURN(seconds.run, Best([&] {
                              code->Run(addresses, {});
                              return Wait(arrays.back());
                            }));
    OCANNL_RETURN_IF_ERROR(backend_.RunStatus());
    return seconds;
  }

  // A copy of so many bytes, there or back.
  absl::StatusOr<double> MeasureCopy(size_t bytes) const {
    OCANNL_ASSIGN_OR_RETURN(const DeviceMemory there,
                            DeviceMemory::Allocate(bytes, backend_.memory()));
    OCANNL_ASSIGN_OR_RETURN(const DeviceMemory here,
                            DeviceMemory::Allocate(bytes));
    OCANNL_ASSIGN_OR_RETURN(
        const double both, Best([&]() -> absl::Status {
          OCANNL_RETURN_IF_ERROR(there.CopyIn(here.address()));
          return there.CopyOut(here.address());
        }));
    return both / 2;
  }

 private:
  // Until what was begun is done.
  absl::Status Wait(const DeviceMemory& array) const {
    std::byte byte;
    return backend_.memory().Copy(array.address(), 1, &byte, CopyKind::kOut);
  }

  absl::StatusOr<double> Best(absl::FunctionRef<absl::Status()> work) const {
    OCANNL_RETURN_IF_ERROR(work());  // what only the first one does
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < kTimes; ++k) {
      const double start = now_();
      OCANNL_RETURN_IF_ERROR(work());
      best = std::min(best, now_() - start);
    }
    return std::max(best, 1e-9);  // a clock may stand still
  }

  const Backend& backend_;
  const std::function<double()>& now_;
};

std::string Map(int64_t cells) {
  return absl::StrCat("map ():\n  in x : f32[", cells, "]; out y : f32[", cells,
                      "];\n  for i0 = 0 to ", cells - 1,
                      " { y[i0] := x[i0] + 1; }\n");
}

std::string Product(int64_t rows) {
  const std::string dims = absl::StrCat(" : f32[", rows, ", ", rows, "]; ");
  const std::string loop = absl::StrCat(" = 0 to ", rows - 1, " { ");
  return absl::StrCat("product ():\n  in a", dims, "in b", dims, "out y", dims,
                      "\n  zero_out y;\n  for i0", loop, "for i1", loop,
                      "for i2", loop,
                      "y[i0, i1] := fma(a[i0, i2], b[i2, i1], y[i0, i1]); } } "
                      "}\n");
}

// Short nests after each other, no two of which are alike.
std::string Nests() {
  std::string text = "nests ():\n  inout y : f32[128];\n";
  for (int k = 0; k < kNests; ++k) {
    const std::string cell = absl::StrCat("y[i", k, "]");
    absl::StrAppend(&text, "  for i", k, " = 0 to ", 63 + 8 * k, " { ", cell,
                    " := ", cell, " * 0.5 + ", k, "; }\n");
  }
  return text;
}

absl::StatusOr<TierSpeed> MeasureSpeed(const Meter& meter,
                                       const MeasuredSizes& sizes,
                                       const Seconds& nests) {
  OCANNL_ASSIGN_OR_RETURN(const Seconds map, meter.Measure(Map(sizes.cells)));
  OCANNL_ASSIGN_OR_RETURN(const Seconds product,
                          meter.Measure(Product(sizes.rows)));
  return TierSpeed{
      .flops_per_second =
          2 * std::pow(static_cast<double>(sizes.rows), 3) / product.run,
      .bytes_per_second = 8 * static_cast<double>(sizes.cells) / map.run,
      .nest_seconds = nests.run / kNests};
}

}  // namespace

absl::StatusOr<MigrationCosts> MeasureMigrationCosts(
    const Backend& host, const Backend& gpu, const std::function<double()>& now,
    const MeasuredSizes& sizes) {
  const Meter host_meter(host, now);
  const Meter gpu_meter(gpu, now);
  OCANNL_ASSIGN_OR_RETURN(const Seconds host_nests,
                          host_meter.Measure(Nests()));
  OCANNL_ASSIGN_OR_RETURN(const Seconds nest, gpu_meter.Measure(Map(64)));
  OCANNL_ASSIGN_OR_RETURN(const Seconds nests, gpu_meter.Measure(Nests()));
  MigrationCosts costs;
  OCANNL_ASSIGN_OR_RETURN(costs.host,
                          MeasureSpeed(host_meter, sizes, host_nests));
  OCANNL_ASSIGN_OR_RETURN(costs.gpu, MeasureSpeed(gpu_meter, sizes, nests));
  const auto bytes = static_cast<size_t>(4 * sizes.cells);
  OCANNL_ASSIGN_OR_RETURN(costs.copy_seconds, gpu_meter.MeasureCopy(4));
  OCANNL_ASSIGN_OR_RETURN(const double copy, gpu_meter.MeasureCopy(bytes));
  costs.copied_bytes_per_second = static_cast<double>(bytes) / copy;
  costs.compile_seconds = nest.compile;
  costs.compile_nest_seconds =
      std::max(nests.compile - nest.compile, 0.) / (kNests - 1);
  return costs;
}

std::string UserCacheDirectory() {
  return UsersFolder(Environment(), "XDG_CACHE_HOME", ".cache");
}

absl::StatusOr<FoundCosts> KeptCosts(
    const std::string& directory, absl::string_view machine,
    absl::FunctionRef<absl::StatusOr<MigrationCosts>()> measure) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  // The value is the bytes of MigrationCosts; another layout has another key.
  static_assert(std::is_trivially_copyable_v<MigrationCosts>);
  const std::string key = absl::StrCat("migration costs 1, ", machine);
  const std::string of = absl::StrCat("costs of ", machine);
  absl::StatusOr<std::unique_ptr<DiskCache>> files =
      directory.empty()
          ? absl::NotFoundError("no directory, as HOME is not set")
          : DiskCache::Open(directory, kMostBytes);
  if (files.ok()) {
    const std::optional<std::string> text = (*files)->Find(key);
    MigrationCosts costs;
    if (text && text->size() == sizeof(costs)) {
      std::memcpy(&costs, text->data(), sizeof(costs));
      return FoundCosts{costs, absl::StrCat(of, " are from ", directory)};
    }
  }
  OCANNL_ASSIGN_OR_RETURN(const MigrationCosts costs, measure());
  const absl::Status kept =
      files.ok() ? (*files)->Insert(key, {reinterpret_cast<const char*>(&costs),
                                          sizeof(costs)})
                 : files.status();
  if (!kept.ok()) {
    return FoundCosts{
        costs,
        absl::StrCat(of, " were measured, and not kept: ", kept.message())};
  }
  return FoundCosts{costs,
                    absl::StrCat(of, " were measured, as ", directory,
                                 " had no valid ones, and are kept there")};
}

}  // namespace ocannl
