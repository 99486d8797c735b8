// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/python_contenders.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ocannl {

void AddPython(const Setting& setting, PythonTask task, int64_t steps,
               Workload& workload) {
  if (!setting.peers) return;
  task.threads = setting.threads;
  for (const char* framework : {"torch", "torch.compile", "jax"}) {
    absl::StatusOr<std::unique_ptr<PythonPeer>> started =
        PythonPeer::Start(setting.python, framework, task);
    if (!started.ok()) {
      workload.missing.push_back(
          absl::StrCat(framework, ": ", started.status().message()));
      continue;
    }
    std::shared_ptr<PythonPeer> peer = *std::move(started);
    workload.contenders.push_back(
        {.name = peer->name(),
         .time = [peer,
                  steps](int64_t runs) { return peer->Time(runs * steps); },
         .result =
             [peer, steps] {
               return std::vector<float>{static_cast<float>(peer->Loss(steps))};
             },
         .tolerance = 1e-3});
  }
}

}  // namespace ocannl
