// SPDX-License-Identifier: Apache-2.0
//
// PythonPeer: a training step in PyTorch or JAX, in a process of its own that
// works when it is told to and is silent otherwise.
//
//   OCANNL_ASSIGN_OR_RETURN(auto torch, PythonPeer::Start(
//       "python3", "torch", {.arrays = {{"x", ...}, {"w1", ...}}}));
//   double seconds = torch->Time(/*runs=*/100);
#ifndef EXPERIMENTS_BENCH_PEERS_PYTHON_PEER_H_
#define EXPERIMENTS_BENCH_PEERS_PYTHON_PEER_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {

// Training by SGD. Of an MLP with ReLU, step k on batch k modulo the batches;
// or, by cross-entropy on one batch, of a network of experiments/nets/nets.h,
// for which only PyTorch is at hand.
struct PythonTask {
  // x[batches, batch, inputs], y[batches, batch, outputs] and the parameters
  // w1[out, in], b1[out], w2, ...; the last layer has no bias. Of a network:
  // inputs x, classes y, its parameters and states by their names.
  std::map<std::string, NdArray> arrays;
  std::string net = "";  // a key of NETS in torch_nets.py, or an MLP
  bool trains = true;    // a network: else only what comes before gradients
  double momentum = 0;   // a network's
  std::string loss = "square";  // or "hinge"; summed and divided by the batch
  double rate = 0.01;
  // Of the rate, which falls from twice its value by step / steps; 0: fixed.
  int64_t steps = 0;
  double weight_decay = 0;
  int threads = 1;
};

class PythonPeer {
 public:
  // Begins a process of `python` that trains with `framework`: "torch",
  // "torch.compile" or "jax". Error: no such program, a framework that it
  // cannot import.
  static absl::StatusOr<std::unique_ptr<PythonPeer>> Start(
      const std::string& python, const std::string& framework,
      const PythonTask& task);

  PythonPeer(const PythonPeer&) = delete;
  ~PythonPeer();

  // The framework and its version: "torch 1.13.1".
  const std::string& name() const { return name_; }

  // Does so many further steps and gives the seconds that they took.
  double Time(int64_t runs);

  // The loss of the last of so many steps, counted from the first values.
  double Loss(int64_t steps);

 private:
  PythonPeer() = default;

  // The answer to one line.
  absl::StatusOr<std::string> Ask(const std::string& line);

  std::string name_;
  int child_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_PYTHON_PEER_H_
