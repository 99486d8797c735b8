// SPDX-License-Identifier: Apache-2.0
//
// A step that several devices share: each has a part of the batch.
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "python/native/step.h"

namespace ocannl::python {
namespace {

using train::DataParallel;
using train::Model;
using train::UpdateCode;
using train::UpdateRule;

class ShardedStep : public Step {
 public:
  ShardedStep(SessionPtr session, const std::vector<ShardOfStep>& shards,
              const std::vector<std::string>& divided, bool is_sum,
              const absl::StatusOr<UpdateRule>& rule, const Node& rate)
      : Step(std::move(session)),
        is_sum_(is_sum),
        number_(session_->model.graph.statics()[session_->training.step].name) {
    session_->CheckProcess();
    made_ = std::make_shared<Made>();
    Check(Interruptible(session_, [=, s = session_, made = made_] {
      return train::WithoutRootnessCheck(s->model, [&] {
        return Compile(*s, shards, is_sum, rule, rate.tensor, *made);
      });
    }));
    SetSlots(*made_->parallel->OwnerPrograms()[0], shards[0].inputs);
    const auto count = static_cast<int64_t>(shards.size());
    for (Slot& slot : slots_) {
      is_divided_.push_back(absl::c_linear_search(divided, slot.key));
      if (is_divided_.back()) slot.dims[0] *= count;
    }
    for (const ShardOfStep& shard : shards) {
      std::vector<std::string>& names = names_.emplace_back();
      for (const Slot& slot : slots_) {
        names.push_back(absl::c_find_if(shard.inputs,
                                        [&](const auto& input) {
                                          return input.first == slot.key;
                                        })
                            ->second.tensor.node()
                            .name);
      }
    }
  }

  void Rewrite(const std::string&) override { CheckIsOne(); }

 private:
  struct Made {
    std::optional<VirtualDevices> devices;  // of the first, only its thread
    std::optional<DataParallel> parallel;
  };

  absl::Status RunOnce(const std::vector<ArrayView>& views,
                       int64_t count) override {
    for (size_t s = 0; s < names_.size(); ++s) {
      OCANNL_RETURN_IF_ERROR(WriteShard(views, s));
    }
    const absl::Status set = made_->parallel->Set(number_, count);
    // Nothing may depend on it.
    if (!set.ok() && !absl::IsNotFound(set)) return set;
    return made_->parallel->Step();
  }

  absl::Status WriteShard(const std::vector<ArrayView>& views, size_t s) const {
    const auto count = static_cast<int64_t>(names_.size());
    const Context& context =
        s == 0 ? session_->context : (*made_->devices)[s].context;
    for (size_t k = 0; k < views.size(); ++k) {
      ArrayView part = views[k];
      if (is_divided_[k]) {
        part.dims[0] /= count;
        part.data += static_cast<int64_t>(s) * part.dims[0] * part.strides[0];
      }
      // A worker copies it to the device, perhaps after the call.
      OCANNL_RETURN_IF_ERROR(context.Fill(
          names_[s][k], [cells = ArrayOf(part)](absl::Span<std::byte> bytes) {
            std::memcpy(bytes.data(), cells.data(), bytes.size());
            return absl::OkStatus();
          }));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> LossValue() const override {
    OCANNL_ASSIGN_OR_RETURN(const double mean, made_->parallel->MeanLoss());
    return is_sum_ ? mean * static_cast<double>(names_.size()) : mean;
  }

  absl::StatusOr<std::vector<Array>> State() override {
    return made_->parallel->OwnerState();
  }

  // Each shard has a copy of the model, with the graph as it is now.
  static absl::Status Compile(Session& s,
                              const std::vector<ShardOfStep>& shards,
                              bool is_sum,
                              const absl::StatusOr<UpdateRule>& rule,
                              Tensor rate, Made& made) {
    made.devices.emplace(&s.device.backend(), static_cast<int>(shards.size()),
                         s.threads);
    const std::vector<train::StateUpdate> updates =
        UpdatesThrough(s, shards[0].loss.tensor);
    for (const train::StateUpdate& update : updates) {
      OCANNL_ASSIGN_OR_RETURN(
          s.context, train::RunMissingInit(s.model, update.value, s.context));
    }
    OCANNL_ASSIGN_OR_RETURN(
        s.context,
        train::RunMissingInit(s.model, shards[0].loss.tensor, s.context));
    size_t next = 0;
    auto loss_of = [&](Model& model,
                       absl::Span<const Tensor>) -> absl::StatusOr<Tensor> {
      model = s.model;
      return Tensor{&model.graph, shards[next++].loss.tensor.id};
    };
    auto update_of = [&](Model& model, Tensor loss,
                         const auto& scale) -> absl::StatusOr<UpdateCode> {
      std::vector<train::StateUpdate> own;
      for (train::StateUpdate update : updates) {
        update.state.graph = update.value.graph = &model.graph;
        own.push_back(update);
      }
      OCANNL_ASSIGN_OR_RETURN(UpdateCode states,
                              train::UpdateStates(model, own));
      OCANNL_ASSIGN_OR_RETURN(
          UpdateCode update,
          train::ScaledRuleUpdate(model, train::Parameters(model, loss),
                                  Tensor{&model.graph, rate.id}, rule, scale));
      return UpdateCode{
          .init = train::Sequence("init", {states.init, update.init}),
          .update = train::Sequence("update", {states.update, update.update})};
    };
    OCANNL_ASSIGN_OR_RETURN(
        DataParallel parallel,
        DataParallel::Make(&s.device.backend(),
                           {.n_shards = static_cast<int64_t>(shards.size()),
                            .reduction = is_sum ? train::Reduction::kSum
                                                : train::Reduction::kMean,
                            .base_seed = s.model.graph.seed(),
                            .threads = s.threads,
                            .devices = &*made.devices,
                            .owner = &s.context,
                            .dtype = s.dtype.value_or(DType::kF32)},
                           {}, loss_of, update_of));
    made.parallel.emplace(std::move(parallel));
    return absl::OkStatus();
  }

  bool is_sum_;
  std::string number_;  // of the step, in the graph
  std::shared_ptr<Made> made_;
  std::vector<bool> is_divided_;                 // by slot
  std::vector<std::vector<std::string>> names_;  // of arrays, by shard and slot
};

}  // namespace

std::shared_ptr<Step> MakeShardedStep(const SessionPtr& session,
                                      const std::vector<ShardOfStep>& shards,
                                      const std::vector<std::string>& divided,
                                      bool is_sum,
                                      const absl::StatusOr<UpdateRule>& rule,
                                      const Node& rate) {
  return std::make_shared<ShardedStep>(session, shards, divided, is_sum, rule,
                                       rate);
}

}  // namespace ocannl::python
