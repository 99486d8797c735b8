// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/migration_cost.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tiering/cost/work.h"

namespace ocannl {
namespace {

double RunSeconds(const std::vector<NestWork>& nests, const TierSpeed& speed) {
  double seconds = 0;
  for (const NestWork& nest : nests) {
    const double bytes = nest.bytes_read + nest.bytes_written;
    seconds +=
        speed.nest_seconds + std::max(nest.arithmetic / speed.flops_per_second,
                                      bytes / speed.bytes_per_second);
  }
  return seconds;
}

}  // namespace

double CopySeconds(double bytes, double copies, const MigrationCosts& costs) {
  return copies * costs.copy_seconds + bytes / costs.copied_bytes_per_second;
}

Forecast ForecastOf(const LoopProgram& program, const MigrationCosts& costs) {
  const std::vector<NestWork> nests = WorkOf(program);
  double bytes = 0;
  double arrays = 0;
  for (const Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) continue;
    bytes += static_cast<double>(NumElements(buffer.dims)) *
             static_cast<double>(SizeOf(buffer.dtype));
    ++arrays;
  }
  return {.host_seconds = RunSeconds(nests, costs.host),
          .gpu_seconds = RunSeconds(nests, costs.gpu),
          .compile_seconds =
              costs.compile_seconds +
              costs.compile_nest_seconds * static_cast<double>(nests.size()),
          .move_seconds = CopySeconds(bytes, arrays, costs)};
}

Decision Decide(const Forecast& forecast, const Stay& stay) {
  const auto runs = static_cast<double>(stay.runs);
  const double there = runs * stay.copied_seconds_there;
  Decision decision;
  if (stay.on_gpu) {
    decision.here_seconds = runs * forecast.gpu_seconds + stay.copied_seconds;
    decision.there_seconds = runs * forecast.host_seconds + there;
    decision.move_seconds = forecast.move_seconds;
  } else {
    decision.here_seconds = runs * forecast.host_seconds + stay.copied_seconds;
    decision.there_seconds = runs * forecast.gpu_seconds + there;
    decision.move_seconds =
        stay.preparation_seconds + 2 * forecast.move_seconds;
  }
  decision.moves =
      decision.here_seconds - decision.there_seconds > decision.move_seconds;
  return decision;
}

std::string Reason(const Decision& decision, const Stay& stay) {
  return absl::StrFormat(
      "%d runs take %.3g ms on the %s, and %.3g ms on the %s; moving takes "
      "%.3g ms",
      stay.runs, 1e3 * decision.here_seconds, stay.on_gpu ? "GPU" : "host",
      1e3 * decision.there_seconds, stay.on_gpu ? "host" : "GPU",
      1e3 * decision.move_seconds);
}

}  // namespace ocannl
