// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/peers/eigen_kernels.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/python_contenders.h"
#include "experiments/bench/training.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// Steps of one run of the work, which ends with a loss to compare.
constexpr int64_t kSteps = 2;

// Training by Eigen from first values that it keeps.
class EigenTraining {
 public:
  EigenTraining(const EigenKernels* eigen, const Mlp& mlp, NamedArrays values)
      : eigen_(eigen), mlp_(mlp), values_(std::move(values)) {
    Reset();
  }
  EigenTraining(const EigenTraining&) = delete;
  ~EigenTraining() { eigen_->delete_mlp(state_); }

  void Reset() {
    if (state_ != nullptr) eigen_->delete_mlp(state_);
    std::vector<const float*> weights, biases;
    for (size_t layer = 1; layer < mlp_.sizes.size(); ++layer) {
      weights.push_back(Numbers(absl::StrCat("w", layer)));
      bool last = layer + 1 == mlp_.sizes.size();
      biases.push_back(last ? nullptr : Numbers(absl::StrCat("b", layer)));
    }
    state_ =
        eigen_->new_mlp(static_cast<int>(weights.size()), mlp_.sizes.data(),
                        mlp_.batch, static_cast<float>(mlp_.rate), Numbers("x"),
                        Numbers("y"), weights.data(), biases.data());
  }

  float Steps() {
    float loss = 0;
    for (int64_t k = 0; k < kSteps; ++k) loss = eigen_->mlp_step(state_);
    return loss;
  }

 private:
  const float* Numbers(const std::string& name) {
    return values_.at(name).values<float>().data();
  }

  const EigenKernels* eigen_;
  Mlp mlp_;
  NamedArrays values_;
  EigenMlp* state_ = nullptr;
};

void AddEigen(const Mlp& mlp, const NamedArrays& values, Workload& workload) {
  const EigenKernels* eigen = FindEigenKernels();
  if (eigen == nullptr) {
    workload.missing.emplace_back("eigen: needs AVX2");
    return;
  }
  auto training = std::make_shared<EigenTraining>(eigen, mlp, values);
  workload.contenders.push_back(
      {.name = "eigen",
       .time =
           [training](int64_t runs) {
             training->Reset();
             return SecondsOf(runs, [&] { training->Steps(); });
           },
       .result =
           [training] {
             training->Reset();
             return std::vector<float>{training->Steps()};
           },
       .tolerance = 1e-3});
}

PythonTask TaskOf(const Mlp& mlp, const NamedArrays& values) {
  PythonTask task{.arrays = values, .rate = mlp.rate};
  for (const char* name : {"x", "y"}) {
    NdArray& array = task.arrays.at(name);
    array = array.Reshaped({1, array.dims()[0], array.dims()[1]});
  }
  return task;
}

WorkloadMaker MakerOf(std::string name, const Mlp& mlp, bool brief) {
  return {.name = name,
          .brief = brief,
          .make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
            Workload workload{.name = name,
                              .probe = ProbeKind::kFma,
                              .work = kSteps * MlpFlops(mlp)};
            OCANNL_ASSIGN_OR_RETURN(Training training, MlpTraining(mlp));
            const NamedArrays& values = training.first_values;
            OCANNL_RETURN_IF_ERROR(AddProgram(setting,
                                              {.program = training.step,
                                               .given = values,
                                               .first = training.loss,
                                               .steps = kSteps,
                                               .gcc = {"-O3", "-Ofast"}},
                                              workload));
            if (workload.contenders.empty() || !setting.peers) return workload;
            AddEigen(mlp, values, workload);
            AddPython(setting, TaskOf(mlp, values), kSteps, workload);
            return workload;
          }};
}

}  // namespace

std::vector<WorkloadMaker> MlpWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (const NamedMlp& named : TrainingMlps()) {
    makers.push_back(
        MakerOf(named.name, named.mlp, /*brief=*/named.name == "mlp/small"));
  }
  return makers;
}

}  // namespace ocannl
