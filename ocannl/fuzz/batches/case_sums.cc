// SPDX-License-Identifier: Apache-2.0
//
// Sums over rows, in which rows are the outermost reduced axis.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/fuzz/batches/case_state.h"

namespace ocannl::fuzz {
namespace {

// Other axes are reduced too, unless that could make one of them outermost.
CaseAxes Kept(CaseState& s, const CaseAxes& axes) {
  CaseAxes kept;
  for (const CaseAxis& axis : axes) {
    if (axis.is_rows()) continue;
    if (s.place == RowsPlace::kAny || s.random.OneIn(2)) kept.push_back(axis);
  }
  for (CaseAxis& axis : kept) axis.row = RowKind::kOutput;
  return kept;
}

CaseValue PlainSum(CaseState& s, const CaseValue& v) {
  const CaseAxes all = s.Named(v.axes);
  const CaseAxes result = Kept(s, all);
  return {ReducedText(v, "++", all, result), result};
}

// With another operand that has rows, of any values in padding.
CaseValue ProductSum(CaseState& s, const CaseValue& v) {
  CaseAxes all = s.Named(v.axes);
  CaseAxes more;
  CaseAxes result = Kept(s, all);
  if (s.random.OneIn(2)) {
    for (const CaseAxis& axis : all) {
      if (!axis.is_rows() && s.random.OneIn(2)) more.push_back(axis);
    }
  }
  if (s.random.OneIn(2)) {
    more.push_back({.size = s.Size(64), .text = s.Letter()});
    if (s.place == RowsPlace::kAny || s.random.OneIn(2)) {
      result.push_back(more.back());
    }
  }
  more = s.WithRows(std::move(more));
  const std::string other = s.Operand(more, BatchPadding::kAny).text;
  return {absl::StrCat("(", v.text, " +* \"", SlotOf(all), "; ", SlotOf(more),
                       " => ", SlotOf(result), "\" ", other, ")"),
          result};
}

// Attention of a parameter's vectors to rows, under a mask.
CaseValue MaskedAttention(CaseState& s) {
  const CaseAxis query{.size = s.Size(40), .text = "a"};
  const CaseAxis cell{.size = s.Size(128), .text = "b"};
  const CaseAxis value{.size = s.Size(64), .text = "c"};
  const CaseAxes keys = s.WithRows({cell});
  const CaseAxes scores = s.WithRows({query});
  const CaseAxes values = s.WithRows({value});
  CaseAxes flags = s.WithRows({});
  CaseAxes wide = scores;  // one flag for all queries
  for (CaseAxis& axis : wide) {
    if (!axis.is_rows()) axis.text = "0";
  }
  const CaseAxes queries = {query, cell};
  CaseAxes most = scores;
  for (CaseAxis& axis : most) {
    if (axis.is_rows()) axis.text = "0";
  }
  CaseAxes found = {query, value};
  const std::string key = s.Operand(keys, BatchPadding::kAny).text;
  const std::string content = s.Operand(values, BatchPadding::kAny).text;
  const std::string mask = s.Operand(flags, BatchPadding::kMask).text;
  const std::string flag =
      s.Let({ReducedText({mask, flags}, "++", flags, wide), wide}).text;
  const std::string score =
      s.Let({absl::StrCat("(", s.Parameter(queries), " +* \"", SlotOf(queries),
                          "; ", SlotOf(keys), " => ", SlotOf(scores), "\" ",
                          key, ")"),
             scores})
          .text;
  const std::string masked =
      s.Let({absl::StrCat("select(", flag, " > 0.5, ", score, ", -3e38)"),
             scores})
          .text;
  const std::string top =
      s.Let({ReducedText({masked, scores}, "@^^", scores, most), most}).text;
  const std::string e =
      s.Let({absl::StrCat("exp(", masked, " - ", top, ")"), scores,
             /*is_zero=*/true})
          .text;
  const std::string sum =
      s.Let({ReducedText({e, scores}, "++", scores, most), most}).text;
  if (s.random.OneIn(2)) {
    const std::string share =
        s.Let({absl::StrCat("(", e, " /. ", sum, ")"), scores,
               /*is_zero=*/true})
            .text;
    return {
        absl::StrCat("(", share, " +* \"", SlotOf(scores), "; ", SlotOf(values),
                     " => ", SlotOf(found), "\" ", content, ")"),
        found};
  }
  return {absl::StrCat("(", e, " +* \"", SlotOf(scores), "; ", SlotOf(values),
                       " => ", SlotOf(found), "\" ", content, ")"),
          found};
}

}  // namespace

CaseValue SumOverRows(CaseState& s) {
  s.letters = 0;
  const CaseValue v = s.values.back();
  switch (s.random.Below(4)) {
    case 0:
      return MaskedAttention(s);
    case 1:
      return PlainSum(s, v);
    default:
      return ProductSum(s, v);
  }
}

}  // namespace ocannl::fuzz
