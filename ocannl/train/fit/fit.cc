// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/fit/fit.h"

#include <xxhash.h>

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/fit/fit_parts.h"
#include "ocannl/train/graph/option_check.h"

namespace ocannl::train {
namespace {

uint64_t BitsOf(const std::vector<FitArray>& arrays) {
  uint64_t bits = 0;
  for (const FitArray& array : arrays) {
    bits = XXH64(array.values.data(), array.values.bytes(), bits);
  }
  return bits;
}

// The settings, and those that every training has, where they are not there.
Course CourseOf(const FitData& data, const FitOptions& options) {
  Course course{.name = options.name,
                .settings = options.settings,
                .prefix = options.prefix};
  for (FitSetting& setting : course.settings) {
    if (!setting.is_data) continue;
    setting.hash =
        absl::StrCat(absl::Hex(BitsOf(data.train), absl::kZeroPad16));
  }
  auto add = [&](absl::string_view name, std::string value, bool may_differ) {
    const bool is_there = absl::c_any_of(
        course.settings,
        [&](const FitSetting& setting) { return setting.name == name; });
    if (is_there) return;
    course.settings.push_back({.name = std::string(name),
                               .value = std::move(value),
                               .may_differ = may_differ});
  };
  add("seed", absl::StrCat(options.seed), false);
  add("batch_size", absl::StrCat(data.batch_size), false);
  if (options.shards > 1) add("shards", absl::StrCat(options.shards), true);
  add("epochs", absl::StrCat(options.epochs), true);
  return course;
}

// The training by DataParallel: each shard has its part of every batch, in this
// process or in another one.
class Shards {
 public:
  static absl::StatusOr<Shards> Make(const Backend* backend,
                                     const MakeFitNet& make_net,
                                     const FitData& data,
                                     const FitOptions& options,
                                     Fitted& fitted) {
    Shards made(fitted);
    const auto count = static_cast<int>(options.shards);
    for (int shard = 0; shard < count; ++shard) {
      OCANNL_ASSIGN_OR_RETURN(BatchOrder order,
                              BatchOrder::Make(data.train[0].values.dims()[0],
                                               {.batch_size = data.batch_size,
                                                .shuffle = data.shuffle,
                                                .seed = options.seed,
                                                .rank = shard,
                                                .ranks = count}));
      made.orders_.push_back(order);
    }
    if (options.communicator != nullptr) {
      OCANNL_RETURN_IF_ERROR(
          CheckAgree(*options.communicator, "examples", BitsOf(data.train),
                     "start all with the same flags and files"));
    }
    const int64_t batches = made.orders_[0].batches();
    // Of each shard of this process: the owner's is the first.
    std::vector<std::unique_ptr<Training>> trainings;
    auto loss_of =
        [&](Model& model,
            absl::Span<const Tensor> inputs) -> absl::StatusOr<Tensor> {
      const int32_t batch = model.graph.AddStatic("batch_n", batches);
      trainings.push_back(std::make_unique<Training>(
          Training{.step = model.graph.AddStatic("step", std::nullopt)}));
      OCANNL_ASSIGN_OR_RETURN(const FitNet net, make_net(model.graph));
      return net.loss(
          GatherBatch(data.train, Einsum1("|b => b|", Slice(inputs[0], batch))),
          trainings.back().get());
    };
    auto update_of = [&](Model& model, Tensor loss,
                         const std::optional<LossScale>& scale) {
      return FitUpdate(model, loss, *trainings[0], options,
                       options.epochs * batches, scale);
    };
    OCANNL_ASSIGN_OR_RETURN(
        DataParallel parallel,
        DataParallel::Make(backend,
                           {.n_shards = options.shards,
                            .reduction = Reduction::kMean,
                            .base_seed = options.seed,
                            .communicator = options.communicator,
                            .merge_loss = true,
                            .bucket_bytes = options.bucket_bytes,
                            .dtype = options.dtype},
                           {{std::string(kFitOrder), made.Orders(0)}}, loss_of,
                           update_of));
    fitted.parallel.emplace(std::move(parallel));
    return made;
  }

  absl::StatusOr<FitStep> Step() const {
    OCANNL_ASSIGN_OR_RETURN(std::vector<Array> state, parallel().OwnerState());
    return FitStep{.context = parallel().OwnerContext(),
                   .state = std::move(state),
                   .loss = fitted_.code->loss.node().name,
                   .batches = orders_[0].batches(),
                   .start_epoch =
                       [this](int64_t epoch) {
                         return parallel().SetBatch({Orders(epoch)});
                       },
                   .run = [this](int64_t batch, int64_t step) -> absl::Status {
                     OCANNL_RETURN_IF_ERROR(parallel().Set("batch_n", batch));
                     const absl::Status numbered = parallel().Set("step", step);
                     // Nothing may depend on it.
                     if (!numbered.ok() && !absl::IsNotFound(numbered))
                       return numbered;
                     return parallel().Step();
                   }};
  }

