// SPDX-License-Identifier: Apache-2.0
//
// RowSpace: statements that go over the rows of common arrays. All of them can
// run for some rows before any of them runs for the next rows. This is the
// alignment of loops that loop fusion needs (Allen and Kennedy, "Optimizing
// Compilers for Modern Architectures", 2001).
//
//   for i0 { for i1 { s[i0, i1] := x[i0] * y[i1]; } }       row i0
//   for i2 { for i3 { m[i2] := m[i2] + s[i2, i3]; } }       row i2
//   for i4 { for i5 { g[i4] := g[i4] + s[i5, i4]; } }       row i5
//
// The first statement chooses the rows, and all statements that join have the
// same rows. No row reads or writes a cell that another row writes, except in
// sums over rows, such as g. These sums stay in the order of rows, and no other
// statement of the space reads or writes them.
//
// Long sums have blocks (assign/sums/cascade.h): rows 1024*i6 + i7 are summed
// into b[i6], and a second statement sums all b[i8]. It goes over grains of
// 1024 rows, and its iteration i8 follows all rows of the grain.
#ifndef OCANNL_CORE_OPT_ROW_SPACE_H_
#define OCANNL_CORE_OPT_ROW_SPACE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// The loops of a statement over rows offset + grain * coarse + fine.
struct RowLoops {
  IteratorId coarse = {};  // none: all rows are of one grain
  IteratorId fine = {};    // none: the statement follows the rows of a grain
  int64_t grain = 1;       // rows of an iteration of `coarse`
  int64_t offset = 0;
  int64_t count = 0;      // of all rows
  int64_t row_terms = 0;  // of a row in sums over rows; 0: there are none
};

// Index x of `axis` is of the rows offset + grain * x to offset + grain * x +
// grain - 1.
struct RowAxis {
  size_t axis = 0;
  int64_t grain = 1;
  int64_t offset = 0;
};

class RowSpace {
 public:
  // `program` outlives this object.
  explicit RowSpace(const LoopProgram& program) : program_(&program) {}

  // Makes `stmt` join and returns its loops over rows. If no array of the space
  // determines them, they go over an axis of one of `arrays` whose extent is
  // the number of rows. Returns nullopt, and changes nothing, if `stmt` cannot
  // join.
  std::optional<RowLoops> Join(const Stmt& stmt,
                               absl::Span<const BufferId> arrays);
  // The same for a zero_out, whose rows are those of the first statement that
  // writes `buffer`. False: a statement that joined uses it.
  bool JoinZeroOut(BufferId buffer);

  // The axis of `buffer` that the rows are on. Null: it has no rows.
  const RowAxis* AxisOf(BufferId buffer) const;
  bool Touches(BufferId buffer) const { return uses_.contains(buffer); }
  int64_t rows() const { return rows_; }

 private:
  struct Use {
    bool is_written = false;
    bool is_zero = false;   // only zeroed, so far
    bool has_rows = false;  // some statement goes over rows of the grains
    std::optional<RowAxis> axis = {};
  };
  using Uses = absl::flat_hash_map<BufferId, Use>;
  // The references of a statement to each buffer.
  using Groups = absl::btree_map<BufferId, std::vector<const Reference*>>;

  std::vector<RowLoops> FindRows(const std::vector<const For*>& chain,
                                 const Groups& groups) const;
  std::vector<RowLoops> GuessRows(const std::vector<const For*>& chain,
                                  const Groups& groups,
                                  absl::Span<const BufferId> arrays) const;
  bool Fits(const Stmt& stmt, const std::vector<const For*>& chain,
            const Groups& groups, RowLoops& rows, Uses& joined) const;
  bool FitsBuffer(const Stmt& stmt, BufferId buffer,
                  const std::vector<const Reference*>& references,
                  RowLoops& rows, Use& use) const;

  const LoopProgram* program_;
  Uses uses_;
  int64_t rows_ = 0;  // 0: not chosen yet
};

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_ROW_SPACE_H_
