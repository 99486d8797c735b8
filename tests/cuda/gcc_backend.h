// SPDX-License-Identifier: Apache-2.0
//
// GccBackend: programs as text that gcc compiles: what the text says, run on
// the processor.
//
//   EXPECT_EQ(fuzz::Trial(program, kind, seed).Try(EmulatedCuda()), "");
#ifndef TESTS_CUDA_GCC_BACKEND_H_
#define TESTS_CUDA_GCC_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

class GccBackend : public Backend {
 public:
  // `text` gives a program a text of C++ that has a function
  //   extern "C" void run(char* const* buffers, const int64_t* statics);
  GccBackend(std::string name, std::string language,
             std::function<std::string(const LoopProgram&)> text)
      : name_(std::move(name)),
        language_(std::move(language)),
        text_(std::move(text)) {}

  absl::string_view name() const override { return name_; }

  // Error: what gcc says.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

 private:
  const std::string name_;
  const std::string language_;
  const std::function<std::string(const LoopProgram&)> text_;
};

// The text of core/codegen/c_text.h.
const Backend& PlainC();

// The text of cuda/kernel_text.h: blocks one after the other, the threads of a
// block as coroutines that switch at __syncthreads(), both in another order in
// each run: ascending, descending, shuffled. Shared memory holds NaNs at first.
const Backend& EmulatedCuda();

// The same of the program that schedule_gpu.h makes for the tiny target.
const Backend& EmulatedScheduledCuda();

// What EmulatedCuda compiles.
std::string EmulatedText(const LoopProgram& program);

}  // namespace ocannl

#endif  // TESTS_CUDA_GCC_BACKEND_H_
