// SPDX-License-Identifier: Apache-2.0
//
// RunVcodePass: one pass over the VCode of a text, for goldens.
//
//   RunVcodePass("fold_loads", "avx2", "p (): in x : f32[8];\nnest\n...");
#ifndef OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_
#define OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_

#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/vcode/text/parse.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/vcode/verify.h"

namespace ocannl {

// The nest after the pass, which is verified. `text` is a program, which names
// the buffers, a line `nest` and the nest. Errors: no pass or instruction set
// of that name, a text that does not parse, a nest that is not valid.
inline absl::StatusOr<std::string> RunVcodePass(absl::string_view pass,
                                                absl::string_view isa,
                                                absl::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits("nest\n", 1));
  const auto named_isa = absl::c_find_if(
      jit::kIsas, [&](jit::Isa each) { return Name(each) == isa; });
  const auto passes = jit::VcodePasses();
  const auto named_pass = absl::c_find_if(
      passes, [&](const jit::VcodePass& each) { return each.name == pass; });
  if (parts.size() != 2 || named_isa == std::end(jit::kIsas) ||
      named_pass == passes.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no pass ", pass, " for ", isa, ", or no line `nest`"));
  }
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program, Parse(parts[0]));
  OCANNL_ASSIGN_OR_RETURN(jit::Nest nest, jit::Parse(program, parts[1]));
  named_pass->run(nest, *named_isa);
  OCANNL_RETURN_IF_ERROR(Verify(nest));
  return Print(program, nest);
}

}  // namespace ocannl

#endif  // OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_
