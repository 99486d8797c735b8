// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/supervised.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl {
namespace {

// The first `count` rows.
NdArray FirstRows(const NdArray& array, int64_t count) {
  Dims dims = array.dims();
  const size_t row = array.bytes() / static_cast<size_t>(dims[0]);
  dims[0] = count;
  NdArray rows(array.dtype(), dims);
  std::copy(array.data(), array.data() + row * static_cast<size_t>(count),
            rows.data());
  return rows;
}

// Batches of examples: those at the value of a static index.
struct Batch {
  Tensor inputs, classes;
};

class Batches {
 public:
  Batches(Graph& graph, const Examples& examples, const std::string& name,
          int64_t size)
      : graph_(graph), examples_(examples), name_(name), size_(size) {}

  absl::Status Check() const {
    const int64_t examples = examples_.inputs.dims()[0];
    CHECK_EQ(examples, examples_.classes.dims()[0]);
    if (examples >= size_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the ", examples, " examples to ", name_,
                     " fill no batch of ", size_, "; make the batch smaller"));
  }

  int64_t count() const { return examples_.inputs.dims()[0] / size_; }

  // With `shuffles`, in the order that the array NAME_order has.
  Batch At(const std::string& index, bool shuffles) const {
    const int32_t number = graph_.AddStatic(index, count());
    // Sequences are places, each with a class of its own.
    const int64_t places =
        NumElements(examples_.classes.dims()) / examples_.classes.dims()[0];
    if (!shuffles) {
      return {
          .inputs = Slice(Rows(examples_.inputs, "inputs", places), number),
          .classes = Slice(Rows(examples_.classes, "classes", places), number)};
    }
    ShapeSpec spec;
    spec.rows = {Dims{count(), size_}, Dims{}, Dims{}};
    const Tensor order =
        Slice(Data(graph_, absl::StrCat(name_, "_order"),
                   NdArray(DType::kI32, {count(), size_}), spec),
              number);
    return {.inputs = At(order, examples_.inputs, "inputs", places),
            .classes = At(order, examples_.classes, "classes", places)};
  }

 private:
  // batches,size,places|cells: without places and cells where they are one.
  Tensor Rows(const NdArray& array, absl::string_view what,
              int64_t places) const {
    ShapeSpec spec;
    Dims batch = {count(), size_};
    Dims cells(array.dims().begin() + 1, array.dims().end());
    if (places > 1) {
      batch.push_back(cells[0]);
      cells.erase(cells.begin());
    }
    spec[RowKind::kBatch] = std::move(batch);
    spec[RowKind::kOutput] = std::move(cells);
    spec[RowKind::kInput] = Dims{};
    return Data(graph_, absl::StrCat(name_, "_", what),
                FirstRows(array, count() * size_), std::move(spec));
  }

  // The rows of the array with those numbers.
  Tensor At(Tensor rows, const NdArray& array, absl::string_view what,
            int64_t places) const {
    Shape shape;
    shape[RowKind::kOutput] = array.dims();
    const Tensor all =
        Data(graph_, absl::StrCat(name_, "_", what), array, SpecOf(shape));
    return Gather(
        places > 1 ? "n, p, ...; b| => b, p|..." : "n, ...; b| => b|...", all,
        rows);
  }

  Graph& graph_;
  const Examples& examples_;
  std::string name_;
  int64_t size_;
};

Tensor Targets(Tensor classes, int64_t count) {
  return OneHot(train::As(DType::kI32, classes), count, DType::kF32);
}

// The share of the targets whose logit is the greatest.
Tensor Hits(Tensor logits, Tensor targets) {
  Tensor theirs = Einsum("...|v; ...|v => ...|", logits, targets);
  Tensor hits =
      Convert(Equal(theirs, EinMax1("...|v => ...|", logits)), DType::kF32);
  return Einsum1("...| => |0", hits) / EmbedDim(hits, {RowKind::kBatch});
}

