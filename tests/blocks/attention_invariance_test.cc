// SPDX-License-Identifier: Apache-2.0
//
// A row of attention has the same bits in every batch, behind every padding,
// and with a cache of keys and values: on the interpreter and on x86.
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using train::Decoding;
using train::kInference;
using train::MultiHeadAttention;

constexpr int64_t kSize = 12;  // of a vector of the sequence
constexpr int64_t kBatch = 3;
constexpr int64_t kLengths[] = {1, 2, 7, 16, 33, 128};
constexpr int64_t kKeySizes[] = {8, 16, 32, 64};

template <class T>
T Ok(absl::StatusOr<T> value) {
  CHECK_OK(value);
  return *std::move(value);
}

struct Sizes {
  int64_t batch, length, key_size;
  bool rope = false;
};

std::string TextOf(const Sizes& sizes) {
  return absl::StrCat(sizes.batch, " sequences of ", sizes.length,
                      ", heads of ", sizes.key_size,
                      sizes.rope ? ", rope" : "");
}

// Vectors of kSize cells: places of one sequence after the other.
using Rows = std::vector<float>;

Rows RandomRows(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Rows rows(count * kSize);
  for (float& cell : rows) cell = normal(random);
  return rows;
}

// The first `length` places of each of the sequences, which have `all` places.
Rows FirstPlaces(const Rows& rows, int64_t all, int64_t length) {
  Rows first;
  for (size_t k = 0; k < rows.size(); k += all * kSize) {
    const auto from = rows.begin() + static_cast<std::ptrdiff_t>(k);
    first.insert(first.end(), from, from + length * kSize);
  }
  return first;
}

// Behind the places of each sequence, others that are no zeros.
Rows Padded(const Rows& rows, int64_t length, int64_t all) {
  Rows padded;
  for (size_t k = 0; k < rows.size(); k += length * kSize) {
    const auto from = rows.begin() + static_cast<std::ptrdiff_t>(k);
    padded.insert(padded.end(), from, from + length * kSize);
    absl::c_copy(RandomRows(all - length, static_cast<unsigned>(k) + 9),
                 std::back_inserter(padded));
  }
  return padded;
}

bool SameBits(const Rows& a, const Rows& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Self-attention of two heads, whose parameters are the same for all lengths.
class Net {
 public:
  Net(const Backend& tier, const Sizes& of)
      : sizes_(of),
        device_(&tier),
        x_(Input(model_.graph, "x",
                 absl::StrCat(of.length, ",", of.batch, "|", kSize))),
        mask_(
            Input(model_.graph, "mask",
                  absl::StrCat(of.batch, ",", of.length, "|", of.length, "->"),
                  DType::kBool)),
        attend_({.graph = &model_.graph, .name = "net"},
                {.size = kSize,
                 .heads = 2,
                 .key_size = of.key_size,
                 .rope_length = of.rope ? std::optional<int64_t>(of.length)
                                        : std::nullopt}) {
    const Tensor sequence = Einsum1("t, b|d => b, t|d", x_);
    all_ = attend_(sequence, sequence, mask_, kInference);
    SetParams();
    at_once_ = Ok(ToRoutine(started_, Ok(train::Forward(model_, all_)), {}));
  }

  // With all places at once, of which the place s sees the place t if
  // t < `length`, and t <= s if it `is_causal`.
  Rows AtOnce(const Rows& rows, int64_t length, bool is_causal) {
    WriteInputs(rows, length, is_causal);
    CHECK_OK(at_once_->Run());
    const NdArray found = Ok(at_once_->context().Read(all_.node().name));
    return {found.values<float>().begin(), found.values<float>().end()};
  }

  // With the cache, one place after the other.
  Rows OneByOne(const Rows& rows) {
    WriteInputs(rows, sizes_.length, true);
    Decoding decoding{
        .position = model_.graph.AddStatic("position", sizes_.length),
        .length = sizes_.length,
        .batch = {sizes_.batch}};
    const Tensor found = attend_.Step(Slice(x_, decoding.position), decoding);
    const Assignments forward = Ok(train::Forward(model_, found));
    const train::UpdateCode cache =
        Ok(train::UpdateStates(model_, decoding.step));
    Routine init = Ok(ToRoutine(started_, cache.init, {}));
    CHECK_OK(init.Run());
    Routine step = Ok(ToRoutine(
        init.context(), train::Sequence("step", {forward, cache.update}), {}));
    Rows result(rows.size());
    for (int64_t t = 0; t < sizes_.length; ++t) {
      CHECK_OK(step.Set("position", t));
      CHECK_OK(step.Run());
      const NdArray some = Ok(step.context().Read(found.node().name));
      for (int64_t k = 0; k < some.size(); ++k) {
        const int64_t sequence = k / kSize;
        result[(sequence * sizes_.length + t) * kSize + k % kSize] =
            some.values<float>()[k];
      }
    }
    return result;
  }

 private:
  void SetParams() {
    Routine init =
        Ok(ToRoutine(device_.context, Ok(train::InitParams(model_, all_)), {}));
    CHECK_OK(init.Run());
    started_ = init.context();
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.4F);
    for (Tensor p : train::Parameters(model_, all_)) {
      NdArray array = Ok(started_.Read(p.node().name));
      for (float& cell : array.values<float>()) cell = normal(random);
      CHECK_OK(started_.Write(p.node().name, array));
    }
  }

  void WriteInputs(const Rows& rows, int64_t length, bool is_causal) {
    const int64_t n = sizes_.length, batch = sizes_.batch;
    NdArray x(DType::kF32, {n, batch, kSize});
    for (int64_t k = 0; k < x.size(); ++k) {
      const int64_t place = k / kSize / batch, b = k / kSize % batch;
      x.values<float>()[k] = rows[(b * n + place) * kSize + k % kSize];
    }
    NdArray mask(DType::kBool, {batch, n, n});
    for (int64_t k = 0; k < mask.size(); ++k) {
      const int64_t s = k / n % n, t = k % n;
      mask.values<bool>()[k] = t < length && (!is_causal || t <= s);
    }
    CHECK_OK(started_.Write("x", x));
    CHECK_OK(started_.Write("mask", mask));
  }

  Sizes sizes_;
  TestDevice device_;
  train::Model model_;
  Tensor x_, mask_;
  MultiHeadAttention attend_;
  Tensor all_;
  Context started_{device_.context};
  std::optional<Routine> at_once_;
};

