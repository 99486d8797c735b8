// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/bound_program.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/plan_buffers.h"

namespace ocannl {
namespace {

// Of one buffer in the piece of memory.
int64_t PaddedBytes(const Buffer& buffer) {
  constexpr int64_t kLine = DeviceMemory::kAlignment;
  int64_t bytes = NumElements(buffer.dims) * int64_t{sizeof(float)};
  return (bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

void FillNumbers(absl::string_view name, absl::Span<float> numbers) {
  uint32_t word = 2166136261;
  for (char c : name) word = (word ^ static_cast<uint8_t>(c)) * 16777619;
  for (float& number : numbers) {
    // The high bits of a Weyl sequence: even, and no two names alike.
    word += 2654435769;
    number = static_cast<float>(word >> 8) * 0x1p-24f - 0.5f;
  }
}

NdArray FilledArray(absl::string_view name, const Dims& dims, float scale,
                    float shift) {
  NdArray array(DType::kF32, dims);
  FillNumbers(name, array.values<float>());
  for (float& number : array.values<float>()) number = number * scale + shift;
  return array;
}

absl::StatusOr<std::unique_ptr<BoundProgram>> BoundProgram::Make(
    const LoopProgram& program, const NamedArrays& given) {
  auto bound = std::make_unique<BoundProgram>();
  OCANNL_ASSIGN_OR_RETURN(BufferPlan plan, PlanBuffers(program));
  OCANNL_ASSIGN_OR_RETURN(bound->scratch_,
                          DeviceMemory::Allocate(plan.arena_bytes));
  int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    if (IsScratch(buffer.role)) continue;
    if (buffer.dtype != DType::kF32) {
      return absl::UnimplementedError(
          absl::StrCat("buffer ", buffer.name, " is not of f32"));
    }
    bytes += PaddedBytes(buffer);
  }
  OCANNL_ASSIGN_OR_RETURN(bound->memory_, DeviceMemory::Allocate(bytes));
  std::byte* next = bound->memory_.address();
  for (BufferId k : program.buffers.ids()) {
    const Buffer& buffer = program.buffers[k];
    if (IsScratch(buffer.role)) {
      std::byte* place = bound->scratch_.address() + plan.offsets[k];
      bound->pointers_.push_back(plan.offsets[k] < 0 ? nullptr : place);
    } else {
      bound->pointers_.push_back(next);
      bound->places_.push_back(FirstPlace(buffer, given, next));
      next += PaddedBytes(buffer);
    }
  }
  for (const StaticIndex& index : program.statics) {
    bound->ranges_.push_back(index.range);
  }
  bound->statics_.resize(program.statics.size());
  return bound;
}

BoundProgram::Place BoundProgram::FirstPlace(const Buffer& buffer,
                                             const NamedArrays& given,
                                             std::byte* data) {
  Place place{.buffer = buffer,
              .numbers = {reinterpret_cast<float*>(data),
                          static_cast<size_t>(NumElements(buffer.dims))},
              .first_values = {}};
  auto values = given.find(buffer.name);
  if (values == given.end()) {
    FillNumbers(buffer.name, place.numbers);
  } else {
    CHECK(values->second.dims() == buffer.dims) << buffer.name;
    absl::c_copy(values->second.values<float>(), place.numbers.begin());
  }
  if (buffer.role == Role::kInOut) {
    place.first_values.assign(place.numbers.begin(), place.numbers.end());
  }
  return place;
}

absl::Span<float> BoundProgram::numbers(absl::string_view name) {
  for (const Place& place : places_) {
    if (place.buffer.name == name) return place.numbers;
  }
  CHECK(false) << "no buffer " << name;
  return {};
}

void BoundProgram::Reset() {
  for (const Place& place : places_) {
    absl::c_copy(place.first_values, place.numbers.begin());
  }
}

void BoundProgram::SetStep(int64_t step) {
  for (size_t k = 0; k < statics_.size(); ++k) {
    statics_[k] = ranges_[k] == kUnranged ? step : step % ranges_[k];
  }
}

std::vector<float> BoundProgram::Results(absl::string_view first) {
  std::vector<float> results;
  for (bool is_first : {true, false}) {
    for (const Place& place : places_) {
      if (!IsResult(place.buffer.role) ||
          (place.buffer.name == first) != is_first) {
        continue;
      }
      results.insert(results.end(), place.numbers.begin(), place.numbers.end());
    }
  }
  return results;
}

}  // namespace ocannl
