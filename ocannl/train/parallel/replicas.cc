// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/replicas.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/runtime/threads/worker.h"
#include "ocannl/core/tensor/memory_mode.h"
#include "ocannl/train/distributed/connect_devices.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/params_hash.h"

namespace ocannl::train {

std::vector<MergePair> ParallelMerge(int n) {
  std::vector<MergePair> pairs;
  while (n > 1) {
    const int half = n / 2;
    const int first = n % 2;  // the odd one out is in the next round
    for (int to = first; to < first + half; ++to) {
      pairs.push_back({.from = to + half, .to = to});
    }
    n = first + half;
  }
  return pairs;
}

int ReplicasHere(int count, const Communicator* ranks) {
  if (ranks == nullptr) return count;
  return (count - ranks->rank() + ranks->ranks() - 1) / ranks->ranks();
}

absl::StatusOr<int> CountReplicas(int here, Communicator* ranks) {
  if (ranks == nullptr) return here;
  OCANNL_ASSIGN_OR_RETURN(const auto all, AllGather(*ranks, here));
  const auto count = static_cast<int>(absl::c_accumulate(all, uint64_t{0}));
  if (here > 0 && here == ReplicasHere(count, ranks)) return count;
  return absl::InvalidArgumentError(absl::StrCat(
      "the ranks have ", absl::StrJoin(all, ", "), " devices; the first ones ",
      "must have as many as the others or one more, and all have one"));
}

// What merging between ranks takes: a stream for all, so that messages are in
// one order, and with a thread while others compute.
struct Replicas::Exchange {
  Exchange(Communicator* with, const Device* device, bool overlaps)
      : ranks(with),
        worker(overlaps ? std::make_unique<Worker>() : nullptr),
        stream(device, {.traces = false, .worker = worker.get()}) {}

  // Waits for all messages.
  absl::Status Finish() {
    stream.Sync();
    return stream.status();
  }

  // Before arrays end, which waits for all that has them, such as a message of
  // a rank that failed.
  void Disconnect() {
    if (devices != nullptr) devices->Disconnect();
  }

  // Work on an array, whose bytes are where `bytes` says: calls
  // message(communicator, its bytes), unless one before it failed. The ranks no
  // longer agree which is next then.
  template <class Message>
  auto Saying(Message message) {
    return [this, message](auto array) {
      if (failed.ok()) failed = message(devices ? *devices : *ranks, array);
      return failed;
    };
  }
  Context::Bytes bytes() const {
    return devices ? Context::Bytes::kInPlace : Context::Bytes::kOnHost;
  }

