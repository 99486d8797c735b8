// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tune/sketch.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/words.h"

namespace ocannl::tune {
namespace {

using Names = std::vector<std::string>;

// A part of the iterations of a contraction, by the names of its loops.
struct Part {
  Names outer;  // the outputs that are not tiled
  std::string n, m;
  Names k;
  std::string suffix;  // of new names
};

Names NamesOf(const std::vector<NestLoop>& loops) {
  Names names;
  for (const NestLoop& loop : loops) names.push_back(Name(loop.iterator));
  return names;
}

Names With(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

class SketchWriter {
 public:
  SketchWriter(const Contracted& form, const Sketch& sketch,
               LegalScript& script)
      : form_(form), sketch_(sketch), script_(script) {}

  void Run() {
    if (form_.is_zeroed) {
      is_zeroed_ =
          Do("absorb_zero_out ", form_.result, " ", form_.outputs.back());
    }
    num_stmts_ = is_zeroed_ ? 2 : 1;
    for (const Names& map : form_.maps) {
      bool fused = true;
      for (size_t k = 0; fused && k < map.size(); ++k) {
        fused = Do("fuse ", form_.outputs[k], " ", map[k]);
      }
      if (!fused) break;
      ++num_stmts_;
    }
    Part part{.outer = {},
              .n = form_.outputs[form_.lane],
              .m = "",
              .k = form_.reduced,
              .suffix = ""};
    for (size_t k = 0; k < form_.outputs.size(); ++k) {
      if (k == form_.lane) continue;
      if (k == sketch_.row) {
        part.m = form_.outputs[k];
      } else {
        part.outer.push_back(form_.outputs[k]);
      }
    }
    CutLanes(std::move(part));
  }

 private:
  template <class... Words>
  bool Do(const Words&... words) {
    return script_.Do(absl::StrCat(words...));
  }

  void Reorder(const Names& loops) {
    Names there;
    for (const std::string& loop : loops) {
      if (!loop.empty()) there.push_back(loop);
    }
    if (there.size() > 1) Do("reorder ", absl::StrJoin(there, " "));
  }

  // Cuts what is no whole tile off `loop`. Returns the names of the rest, and
  // behind it those of the copies of `inside`.
  Names CutRest(const std::string& loop, int64_t tile, const Names& inside) {
    const int64_t extent = script_.ExtentOf(loop);
    const int64_t whole = extent / tile * tile;
    if (whole == extent || whole == 0) return {};
    Names names = {absl::StrCat(loop, "_rest")};
    for (const std::string& other : inside) {
      names.push_back(absl::StrCat(other, "_of_", names[0]));
    }
    const bool cut =
        Do(absl::StrJoin(names, ", "), " = cut ", loop, " ", whole);
    return cut ? names : Names();
  }

  // The loop over the iterations of a tile: a new one, or `loop` if all its
  // iterations are one.
  std::string Tile(std::string& loop, int64_t size, absl::string_view name) {
    if (script_.ExtentOf(loop) <= size) return std::exchange(loop, "");
    const std::string tile = absl::StrCat(loop, "_", name);
    return Do(tile, " = split ", loop, " ", size) ? tile : "";
  }

  void CutLanes(Part part) {
    Reorder(With(part.outer, {part.n, part.m}));
    Names inside = part.k;
    if (!part.m.empty()) inside.insert(inside.begin(), part.m);
    const Names rest = CutRest(part.n, sketch_.lanes, inside);
    Part other = part;
    TileLanes(std::move(part));
    if (rest.empty()) return;
    other.n = rest[0];
    size_t next = 1;
    if (!other.m.empty()) other.m = rest[next++];
    other.k.assign(rest.begin() + next, rest.end());
    // Their loop is behind the first part's.
    other.outer.clear();
    TileLanes(std::move(other));
  }

  void TileLanes(Part part) {
    std::string panels = part.n;
    const std::string lane = Tile(panels, sketch_.lanes, "lane");
    const bool outside = sketch_.lanes_outside;
    Names order = With(part.outer, {outside ? panels : part.m,
                                    outside ? part.m : panels, lane});
    Reorder(order);
    std::erase(order, "");
    const std::string outermost = order.empty() ? lane : order[0];
    Names inside = {lane};
    if (!outside && !panels.empty()) inside = {panels, lane};
    inside = With(inside, part.k);
    Names rest;
    if (!part.m.empty()) rest = CutRest(part.m, sketch_.rows, inside);
    Names region = {outside ? part.m : panels};
    TileRows(part.m, panels, lane, part.k, sketch_.rows);
    if (!rest.empty()) {
      size_t next = 1;
      std::string rest_panels;
      if (!outside && !panels.empty()) rest_panels = rest[next++];
      const std::string rest_lane = rest[next++];
      region.push_back(outside ? rest[0] : rest_panels);
      TileRows(rest[0], rest_panels, rest_lane,
               Names(rest.begin() + next, rest.end()),
               script_.ExtentOf(rest[0]));
    }
    Do("parallel ", outermost);
    if (!outside && !rest.empty()) Do("parallel ", rest[0]);
    Pack(region);
    for (const Names& finish : std::exchange(finishes_, {})) {
      for (const std::string& line : finish) Do(line);
    }
  }

  // A tile: each statement gets loops of its own, the sum's innermost ones
  // are those of the tile.
  void TileRows(std::string m, const std::string& panels,
                const std::string& lane, const Names& k, int64_t size) {
    std::string tile;
    if (!m.empty()) {
      const std::string over = m;
      tile = Tile(m, size, "tile");
      const bool outside = sketch_.lanes_outside;
      Reorder({outside ? "" : m, outside ? "" : panels, outside ? m : "", tile,
               lane});
    }
    std::vector<Names> stmts = {{tile, lane}};
    for (size_t j = 1; j < num_stmts_; ++j) {
      stmts.push_back({tile.empty() ? "" : absl::StrCat(tile, "_", j + 1),
                       absl::StrCat(lane, "_", j + 1)});
    }
    for (size_t level : {1, 0}) {
      if (num_stmts_ == 1 || stmts[0][level].empty()) continue;
      Names names;
      for (size_t j = 1; j < num_stmts_; ++j) {
        names.push_back(stmts[j][level]);
      }
      Do(absl::StrJoin(names, ", "), " = distribute ", stmts[0][level]);
    }
    const size_t sum = is_zeroed_ ? 1 : 0;
    Reorder(With(k, stmts[sum]));
    tiles_.push_back(stmts[sum]);
    // Copies are made before lanes are, so that these do not stand around them.
    Names& lines = finishes_.emplace_back();
    for (const Names& stmt : stmts) {
      lines.push_back(absl::StrCat("vectorize ", stmt[1]));
      if (!stmt[0].empty()) {
        lines.push_back(absl::StrCat("bind ", stmt[0], " unroll"));
      }
    }
    const std::string step = absl::StrCat(k.back(), "_step");
    if (sketch_.unrolled > 1) {
      if (script_.ExtentOf(k.back()) > sketch_.unrolled) {
        lines.push_back(
            absl::StrCat(step, " = split ", k.back(), " ", sketch_.unrolled));
        lines.push_back(absl::StrCat("bind ", step, " unroll"));
      } else {
        lines.push_back(absl::StrCat("bind ", k.back(), " unroll"));
      }
    }
    auto first_of = [&](size_t j) {
      if (j == sum) return k[0];
      return stmts[j][0].empty() ? stmts[j][1] : stmts[j][0];
    };
    lines.push_back(absl::StrCat("privatize ", form_.result, " ", first_of(0),
                                 " ", first_of(num_stmts_ - 1)));
  }

  // Copies operands while the loops of `region` run.
  void Pack(const Names& region) {
    Names along;
    for (const Names& tile : std::exchange(tiles_, {})) {
      along.push_back(sketch_.lanes_outside || tile[0].empty() ? tile[1]
                                                               : tile[0]);
    }
    if (region[0].empty()) return;
    for (size_t k = 0; k < sketch_.packed.size(); ++k) {
      if (!sketch_.packed[k]) continue;
      const std::string& buffer = form_.operands[k];
      // As many names as the copy has loops: the last one goes over lanes.
      for (size_t loops = 5; loops > 0; --loops) {
        Names names;
        for (size_t j = 0; j < loops; ++j) {
          names.push_back(
              absl::StrCat("pack", k, "_", region[0], j == 0 ? "" : "_", j));
        }
        if (!Do(absl::StrJoin(names, ", "), " = pack ", buffer, " ", region[0],
                " ", region.back(), " ", absl::StrJoin(along, " "))) {
          continue;
        }
        Do("vectorize ", names.back());
        break;
      }
    }
  }

  const Contracted& form_;
  const Sketch& sketch_;
  LegalScript& script_;
  bool is_zeroed_ = false;
  size_t num_stmts_ = 1;
  std::vector<Names> tiles_;     // of sums: row and lane loops
  std::vector<Names> finishes_;  // lines of tiles behind those of copies
};

}  // namespace

std::optional<Contracted> FindContraction(const LoopProgram& program,
                                          const Target& target) {
  std::optional<Contracted> form;
  BufferId zeroed;
  std::vector<int64_t> extents;
  for (const Stmt& stmt : program.body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    const ZeroOut* zero = std::get_if<ZeroOut>(&stmt);
    if (zero != nullptr && !form) {
      zeroed = zero->buffer;
      continue;
    }
    const std::optional<PerfectNest> nest = AsPerfectNest(program, stmt);
    if (!nest || nest->outputs.empty()) return std::nullopt;
    if (form) {
      std::vector<int64_t> others;
      for (const NestLoop& loop : nest->outputs) others.push_back(loop.extent);
      if (nest->accumulates() || others != extents) return std::nullopt;
      form->maps.push_back(NamesOf(nest->outputs));
      continue;
    }
    if (!nest->accumulates()) return std::nullopt;
    form = {.outputs = NamesOf(nest->outputs),
            .reduced = NamesOf(nest->reduced),
            .output_extents = {},
            .result = program.buffers[nest->set.target.buffer].name,
            .is_zeroed = zeroed == nest->set.target.buffer};
    for (const NestLoop& loop : nest->outputs) extents.push_back(loop.extent);
    form->output_extents = extents;
    for (const Access& access : OperandsOf(program, *nest)) {
      const std::string& name = program.buffers[access.buffer].name;
      if (!absl::c_linear_search(form->operands, name)) {
        form->operands.push_back(name);
      }
    }
    const int lane = FindLaneLoop(program, *nest);
    form->lane = lane < 0 ? nest->outputs.size() - 1 : lane;
    form->vector = target.vector_bytes /
                   SizeOf(program.buffers[nest->set.target.buffer].dtype);
  }
  return form;
}

namespace {

// Draws one of the choices, by its number.
void DrawChoice(const Contracted& form, size_t choice, Sketch& sketch,
                fuzz::Random& random) {
  switch (choice) {
    case 0: {
      const int64_t most = form.output_extents[form.lane];
      sketch.lanes =
          std::min({most, (1 + random.Below(6)) * form.vector, int64_t{1024}});
      return;
    }
    case 1:
      sketch.rows = 1 + random.Below(16);
      return;
    case 2: {
      if (form.outputs.size() < 2) return;
      const size_t row = random.Below(form.outputs.size() - 1);
      sketch.row = row + (row >= form.lane ? 1 : 0);
      return;
    }
    case 3:
      sketch.unrolled = int64_t{1} << random.Below(5);
      return;
    case 4:
      sketch.lanes_outside = random.OneIn(2);
      return;
    default:
      sketch.packed[choice - 5] = random.OneIn(2);
  }
}

size_t NumChoices(const Contracted& form) { return 5 + form.operands.size(); }

}  // namespace

Sketch RandomSketch(const Contracted& form, fuzz::Random& random) {
  Sketch sketch;
  sketch.packed.resize(form.operands.size());
  for (size_t k = 0; k < NumChoices(form); ++k) {
    DrawChoice(form, k, sketch, random);
  }
  return sketch;
}

Sketch Changed(const Contracted& form, Sketch sketch, fuzz::Random& random) {
  DrawChoice(form, random.Below(static_cast<int64_t>(NumChoices(form))), sketch,
             random);
  return sketch;
}

void WriteSketch(const Contracted& form, const Sketch& sketch,
                 LegalScript& script) {
  SketchWriter(form, sketch, script).Run();
}

}  // namespace ocannl::tune
