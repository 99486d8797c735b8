// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/emulation/emulated_kernels.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/fuzz/emulation/emulated_device.h"

namespace ocannl::fuzz {

void Call::Run() const {
  std::vector<long> all(512);  // the room that it asks for
  for (size_t k = 0; k < arguments.size(); ++k) {
    all[k] = reinterpret_cast<long>(HostAddress(arguments[k]));
  }
  auto* const launch =
      function.code->Find<void(void (*)(), const long*, unsigned, unsigned,
                               unsigned, unsigned)>("launch");
  launch(function.kernel, all.data(), static_cast<unsigned>(arguments.size()),
         blocks, threads, (*function.runs)++ % 3);
}

void RunGraph(absl::Span<const Call> calls, std::mt19937& random) {
  std::vector<bool> done(calls.size(), false);
  for (size_t rest = calls.size(); rest > 0; --rest) {
    std::vector<size_t> ready;
    for (size_t k = 0; k < calls.size(); ++k) {
      bool waits = done[k];
      for (size_t other : calls[k].after) waits = waits || !done[other];
      if (!waits) ready.push_back(k);
    }
    const size_t next = ready[random() % ready.size()];
    calls[next].Run();
    done[next] = true;
  }
}

absl::StatusOr<Library> CompileKernels(const std::string& text) {
  static auto* compiled = new std::map<std::string, Library>();
  Library& library = (*compiled)[text];
  if (library != nullptr) return library;
  // What stands around C's headers for C++ would take half of the time.
  auto code = CompileC(
      absl::StrCat(kEmulatedDevice, text),
      {"-O1", "-march=native", "-ffp-contract=off", "-fno-strict-aliasing",
       "-D_GLIBCXX_INCLUDE_NEXT_C_HEADERS", "-lm"},
      "c++");
  if (code.ok()) library = *code;
  return code;
}

}  // namespace ocannl::fuzz
