// SPDX-License-Identifier: Apache-2.0
//
// BoundProgram: memory for the buffers of a program, with first values.
//
//   OCANNL_ASSIGN_OR_RETURN(auto bound, BoundProgram::Make(program, {}));
//   executable->Run(bound->buffers(), bound->statics());
//   std::vector<float> numbers = bound->Results("loss");
#ifndef EXPERIMENTS_BENCH_BOUND_PROGRAM_H_
#define EXPERIMENTS_BENCH_BOUND_PROGRAM_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {

using NamedArrays = std::map<std::string, NdArray>;

// Numbers in [-0.5, 0.5) that depend on the name and on the place.
void FillNumbers(absl::string_view name, absl::Span<float> numbers);

// The same, times `scale`, plus `shift`.
NdArray FilledArray(absl::string_view name, const Dims& dims, float scale,
                    float shift);

class BoundProgram {
 public:
  // A buffer that the program reads begins with what is `given` under its
  // name, or is filled. Error: no memory, a buffer that is not of f32.
  static absl::StatusOr<std::unique_ptr<BoundProgram>> Make(
      const LoopProgram& program, const NamedArrays& given);

  absl::Span<std::byte* const> buffers() const { return pointers_; }
  absl::Span<const int64_t> statics() const { return statics_; }
  absl::Span<float> numbers(absl::string_view name);

  // Makes everything as it was at first.
  void Reset();

  // The static indices of step `step`: they all count the steps, those with a
  // range modulo it.
  void SetStep(int64_t step);

  // What is in the `out` and `inout` buffers: in `first`, if it is one, and
  // then in the others, in their order.
  std::vector<float> Results(absl::string_view first);

 private:
  struct Place {
    Buffer buffer;
    absl::Span<float> numbers;
    std::vector<float> first_values;  // of `inout` buffers
  };

  // The buffer at `data`, with its first values.
  static Place FirstPlace(const Buffer& buffer, const NamedArrays& given,
                          std::byte* data);

  DeviceMemory memory_;       // one piece, for the sake of huge pages
  std::vector<Place> places_;  // of all buffers but scratch
  DeviceMemory scratch_;
  std::vector<std::byte*> pointers_;
  std::vector<int64_t> statics_;
  std::vector<int64_t> ranges_;  // of the statics
};

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_BOUND_PROGRAM_H_