  Communicator* ranks;
  std::unique_ptr<DeviceRanks> devices;  // null: by way of the hosts
  absl::Status failed;                   // of the stream's thread
  std::unique_ptr<Worker> worker;
  Stream stream;
};

Replicas::Replicas() = default;
Replicas::Replicas(Replicas&&) noexcept = default;
Replicas& Replicas::operator=(Replicas&&) noexcept = default;
Replicas::~Replicas() {
  if (exchange_ != nullptr) exchange_->Disconnect();
}

absl::StatusOr<Replicas> Replicas::Make(Model& model,
                                        absl::Span<const Tensor> parameters,
                                        absl::Span<const Tensor> trained,
                                        std::vector<Context> contexts,
                                        const ReplicasOptions& options) {
  Replicas made;
  Communicator* ranks = options.communicator;
  if (ranks != nullptr && ranks->ranks() == 1) ranks = nullptr;
  OCANNL_ASSIGN_OR_RETURN(
      made.count_, CountReplicas(static_cast<int>(contexts.size()), ranks));
  made.copies_ = options.copy_to_merge;
  made.parameters_.assign(parameters.begin(), parameters.end());
  made.contexts_ = made.merging_ = std::move(contexts);
  if (ranks != nullptr) {
    made.exchange_ =
        std::make_unique<Exchange>(ranks, &made.contexts_[0].stream().device(),
                                   options.buckets.size() > 1);
    OCANNL_ASSIGN_OR_RETURN(
        made.exchange_->devices,
        ConnectDevices(made.contexts_[0].stream().device().backend(), *ranks));
    for (Context& context : made.merging_) {
      context = Context(&made.exchange_->stream);
    }
  }
  if (ranks != nullptr && ranks->rank() > 0) {  // to be there for messages
    for (Tensor p : parameters) {
      const std::string& name = p.node().name;
      OCANNL_ASSIGN_OR_RETURN(NdArray zeros, made.contexts_[0].ZerosLike(name));
      OCANNL_RETURN_IF_ERROR(made.merging_[0].Write(name, zeros));
    }
  }
  Assignments finish;
  finish.name = "finish_merge";
  for (Tensor p : trained) {
    OCANNL_RETURN_IF_ERROR(
        made.LinkMerges(model, p, ".grad", options.divisor, finish));
  }
  made.buckets_ = options.buckets;
  if (made.buckets_.empty()) {
    made.buckets_.emplace_back(trained.size());
    std::iota(made.buckets_[0].begin(), made.buckets_[0].end(), 0);
  }
  if (options.loss) {
    OCANNL_RETURN_IF_ERROR(
        made.LinkMerges(model, *options.loss, "", options.divisor, finish));
    made.buckets_.back().push_back(static_cast<int>(trained.size()));
  }
  if (!finish.list.empty() && made.Here(0)) {
    OCANNL_ASSIGN_OR_RETURN(made.finish_,
                            ToRoutine(made.contexts_[0], finish, {}));
  }
  return made;
}

Communicator* Replicas::ranks() const {
  return exchange_ == nullptr ? nullptr : exchange_->ranks;
}

std::optional<int> Replicas::Here(int k) const {
  if (ranks() == nullptr) return k;
  if (k % ranks()->ranks() != ranks()->rank()) return std::nullopt;
  return k / ranks()->ranks();
}

absl::Status Replicas::LinkMerges(Model& model, Tensor of,
                                  absl::string_view suffix, int64_t divisor,
                                  Assignments& finish) {
  const std::string array = absl::StrCat(of.node().name, suffix);
  const std::string x = absl::StrCat("x", suffix);
  auto parse = [&](const std::string& text) -> absl::StatusOr<Assignments> {
    OCANNL_ASSIGN_OR_RETURN(UpdateCode code,
                            ParseCode(model, text, {.tensors = {{"x", of}}}));
    const absl::Status kept = Keep(code.update, array);
    if (!absl::IsNotFound(kept)) OCANNL_RETURN_IF_ERROR(kept);
    return std::move(code.update);
  };
  const std::string quotient = divisor > 1 ? absl::StrCat(" /. ", divisor) : "";
  std::string sum = x;
  widen_.emplace_back();
  merged_.push_back(array);
  if (count_ > 1 && IsNarrow(of.node().dtype)) {
    sum = "x.shard_sum";
    merged_.back() = absl::StrCat("shard_sum_", of.node().name);
    if (!model.states.contains(merged_.back())) {
      const std::string declared = absl::StrCat(
          "~~(x \"sum of shards\"; { shard_sum } =: shard_sum + widen(", x,
          "))");
      OCANNL_RETURN_IF_ERROR(parse(declared).status());
    }
    OCANNL_ASSIGN_OR_RETURN(Assignments code,
                            parse(absl::StrCat(sum, " =: widen(", x, ")")));
    code.name = absl::StrCat("widen_", array);
    OCANNL_ASSIGN_OR_RETURN(widen_.back(), ToRoutines(contexts_, code, {}));
    OCANNL_ASSIGN_OR_RETURN(code,
                            parse(absl::StrCat(x, " =: ", sum, quotient)));
    Append(finish, code);
  } else if (divisor > 1) {
    OCANNL_ASSIGN_OR_RETURN(const Assignments code,
                            parse(absl::StrCat(x, " =/ ", divisor)));
    Append(finish, code);
  }
  OCANNL_ASSIGN_OR_RETURN(Assignments merge,
                          parse(absl::StrCat(sum, " =+ ", sum, kMergeSuffix)));
  merge.name = absl::StrCat("merge_", array);
  // Into the lower half, rounded up, in whatever round.
  const int targets = count_ > 1 ? ReplicasHere((count_ + 1) / 2, ranks()) : 0;
  OCANNL_ASSIGN_OR_RETURN(
      merges_.emplace_back(),
      ToRoutines(absl::MakeSpan(merging_).first(targets), merge, {}));
  return absl::OkStatus();
}

absl::Status Replicas::MergeGradients(int n) {
  for (size_t bucket = 0; bucket < buckets(); ++bucket) {
    OCANNL_RETURN_IF_ERROR(BeginMerge(bucket, n));
  }
  return FinishMerge();
}

absl::Status Replicas::BeginMerge(size_t bucket, int n) {
  CHECK(n <= count_) << n;
  const std::vector<int>& arrays = buckets_[bucket];
  for (int k = 0; k < n; ++k) {
    const std::optional<int> here = Here(k);
    if (!here) continue;
    for (int array : arrays) {
      if (!widen_[array].empty()) {
        OCANNL_RETURN_IF_ERROR(widen_[array][*here].Run());
      }
      if (exchange_ == nullptr) continue;
      OCANNL_RETURN_IF_ERROR(
          merging_[*here].Copy(merged_[array], contexts_[*here]));
    }
  }
  for (MergePair pair : ParallelMerge(n)) {
    OCANNL_RETURN_IF_ERROR(Merge(pair, arrays));
  }
  return absl::OkStatus();
}

absl::Status Replicas::Merge(MergePair pair, absl::Span<const int> bucket) {
  const std::optional<int> from = Here(pair.from);
  const std::optional<int> to = Here(pair.to);
  if (!from && !to) return absl::OkStatus();
  auto other = [&] { return (from ? pair.to : pair.from) % ranks()->ranks(); };
  for (int array : bucket) {
    const std::string& name = merged_[array];
    if (!to) {
      auto send = [rank = other()](Communicator& with, auto bytes) {
        return with.Send(rank, bytes);
      };
      OCANNL_RETURN_IF_ERROR(merging_[*from].Use(name, exchange_->Saying(send),
                                                 exchange_->bytes()));
      continue;
    }
    const Context& context = merging_[*to];
    if (!from) {
      auto receive = [rank = other()](Communicator& with, auto bytes) {
        return with.Receive(rank, bytes);
      };
      OCANNL_RETURN_IF_ERROR(context.FillMerge(name, exchange_->Saying(receive),
                                               exchange_->bytes()));
    } else if (copies_ || !context.SharesMemoryWith(merging_[*from])) {
      OCANNL_RETURN_IF_ERROR(context.CopyToMerge(name, merging_[*from]));
    } else {
      OCANNL_RETURN_IF_ERROR(context.PointMerge(name, merging_[*from]));
    }
    OCANNL_RETURN_IF_ERROR(merges_[array][*to].Run());
  }
  if (to) merging_[*to].ReleaseMerge();
  return absl::OkStatus();
}

absl::Status Replicas::FinishMerge() {
  if (exchange_ != nullptr) {
    OCANNL_RETURN_IF_ERROR(exchange_->Finish());
    if (!Here(0)) return absl::OkStatus();
    for (const std::string& name : merged_) {
      OCANNL_RETURN_IF_ERROR(contexts_[0].Copy(name, merging_[0]));
    }
  }
  return finish_ ? finish_->Run() : absl::OkStatus();
}

absl::Status Replicas::BroadcastParameters() {
  const Context& context = merging_[0];
  for (Tensor p : parameters_) {
    const std::string& name = p.node().name;
    if (Here(0)) {
      OCANNL_RETURN_IF_ERROR(context.Copy(name, contexts_[0]));
      OCANNL_RETURN_IF_ERROR(context.Use(name, exchange_->Saying(BroadcastOwn),
                                         exchange_->bytes()));
    } else {
      OCANNL_RETURN_IF_ERROR(
          context.Fill(name, exchange_->Saying(Broadcast), exchange_->bytes()));
    }
  }
  OCANNL_RETURN_IF_ERROR(exchange_->Finish());
  if (Here(0)) return absl::OkStatus();
  for (Tensor p : parameters_) {
    OCANNL_RETURN_IF_ERROR(contexts_[0].Copy(p.node().name, context));
  }
  return absl::OkStatus();
}

absl::Status Replicas::ShareParameters() {
  if (exchange_ != nullptr) OCANNL_RETURN_IF_ERROR(BroadcastParameters());
  for (size_t k = 1; k < contexts_.size(); ++k) {
    for (Tensor p : parameters_) {
      OCANNL_RETURN_IF_ERROR(contexts_[k].Copy(p.node().name, contexts_[0]));
    }
  }
  return absl::OkStatus();
}

absl::Status Replicas::Gather(absl::Span<uint64_t> values) const {
  if (exchange_ == nullptr) return absl::OkStatus();
  OCANNL_RETURN_IF_ERROR(exchange_->Finish());
  return AllGather(*exchange_->ranks, values);
}

absl::Status Replicas::SyncRanks() {
  OCANNL_RETURN_IF_ERROR(ShareParameters());
  if (exchange_ == nullptr) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const std::string hash,
                          ParamsHash(contexts_[0], parameters_));
  uint64_t bits = 0;
  CHECK(absl::SimpleHexAtoi(hash, &bits));
  return CheckAgree(*exchange_->ranks, "parameters", bits,
                    "look for what changes bits between them: --check on each");
}

}  // namespace ocannl::train