absl::Status AddTest(const Lessons& lessons, const Net& net, int64_t batch_size,
                     Supervised& result) {
  Batches batches(result.model.graph, lessons.test, "test", batch_size);
  OCANNL_RETURN_IF_ERROR(batches.Check());
  const Batch batch = batches.At("test_n", /*shuffles=*/false);
  Tensor logits = net(batch.inputs, train::kInference);
  Tensor targets = Targets(batch.classes, lessons.classes);
  for (Tensor kept : {logits, targets}) {
    OCANNL_RETURN_IF_ERROR(SetMemoryMode(kept, MemoryMode::kMaterialized));
  }
  Tensor loss = Named(train::CrossEntropy(logits, targets, {}), "test_loss");
  Tensor hits = Named(Hits(logits, targets), "test_hits");
  OCANNL_ASSIGN_OR_RETURN(Assignments first,
                          train::Forward(result.model, loss));
  OCANNL_ASSIGN_OR_RETURN(Assignments second,
                          train::Forward(result.model, hits));
  result.test = train::Sequence("test", {first, second});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Supervised>> MakeSupervised(
    const Lessons& lessons, const MakeNet& make_net,
    const SupervisedOptions& options) {
  auto result = std::make_unique<Supervised>();
  train::Model& model = result->model;
  Graph& graph = model.graph;
  graph.set_seed(options.seed);
  Batches batches(graph, lessons.train, "train", options.batch_size);
  OCANNL_RETURN_IF_ERROR(batches.Check());
  const Batch batch = batches.At("batch_n", options.shuffle);
  train::Training training{.step = graph.AddStatic("step", std::nullopt)};
  Tensor rate = ScheduledRate(options.schedule, graph, training.step,
                              options.rate, options.epochs * batches.count());
  const Net net = result->net = make_net({.graph = &graph, .name = ""});
  Tensor targets = Targets(batch.classes, lessons.classes);
  Tensor loss = Named(
      train::CrossEntropy(net(batch.inputs, &training), targets, {}), "loss");
  OCANNL_ASSIGN_OR_RETURN(Assignments gradient, train::GradUpdate(model, loss));
  OCANNL_ASSIGN_OR_RETURN(train::UpdateCode states,
                          train::UpdateStates(model, training.updates));
  OCANNL_ASSIGN_OR_RETURN(
      train::UpdateCode update,
      train::RuleUpdate(
          model, loss, rate,
          options.adamw ? train::AdamW({.weight_decay = options.weight_decay})
                        : train::Sgd({.momentum = options.momentum,
                                      .weight_decay = options.weight_decay})));
  OCANNL_ASSIGN_OR_RETURN(Assignments init, train::InitParams(model, loss));
  result->init = train::Sequence("init", {init, states.init, update.init});
  result->step =
      train::Sequence("step", {gradient, states.update, update.update});
  result->parameters = train::Parameters(model, loss);
  OCANNL_RETURN_IF_ERROR(AddTest(lessons, net, options.batch_size, *result));
  if (options.shuffle) {
    OCANNL_ASSIGN_OR_RETURN(
        result->order,
        train::BatchOrder::Make(
            lessons.train.inputs.dims()[0],
            {.batch_size = options.batch_size, .seed = options.seed}));
  }
  return result;
}

absl::Status StartEpoch(const Supervised& supervised, const Context& context,
                        int64_t epoch) {
  const std::optional<train::BatchOrder>& order = supervised.order;
  if (!order) return absl::OkStatus();
  return context.Write(
      "train_order",
      NdArray::Of<int32_t>({order->batches(), order->part_size()},
                           order->Epoch(epoch)));
}

absl::StatusOr<SupervisedRoutines> Start(const Supervised& supervised,
                                         const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(Routine init,
                          ToRoutine(context, supervised.init, {}));
  OCANNL_RETURN_IF_ERROR(init.Run());
  OCANNL_ASSIGN_OR_RETURN(Routine step,
                          ToRoutine(init.context(), supervised.step, {}));
  OCANNL_ASSIGN_OR_RETURN(Routine test,
                          ToRoutine(step.context(), supervised.test, {}));
  return SupervisedRoutines{.step = std::move(step), .test = std::move(test)};
}

absl::StatusOr<Score> TestScore(Routine& test) {
  Score sum;
  double batches = 0;
  auto run = [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR(test.Run());
    OCANNL_ASSIGN_OR_RETURN(NdArray loss, test.context().Read("test_loss"));
    OCANNL_ASSIGN_OR_RETURN(NdArray hits, test.context().Read("test_hits"));
    sum.loss += loss.AsDouble(0);
    sum.hits += hits.AsDouble(0);
    ++batches;
    return absl::OkStatus();
  };
  OCANNL_RETURN_IF_ERROR(train::SequentialLoop(test.statics(), run));
  return Score{.loss = sum.loss / batches, .hits = sum.hits / batches};
}

}  // namespace ocannl
