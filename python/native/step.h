// SPDX-License-Identifier: Apache-2.0
//
// Step: one step of a training, and the loss that it returns.
#ifndef PYTHON_NATIVE_STEP_H_
#define PYTHON_NATIVE_STEP_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ocannl/ocannl.h"
#include "python/native/arrays.h"
#include "python/native/code.h"
#include "python/native/interruptible.h"
#include "python/native/session.h"

namespace ocannl::python {

// The loss of one step. It is read when it is asked for, or before the next
// step takes its place.
struct Loss {
  std::optional<double> value;
};

class Step : public CompiledCode {
 public:
  // In the order of the slots. None: others are given, or not all.
  std::optional<std::vector<pybind11::object>> ValuesOf(
      const pybind11::dict& inputs) const;

  static std::shared_ptr<Loss> Run(const std::shared_ptr<Step>& step,
                                   const std::vector<pybind11::object>& values);
  static double Read(const std::shared_ptr<Step>& step,
                     const std::shared_ptr<Loss>& loss);

  int64_t count() const { return count_; }
  void set_count(int64_t count);

  virtual void Rewrite(const std::string& script) = 0;

  // Parameters, states of blocks and of the optimiser, and the number of steps.
  void Save(const std::string& path);
  void Load(const std::string& path);

 protected:
  explicit Step(SessionPtr session)
      : CompiledCode(std::move(session), "step") {}

  // One step, of number `count`.
  virtual absl::Status RunOnce(const std::vector<ArrayView>& views,
                               int64_t count) = 0;
  // The loss of the last one.
  virtual absl::StatusOr<double> LossValue() const = 0;
  // What it changes.
  virtual absl::StatusOr<std::vector<Array>> State() = 0;

  // Before the code is replaced: the last loss must be known.
  absl::Status ReadLast();

 private:
  absl::Status RunLocked(const std::vector<ArrayView>& views,
                         const std::shared_ptr<Loss>& loss);
  absl::Status ReadLocked(Loss& loss) const;
  absl::StatusOr<std::vector<Array>> SavedArrays();

  int64_t count_ = 0;
  std::shared_ptr<Loss> last_;
  Pace run_pace_, read_pace_;
};

// A part of a batch for one device: its loss and inputs.
struct ShardOfStep {
  Node loss;
  CompiledCode::Inputs inputs;
};

// A step of one device, which updates what `loss` depends on.
std::shared_ptr<Step> MakeStep(const SessionPtr& session,
                               const ShardOfStep& whole,
                               const absl::StatusOr<train::UpdateRule>& rule,
                               const Node& rate);

// A step of several devices (train/parallel/data_parallel.h). Of the inputs,
// those with a key in `divided` are cut into parts along their first axis. The
// loss is a mean over the examples, or with `is_sum` a sum.
std::shared_ptr<Step> MakeShardedStep(
    const SessionPtr& session, const std::vector<ShardOfStep>& shards,
    const std::vector<std::string>& divided, bool is_sum,
    const absl::StatusOr<train::UpdateRule>& rule, const Node& rate);

// The updates of the states of blocks that `loss` was computed through.
std::vector<train::StateUpdate> UpdatesThrough(const Session& session,
                                               Tensor loss);

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_STEP_H_
