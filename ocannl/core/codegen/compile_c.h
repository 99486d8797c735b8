// SPDX-License-Identifier: Apache-2.0
//
// CompileC: what the system's C compiler makes of a text.
//
//   OCANNL_ASSIGN_OR_RETURN(auto code, CompileC(text, {"-O3"}));
//   auto* run = code->Find<void(float*)>("run");
#ifndef OCANNL_CORE_CODEGEN_COMPILE_C_H_
#define OCANNL_CORE_CODEGEN_COMPILE_C_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/system/shared_library.h"

namespace ocannl {

// The library that `gcc -shared` makes of the text of a language, "c" or "c++",
// or of the empty text and archives among the flags. Error: no gcc, or what it
// has to say.
absl::StatusOr<std::shared_ptr<const SharedLibrary>> CompileC(
    absl::string_view text, const std::vector<std::string>& flags,
    absl::string_view language = "c");

}  // namespace ocannl

#endif  // OCANNL_CORE_CODEGEN_COMPILE_C_H_
