// SPDX-License-Identifier: Apache-2.0
//
// All workloads, by group: the part of the name before '/'.
#ifndef EXPERIMENTS_BENCH_WORKLOADS_H_
#define EXPERIMENTS_BENCH_WORKLOADS_H_

#include <cstdint>
#include <vector>

#include "experiments/bench/workload.h"

namespace ocannl {

// moons/call, moons/kernel, moons/epoch: the step of //experiments:moons by a
// Routine, as bare code, and 80 steps.
std::vector<WorkloadMaker> MoonsWorkloads();

// mlp/small, mlp/mid, mlp/wide; width/16 ... width/512: training steps.
std::vector<WorkloadMaker> MlpWorkloads();

// shards/small, shards/mid, shards/wide: training steps of the same networks on
// two shards of the batch, by one stream and by two at once.
std::vector<WorkloadMaker> ShardWorkloads();
std::vector<WorkloadMaker> TrainerWorkloads();

// net/lenet, net/cifar_conv, net/resnet: training steps on 64 images;
// net/gpt2_mini, net/encoder: on 4 sequences of 256 letters, on 8 of 128;
// net/lenet-forward ...: the network in use.
std::vector<WorkloadMaker> NetWorkloads();

// gemm/MxNxK: squares, and sizes that fit nothing well.
std::vector<WorkloadMaker> GemmWorkloads();

// rows1/NxK@L2 ...: one row of N sums of K products, each in order, and
// rows1/lanes-NxK@L2 ...: sums of as many cells in lanes, which read no x. The
// ratio is the price of results that do not depend on the batch.
std::vector<WorkloadMaker> OneRowWorkloads();

// einsum/SPEC: contractions beside a GEMM of as many flops; move/SPEC: what
// moves more than it computes.
std::vector<WorkloadMaker> EinsumWorkloads();

// function/exp ... in L1; draw/uniform, draw/dropout ..., of 512x64 cells;
// map/scale@L2 ..., reduce/sum@memory ... Those in L2 take half of it, or so
// many bytes.
std::vector<WorkloadMaker> MapWorkloads();
std::vector<WorkloadMaker> MapWorkloadsOf(int64_t bytes_in_l2);

// rows/softmax-256x512 ...: softmax and layer normalisation in L2.
std::vector<WorkloadMaker> RowWorkloads();

// compile/..., compile_again/..., first_result/...: from text to numbers.
std::vector<WorkloadMaker> LatencyWorkloads();

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_WORKLOADS_H_
