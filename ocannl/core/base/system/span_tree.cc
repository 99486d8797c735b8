// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/span_tree.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace ocannl {
namespace {

// Routines that take turns are counted, too.
constexpr size_t kLookBack = 8;

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\n", " "}});
}

// What stands behind the name.
std::string Details(const SpanTree& span) {
  return absl::StrCat(
      span.detail.empty() ? "" : absl::StrCat(", ", span.detail),
      span.times == 1 ? "" : absl::StrCat(", ", span.times, " times"),
      span.thread.empty() ? "" : absl::StrCat(", on ", span.thread));
}

bool IsAlike(const SpanTree& a, const SpanTree& b) {
  return a.thread == b.thread && a.category == b.category && a.name == b.name &&
         a.detail == b.detail && absl::c_equal(a.inner, b.inner, IsAlike);
}

// Counts `other`, which is alike, with `span`.
void Count(SpanTree& span, const SpanTree& other) {
  span.milliseconds += other.milliseconds;
  span.times += other.times;
  for (size_t k = 0; k < span.inner.size(); ++k) {
    Count(span.inner[k], other.inner[k]);
  }
}

}  // namespace

const absl::string_view kSpanPageHead = R"(<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>ocannl</title><style>
body { font-family: monospace }
details, div { margin-left: 2em }
i { display: inline-block; width: 9em; text-align: right; font-style: normal }
</style></head><body>
)";
const absl::string_view kSpanPageEnd = "</body></html>\n";

void AddSpan(SpanTree span, std::vector<SpanTree>& siblings) {
  const size_t count = siblings.size();
  for (size_t k = count; k > 0 && k + kLookBack > count; --k) {
    if (!IsAlike(siblings[k - 1], span)) continue;
    return Count(siblings[k - 1], span);
  }
  siblings.push_back(std::move(span));
}

std::string SpanText(absl::Span<const SpanTree> spans, int depth) {
  std::string text;
  for (const SpanTree& span : spans) {
    absl::StrAppend(&text, absl::StrFormat("%10.3f ms  ", span.milliseconds),
                    std::string(2 * depth, ' '), span.category, "  ",
                    absl::StrReplaceAll(span.name, {{"\n", " "}}),
                    Details(span), "\n", SpanText(span.inner, depth + 1));
  }
  return text;
}

std::string SpanHtml(absl::Span<const SpanTree> spans) {
  std::string html;
  for (const SpanTree& span : spans) {
    const std::string line =
        absl::StrCat(absl::StrFormat("<i>%.3f ms</i> ", span.milliseconds),
                     Escaped(span.category), " <b>", Escaped(span.name), "</b>",
                     Escaped(Details(span)));
    if (span.inner.empty()) {
      absl::StrAppend(&html, "<div>", line, "</div>\n");
    } else {
      absl::StrAppend(&html, "<details><summary>", line, "</summary>\n",
                      SpanHtml(span.inner), "</details>\n");
    }
  }
  return html;
}

}  // namespace ocannl
