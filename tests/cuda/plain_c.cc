// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/plain_c.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/codegen/c_text.h"
#include "ocannl/core/codegen/compile_c.h"

namespace ocannl {
namespace {

using Library = std::shared_ptr<const SharedLibrary>;

class GccExecutable : public Executable {
 public:
  explicit GccExecutable(Library code)
      : code_(std::move(code)),
        run_(code_->Find<void(std::byte* const*, const int64_t*)>("run")) {}

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    run_(buffers.data(), statics.data());
  }

 private:
  Library code_;
  void (*run_)(std::byte* const*, const int64_t*);
};

class GccBackend : public Backend {
 public:
  absl::string_view name() const override { return "c"; }

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    // A program that comes again is not compiled again.
    static auto* compiled = new std::map<std::string, Library>();
    const std::string text = CText(program);
    Library& code = (*compiled)[text];
    if (code == nullptr) {
      OCANNL_ASSIGN_OR_RETURN(
          code, CompileC(text, {"-O1", "-march=native", "-ffp-contract=off",
                                "-fno-strict-aliasing", "-lm"}));
    }
    return std::make_unique<GccExecutable>(code);
  }
};

}  // namespace

const Backend& PlainC() {
  static const auto* backend = new GccBackend();
  return *backend;
}

}  // namespace ocannl
