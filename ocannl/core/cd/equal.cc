// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/equal.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/pad.h"
#include "ocannl/core/cd/form.h"

namespace ocannl {
namespace {

// `source` without what does not matter.
Source Plain(const Assignments& code, const Assign& assign, Source source) {
  auto* read = std::get_if<ReadArray>(&source);
  if (read != nullptr && !LeavesArray(code, assign, *read)) read->outside = 0;
  return source;
}

bool Same(const Array& a, const Array& b) {
  const bool same = a.name == b.name && a.dtype == b.dtype &&
                    a.dims == b.dims && a.memory == b.memory &&
                    a.is_merge == b.is_merge;
  if (!same || OmitsData(a)) return same;
  if (a.data == nullptr || b.data == nullptr) return a.data == b.data;
  return SameBits(a.data->Reshaped(a.dims), b.data->Reshaped(b.dims));
}

// The value in `pool`, where a leaf has the number of its source in `sources`.
ExprId ValueIn(ExprPool& pool, std::vector<Source>& sources,
               const Assignments& code, const Assign& assign) {
  ExprMap copies;
  return CopyExpr(code.exprs, assign.rhs, pool, copies, [&](const Leaf& leaf) {
    const Source source = Plain(code, assign, assign.sources[leaf.id]);
    auto known = absl::c_find_if(
        sources, [&](const Source& s) { return SameSource(s, source); });
    const auto number = static_cast<int32_t>(known - sources.begin());
    if (known == sources.end()) sources.push_back(source);
    return MakeLeaf(pool, leaf.dtype, number).id();
  });
}

bool Same(const Assignments& in_a, const Assign& a, const Assignments& in_b,
          const Assign& b) {
  if (a.lhs != b.lhs || a.lhs_indices != b.lhs_indices || a.accum != b.accum ||
      a.reset != b.reset || a.extents != b.extents ||
      a.lookup.has_value() != b.lookup.has_value()) {
    return false;
  }
  if (a.lookup &&
      (a.lookup->axis != b.lookup->axis ||
       !SameSource(a.sources[a.lookup->ids], b.sources[b.lookup->ids]))) {
    return false;
  }
  ExprPool pool;
  std::vector<Source> sources;
  return ValueIn(pool, sources, in_a, a) == ValueIn(pool, sources, in_b, b);
}

}  // namespace

bool operator==(const Assignments& a, const Assignments& b) {
  auto same_static = [](const StaticSymbol& x, const StaticSymbol& y) {
    return x.name == y.name && x.range == y.range;
  };
  auto same_array = [](const Array& x, const Array& y) { return Same(x, y); };
  auto same = [&](const Assignment& x, const Assignment& y) {
    if (x.index() != y.index()) return false;
    const auto* assign = std::get_if<Assign>(&x);
    if (assign != nullptr) return Same(a, *assign, b, std::get<Assign>(y));
    return std::get<BlockComment>(x).text == std::get<BlockComment>(y).text;
  };
  return a.name == b.name && a.contradiction == b.contradiction &&
         absl::c_equal(a.statics, b.statics, same_static) &&
         absl::c_equal(a.arrays, b.arrays, same_array) &&
         absl::c_equal(a.list, b.list, same);
}

}  // namespace ocannl
