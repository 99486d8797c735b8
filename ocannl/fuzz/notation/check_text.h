// SPDX-License-Identifier: Apache-2.0
//
// CheckText: takes a text the whole way, from reading to the interpreter, and
// holds what comes out against what the texts means.
#ifndef OCANNL_FUZZ_NOTATION_CHECK_TEXT_H_
#define OCANNL_FUZZ_NOTATION_CHECK_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/fuzz/notation/compare_code.h"
#include "ocannl/fuzz/notation/random_text.h"

namespace ocannl::fuzz {

struct TextOutcome {
  // How far it came.
  enum Stage : uint8_t {
    kIllegal,   // by the parser
    kNoShapes,  // by inference
    kNoCode,    // by what makes code of it
    kTooLarge,  // to be run here
    kRan,
    kCompared,  // an einsum with its definition, or code on tiers
  };
  static constexpr int kNumStages = 6;

  Stage stage;
  bool open = false;  // whether the definition leaves it open if it has shapes
  std::string error;  // of the engine; empty: none
};
absl::string_view Name(TextOutcome::Stage stage);

// Never allocates or computes much. It is an error of the engine if a text that
// is made to fit is refused. Compares its code, with that of gradients,
// on the tiers of `trial`, if it has some. A crash or a hang is one here.
TextOutcome CheckText(const RandomText& text, const CodeTrial& trial = {});

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_CHECK_TEXT_H_
