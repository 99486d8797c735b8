// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/wanted_debug_symbols.h"

#include <atomic>
#include <cstdlib>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"

namespace ocannl {
namespace {

std::atomic<bool> asked_for_origins = false;

}  // namespace

absl::string_view WantedDebugSymbols() {
  const char* wanted = std::getenv("OCANNL_JIT_SYMBOLS");
  return wanted == nullptr ? "" : wanted;
}

bool WantsGdb() {
  const std::vector<absl::string_view> words =
      absl::StrSplit(WantedDebugSymbols(), ',');
  return absl::c_linear_search(words, "gdb");
}

bool WantsOrigins() { return asked_for_origins || WantsGdb(); }

void AskForOrigins() { asked_for_origins = true; }

}  // namespace ocannl
