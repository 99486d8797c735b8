// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/traced_backend.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"

namespace ocannl {
namespace {

class TracedExecutable : public Executable {
 public:
  TracedExecutable(std::string name, const char* category,
                   std::unique_ptr<Executable> executable)
      : name_(std::move(name)),
        category_(category),
        executable_(std::move(executable)) {}

  bool HasScratch() const override { return executable_->HasScratch(); }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    const TraceSpan span(category_, name_);
    executable_->Run(buffers, statics);
  }

  void Repeat(absl::Span<std::byte* const> buffers, absl::Span<int64_t> statics,
              absl::Span<const int64_t> steps, int64_t count) const override {
    const TraceSpan span(category_, name_, "repetitions", count);
    executable_->Repeat(buffers, statics, steps, count);
  }

 private:
  const std::string name_;
  const char* const category_;
  const std::unique_ptr<Executable> executable_;
};

absl::StatusOr<std::unique_ptr<Executable>> Traced(
    const LoopProgram& program, const std::string& category,
    absl::StatusOr<std::unique_ptr<Executable>> executable) {
  OCANNL_RETURN_IF_ERROR(executable.status());
  return std::make_unique<TracedExecutable>(program.name, category.c_str(),
                                            *std::move(executable));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> TracedBackend::Compile(
    const LoopProgram& program) const {
  const TraceSpan span(compile_.c_str(), program.name);
  return Traced(program, run_, backend_.Compile(program));
}

absl::StatusOr<std::unique_ptr<Executable>> TracedBackend::CompileHot(
    const LoopProgram& program) const {
  const TraceSpan span(compile_.c_str(), program.name);
  return Traced(program, run_, backend_.CompileHot(program));
}

}  // namespace ocannl
