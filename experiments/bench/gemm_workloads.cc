// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/peers/gemm_peers.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

struct Size {
  int64_t m, n, k;
};

constexpr int64_t kSquares[] = {16,  32,  48,  64,  96,   128,  192,
                                256, 384, 512, 768, 1024, 1536, 2048};

// Small, narrow, prime, just over and just under what fits.
constexpr Size kRagged[] = {
    {10, 16, 2},      {10, 16, 16},     {1, 256, 256},    {7, 31, 129},
    {17, 17, 17},     {33, 65, 17},     {31, 33, 35},     {63, 65, 64},
    {100, 100, 100},  {127, 129, 131},  {64, 10, 256},    {64, 256, 784},
    {128, 512, 512},  {256, 10, 1024},  {255, 257, 253},  {1000, 16, 1000},
    {16, 1000, 1000}, {1000, 1000, 16}, {300, 700, 1100}, {1021, 1019, 1013},
};

// Squares whose second operand lies in panels of so many columns.
struct Packed {
  int64_t n, columns;
};
constexpr Packed kPacked[] = {{32, 32},  {48, 48},  {64, 64}, {96, 32},
                              {128, 32}, {192, 32}, {256, 32}};

Contender OfPeer(const GemmPeer& peer, const Size& size,
                 std::function<void()> run,
                 std::shared_ptr<BoundProgram> memory) {
  return {.name = peer.name,
          .time = [run](int64_t runs) { return SecondsOf(runs, run); },
          .result =
              [run, memory] {
                run();
                return memory->Results("c");
              },
          // Each sum in an order of its own.
          .tolerance = 1e-6 * static_cast<double>(16 + size.k)};
}

absl::StatusOr<Workload> MakeGemm(const Size& size, const Setting& setting) {
  auto [m, n, k] = size;
  Workload workload{.name = absl::StrCat("gemm/", m, "x", n, "x", k),
                    .probe = ProbeKind::kFma,
                    .work = 2. * static_cast<double>(m * n * k)};
  OCANNL_ASSIGN_OR_RETURN(
      LoopProgram program,
      ExpressionProgram(
          {{"a", absl::StrCat(m, ",", k)}, {"b", absl::StrCat(k, ",", n)}},
          {{"c", "a +* \"mk; kn => mn\" b"}}));
  OCANNL_RETURN_IF_ERROR(
      AddProgram(setting, {.program = program, .gcc = {"-O3"}}, workload));
  if (workload.contenders.empty() || !setting.peers) return workload;
  const GemmPeers& found = FindGemmPeers(setting.threads);
  for (const GemmPeer& peer : found.peers) {
    OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<BoundProgram> memory,
                            BoundProgram::Make(program, {}));
    std::function<void()> run = peer.prepare(
        {m, n, k, memory->numbers("a").data(), memory->numbers("b").data(),
         memory->numbers("c").data()});
    if (run == nullptr) {
      workload.missing.push_back(absl::StrCat(peer.name, ": not this size"));
      continue;
    }
    workload.contenders.push_back(OfPeer(peer, size, std::move(run), memory));
  }
  for (const std::string& missing : found.missing) {
    workload.missing.push_back(missing);
  }
  return workload;
}

std::string NameOf(const Packed& packed) {
  return absl::StrCat("gemm-packed/", packed.n, "@", packed.columns);
}

absl::StatusOr<Workload> MakePacked(const Packed& packed,
                                    const Setting& setting) {
  auto [n, columns] = packed;
  Workload workload{.name = NameOf(packed),
                    .probe = ProbeKind::kFma,
                    .work = 2. * static_cast<double>(n * n * n)};
  OCANNL_ASSIGN_OR_RETURN(
      LoopProgram program,
      ExpressionProgram(
          {{"a", absl::StrCat(n, ",", n)},
           {"b", absl::StrCat(n / columns, ",", n, ",", columns)}},
          {{"c", "a +* \"mk; jkn => mjn\" b"}}));
  OCANNL_RETURN_IF_ERROR(AddProgram(setting, {.program = program}, workload));
  return workload;
}

}  // namespace

std::vector<WorkloadMaker> GemmWorkloads() {
  std::vector<Size> sizes;
  for (int64_t n : kSquares) sizes.push_back({n, n, n});
  sizes.insert(sizes.end(), std::begin(kRagged), std::end(kRagged));
  std::vector<WorkloadMaker> makers;
  for (const Size& size : sizes) {
    makers.push_back(
        {.name = absl::StrCat("gemm/", size.m, "x", size.n, "x", size.k),
         .brief = size.m * size.n * size.k <= 5'000,
         .make = [size](const Setting& setting) {
           return MakeGemm(size, setting);
         }});
  }
  for (const Packed& packed : kPacked) {
    makers.push_back({.name = NameOf(packed),
                      .brief = packed.n == 32,
                      .make = [packed](const Setting& setting) {
                        return MakePacked(packed, setting);
                      }});
  }
  return makers;
}

}  // namespace ocannl