  // Gives what was trained to a context with some of the same arrays.
  absl::Status CopyTo(const Context& context) const {
    const std::vector<std::string> names = context.ArrayNames();
    OCANNL_ASSIGN_OR_RETURN(const std::vector<Array> state,
                            parallel().OwnerState());
    for (const Array& array : state) {
      if (!absl::c_binary_search(names, array.name)) continue;
      OCANNL_RETURN_IF_ERROR(
          context.Copy(array.name, parallel().OwnerContext()));
    }
    return absl::OkStatus();
  }

 private:
  explicit Shards(Fitted& fitted) : fitted_(fitted) {}

  DataParallel& parallel() const { return *fitted_.parallel; }

  // The orders of all shards, one after the other.
  NdArray Orders(int64_t epoch) const {
    std::vector<int32_t> rows;
    for (const BatchOrder& order : orders_) {
      absl::c_copy(order.Epoch(epoch), std::back_inserter(rows));
    }
    const int64_t part = orders_[0].part_size();
    return NdArray::Of<int32_t>(
        {static_cast<int64_t>(rows.size()) / part, part}, rows);
  }

  Fitted& fitted_;
  std::vector<BatchOrder> orders_;
};

// The step of one device, by the routine `fitted.step`.
absl::StatusOr<FitStep> StepOf(Fitted& fitted) {
  Routine& routine = *fitted.step;
  FitCode& code = *fitted.code;
  OCANNL_ASSIGN_OR_RETURN(
      std::vector<Array> state,
      StateArrays(code.model, code.loss, {&routine.program()}));
  OCANNL_ASSIGN_OR_RETURN(StaticRef batch, routine.Static("batch_n"));
  std::optional<StaticRef> number;  // where something depends on it
  if (auto found = routine.Static("step"); found.ok()) number = *found;
  return FitStep{.context = routine.context(),
                 .state = std::move(state),
                 .loss = code.loss.node().name,
                 .batches = code.batches,
                 .start_epoch =
                     [&fitted, &code](int64_t epoch) {
                       return code.StartEpoch(*fitted.context, epoch);
                     },
                 .run =
                     [&routine, batch, number](int64_t k, int64_t n) mutable {
                       OCANNL_RETURN_IF_ERROR(batch.Set(k));
                       if (number) OCANNL_RETURN_IF_ERROR(number->Set(n));
                       return routine.Run();
                     }};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Fitted>> Fit(const Backend* backend,
                                            const MakeFitNet& make_net,
                                            const FitData& data,
                                            const FitOptions& options) {
  OCANNL_RETURN_IF_ERROR(CheckGiven("Fit", {{"backend", backend != nullptr}}));
  auto fitted = std::make_unique<Fitted>(backend);
  OCANNL_ASSIGN_OR_RETURN(fitted->code, MakeFitCode(make_net, data, options));
  FitCode& code = *fitted->code;
  Communicator* ranks = options.communicator;
  if (options.before_training && (ranks == nullptr || ranks->rank() == 0)) {
    OCANNL_RETURN_IF_ERROR(options.before_training(code.model, code.step));
  }
  OCANNL_ASSIGN_OR_RETURN(fitted->context,
                          code.Start(Context(&fitted->stream)));
  auto link = [&](const Assignments& part,
                  std::optional<Routine>& to) -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(to, ToRoutine(*fitted->context, part, {}));
    fitted->context = to->context();
    return absl::OkStatus();
  };
  if (options.shards == 1)
    OCANNL_RETURN_IF_ERROR(link(code.step, fitted->step));
  if (!code.measures.empty()) {
    OCANNL_RETURN_IF_ERROR(link(code.test, fitted->test));
  }
  std::optional<Shards> shards;
  if (options.shards > 1) {
    OCANNL_ASSIGN_OR_RETURN(
        Shards made, Shards::Make(backend, make_net, data, options, *fitted));
    shards.emplace(std::move(made));
  }
  OCANNL_ASSIGN_OR_RETURN(FitStep step,
                          shards ? shards->Step() : StepOf(*fitted));
  // What was trained so far is in fitted->context then.
  auto collect = [&] {
    return shards ? shards->CopyTo(*fitted->context) : absl::OkStatus();
  };
  step.measure = [&]() -> absl::StatusOr<Measures> {
    if (!fitted->test) return Measures{};
    OCANNL_RETURN_IF_ERROR(collect());
    return code.Measure(*fitted->test);
  };
  OCANNL_ASSIGN_OR_RETURN(fitted->history,
                          RunFit(step, CourseOf(data, options), options));
  if (shards) OCANNL_RETURN_IF_ERROR(fitted->parallel->SyncRanks());
  OCANNL_RETURN_IF_ERROR(collect());
  return fitted;
}

}  // namespace ocannl::train
