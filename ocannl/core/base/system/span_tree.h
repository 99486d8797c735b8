// SPDX-License-Identifier: Apache-2.0
//
// SpanTree: what a thread did inside of what, for people to read: indented
// text, or HTML whose branches fold.
//
//      0.412 ms  lower  moons_step
//      0.080 ms    pass  virtualize
//      1.731 ms  run  moons_step, 80 times
#ifndef OCANNL_CORE_BASE_SYSTEM_SPAN_TREE_H_
#define OCANNL_CORE_BASE_SYSTEM_SPAN_TREE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl {

struct SpanTree {
  std::string thread;  // of a root; empty: the main one
  std::string category, name;
  std::string detail = "";  // "bytes 64"
  double milliseconds = 0;  // of all times
  int64_t times = 1;
  std::vector<SpanTree> inner = {};
};

// Puts `span` behind its siblings, or counts it with one of the last few that
// is alike, and so are those inside.
void AddSpan(SpanTree span, std::vector<SpanTree>& siblings);

// A line for each; those inside are indented by `depth` steps more.
std::string SpanText(absl::Span<const SpanTree> spans, int depth = 0);

// The beginning of a page, its body, and its end.
extern const absl::string_view kSpanPageHead, kSpanPageEnd;
std::string SpanHtml(absl::Span<const SpanTree> spans);

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_SPAN_TREE_H_
