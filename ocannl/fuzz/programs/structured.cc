// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/structured.h"

#include <algorithm>

#include "ocannl/fuzz/programs/program_text.h"
#include "ocannl/fuzz/programs/stages.h"

namespace ocannl::fuzz {
namespace {

constexpr int64_t kMaxCells = 3000;  // of a tensor

Extents DrawExtents(ProgramText& text, int64_t rank) {
  Extents extents;
  int64_t cells = 1;
  for (; rank > 0; --rank) {
    int64_t extent = text.DrawExtent();
    if (rank == 1 && text.Has(Policy::kLongReductions)) {
      extent += 64 + text.random().Below(300);
    }
    extents.push_back(std::clamp<int64_t>(extent, 1, kMaxCells / cells));
    cells *= extents.back();
  }
  return extents;
}

Array Stage(ProgramText& text, const Array& x, Role role) {
  using Make = Array (*)(ProgramText&, const Array&, Role);
  std::vector<Make> stages = {Map, Product, Product, Reduction};
  const bool has_rows = !x.extents.empty();
  if (IsFloat(text.dtype()) && has_rows) {
    stages.push_back(Softmax);
    stages.push_back(Normalized);
  }
  if (text.Has(Policy::kPrivateBuffers) && has_rows) {
    stages.insert(stages.end(), 2, SumInLanes);
    if (x.extents.size() == 2) stages.insert(stages.end(), 4, TiledProduct);
  }
  return text.random().Pick(stages)(text, x, role);
}

}  // namespace

LoopProgram Structured(Random& random, const Policies& policies) {
  ProgramText text(&random, &policies);
  Array x = text.Declare(Role::kIn, DrawExtents(text, 1 + random.Below(3)));
  int64_t most = text.Has(Policy::kDeepNests) ? 4 : 2;
  for (int64_t left = random.Below(most); left > 0; --left) {
    x = Stage(text, x, Role::kTemp);
  }
  x = Stage(text, x, Role::kOut);
  if (text.Has(Policy::kInPlace)) Update(text, x);
  return text.Parsed();
}

}  // namespace ocannl::fuzz