// Of each tier, and that all tiers give the same.
Rows OnAllTiers(const Sizes& sizes, absl::FunctionRef<Rows(Net&)> result) {
  std::optional<Rows> first;
  for (const fuzz::ComparedTier& tier :
       Ok(fuzz::FindComparedTiers({"interp", "x86-avx2", "x86-avx512"}))) {
    if (!tier.available) continue;
    Net net(*tier.backend(), sizes);
    const Rows rows = result(net);
    if (!first) first = rows;
    EXPECT_TRUE(SameBits(*first, rows)) << tier.name << ": " << TextOf(sizes);
  }
  return *first;
}

Rows AtOnce(const Sizes& sizes, const Rows& x, bool is_causal = false) {
  return OnAllTiers(
      sizes, [&](Net& net) { return net.AtOnce(x, sizes.length, is_causal); });
}

class AttentionInvarianceTest
    : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {
 protected:
  const int64_t length_ = std::get<0>(GetParam());
  const int64_t key_size_ = std::get<1>(GetParam());
  const Rows x_ = RandomRows(kBatch * length_, 1);
};

// Each sequence of a batch is as if it were alone.
TEST_P(AttentionInvarianceTest, Batch) {
  const Rows all = AtOnce({kBatch, length_, key_size_}, x_);
  const int64_t cells = length_ * kSize;
  const Rows alone = OnAllTiers({1, length_, key_size_}, [&](Net& net) {
    Rows rows;
    for (int64_t k = 0; k < kBatch; ++k) {
      const Rows one(x_.begin() + k * cells, x_.begin() + (k + 1) * cells);
      absl::c_copy(net.AtOnce(one, length_, false), std::back_inserter(rows));
    }
    return rows;
  });
  EXPECT_TRUE(SameBits(all, alone));
}

// What is behind a sequence and masked changes nothing.
TEST_P(AttentionInvarianceTest, Padding) {
  const Rows unpadded = AtOnce({kBatch, length_, key_size_}, x_);
  for (int64_t padded_length : {length_ + 1, 2 * length_, int64_t{130}}) {
    const Rows padded =
        OnAllTiers({kBatch, padded_length, key_size_}, [&](Net& net) {
          const Rows x = Padded(x_, length_, padded_length);
          return FirstPlaces(net.AtOnce(x, length_, false), padded_length,
                             length_);
        });
    EXPECT_TRUE(SameBits(unpadded, padded)) << "padded to " << padded_length;
  }
}

// One place after the other with its cache is the whole sequence, of one
// sequence and of a batch.
TEST_P(AttentionInvarianceTest, Cache) {
  for (const bool rope : {false, true}) {
    for (const int64_t batch : {int64_t{1}, kBatch}) {
      const Sizes sizes{batch, length_, key_size_, rope};
      const Rows x(x_.begin(), x_.begin() + batch * length_ * kSize);
      const Rows at_once = AtOnce(sizes, x, true);
      const Rows one_by_one =
          OnAllTiers(sizes, [&](Net& net) { return net.OneByOne(x); });
      EXPECT_TRUE(SameBits(at_once, one_by_one)) << TextOf(sizes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LengthsAndHeads, AttentionInvarianceTest,
                         testing::Combine(testing::ValuesIn(kLengths),
                                          testing::ValuesIn(kKeySizes)));

}  // namespace
}  // namespace ocannl
