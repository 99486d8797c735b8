// SPDX-License-Identifier: Apache-2.0
//
// PyTorch and JAX as contenders.
#ifndef EXPERIMENTS_BENCH_PYTHON_CONTENDERS_H_
#define EXPERIMENTS_BENCH_PYTHON_CONTENDERS_H_

#include "experiments/bench/peers/python_peer.h"
#include "experiments/bench/workload.h"

namespace ocannl {

// Adds those that the setting's Python has, if it has peers; the others are
// missing. One run of the work is `steps` steps of the task, and its result is
// the loss of the last.
void AddPython(const Setting& setting, PythonTask task, int64_t steps,
               Workload& workload);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PYTHON_CONTENDERS_H_
