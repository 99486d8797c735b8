// SPDX-License-Identifier: Apache-2.0
//
// FaultyBackend: the interpreter with one bug, such as compilers have, put in
// on purpose. A test shows that the fuzzer notices each of them.
#ifndef TESTS_AGREE_FAULTY_BACKEND_H_
#define TESTS_AGREE_FAULTY_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl::fuzz {

struct Fault {
  absl::string_view name;
  LoopProgram (*rewrite)(LoopProgram);  // what is compiled instead; or null
  // What else the run does before and after it; or null.
  void (*around)(const LoopProgram&, absl::Span<std::byte* const> buffers,
                 bool after);
  void (*compile)(const LoopProgram&);  // what else compiling does; or null
};

absl::Span<const Fault> Faults();

class FaultyBackend : public Backend {
 public:
  // `fault` must outlive this.
  explicit FaultyBackend(const Fault* fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_->name; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

 private:
  const Fault* fault_;
};

}  // namespace ocannl::fuzz

#endif  // TESTS_AGREE_FAULTY_BACKEND_H_
