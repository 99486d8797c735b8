// SPDX-License-Identifier: Apache-2.0
//
// LoopProgram: loops over affine array accesses; the form that is optimised,
// scheduled, interpreted and compiled. Printed and parsed as .ll text:
//
//   dot (i1 : [0..79]):
//     in x : f32[80, 4]; in y : f32[4]; out z : f32[1];
//     zero_out z;
//     for i2 = 0 to 3 { z[0] := fma(x[i1, i2], y[i2], z[0]); }
//
// Meaning: statements run in order; every kind of loop runs its iterations in
// index order, so a scheduled program means what its sequential form means. A
// kind is a promise to back ends: `vec` iterations may run as lanes, `par`
// iterations are independent, `unroll` wants its body repeated. On a GPU,
// `grid` iterations are blocks, and `thread` iterations the threads of a block,
// which run a phase in parallel. Successive `thread` loops are phases with a
// barrier between them (loop fission; Stratton, Stone and Hwu, MCUDA, 2008).
// Every array index must be provably inside its axis (verify.h), except for an
// index that is read from a buffer of integers. If ids[i1] is outside of the
// axis, such as -1, then x[ids[i1], i2] is 0, and a store there has no effect.
#ifndef OCANNL_CORE_LOOP_IR_H_
#define OCANNL_CORE_LOOP_IR_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/base/names.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/containers/pool.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {
namespace loop_ir {

// In LoopProgram::buffers and in its locals.
struct BufferTag;
using BufferId = Id<BufferTag>;
struct LocalTag;
using LocalId = Id<LocalTag>;

// What a run of the program does with a buffer.
enum class Role : uint8_t {
  kIn,       // reads what was there before
  kOut,      // writes every cell before anything reads it
  kInOut,    // reads what was there before, and writes
  kMerge,    // as kIn, what the merge buffer of the stream holds
  kTemp,     // scratch: contents are lost between runs
  kVirtual,  // scratch that is inlined wherever it can be, up to the cost
             // kMaxInlinedCost (opt/virtualize.h)
  kLocal,    // scratch that is not inlined
  kPrivate,  // scratch of one statement of the body: each iteration of a `par`
             // or `grid` loop has its own, which may be a register
  kShared,   // the same of a `grid` loop, common to its threads
};
inline bool IsReadOnly(Role role) {
  return role == Role::kIn || role == Role::kMerge;
}
// Whether a run finds values there, and whether it leaves some.
inline bool IsInput(Role role) {
  return IsReadOnly(role) || role == Role::kInOut;
}
inline bool IsResult(Role role) {
  return role == Role::kOut || role == Role::kInOut;
}
inline bool IsScratch(Role role) { return !IsInput(role) && !IsResult(role); }
// Whether it belongs to one statement of the body.
inline bool IsOfNest(Role role) {
  return role == Role::kPrivate || role == Role::kShared;
}

struct Buffer {
  std::string name;
  DType dtype;
  Role role;
  Dims dims;

  friend bool operator==(const Buffer&, const Buffer&) = default;
};

// An integer argument of the routine, with values in [0, range).
struct StaticIndex {
  std::string name;
  int64_t range;  // kUnranged: any value from 0; not allowed in an array index

  friend bool operator==(const StaticIndex&, const StaticIndex&) = default;
};
inline constexpr int64_t kUnranged = -1;

// A variable of one iteration of the block that declares it.
struct Local {
  std::string name;
  DType dtype;
  friend bool operator==(const Local&, const Local&) = default;
};

// One cell of a buffer.
struct Access {
  BufferId buffer;
  Indices indices;

  friend bool operator==(const Access&, const Access&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Access& access) {
    return H::combine(std::move(h), access.buffer, access.indices);
  }
};

struct GetLocal {
  LocalId local;  // its value

  friend bool operator==(const GetLocal&, const GetLocal&) = default;
  template <class H>
  friend H AbslHashValue(H h, const GetLocal& get) {
    return H::combine(std::move(h), get.local);
  }
};

// A cell whose index on one axis is what a cell of integers holds; 0 where that
// is outside of the axis.
struct Lookup {
  Access cell;          // its index on the axis is 0
  int32_t axis;         // of the cell
  Boxed<Access> index;  // few leaves are lookups, and all are as large

  friend bool operator==(const Lookup&, const Lookup&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Lookup& lookup) {
    return H::combine(std::move(h), lookup.cell, lookup.axis, lookup.index);
  }
};

// What a Leaf of an expression reads; an Affine is the index itself, as i64.
using LeafValue = std::variant<Access, Lookup, GetLocal, Affine>;
struct LeafTag;
using LeafId = Id<LeafTag>;

enum class LoopKind : uint8_t { kFor, kVec, kPar, kUnroll, kGrid, kThread };

struct Stmt;
struct Block {
  std::vector<Stmt> stmts;
  friend bool operator==(const Block&, const Block&);
};

struct For {
  LoopKind kind;
  IteratorId iterator;  // unique in the program
  int64_t extent;       // runs over [0, extent)
  Block body;
  friend bool operator==(const For&, const For&) = default;
};

// buffer[indices] := value
struct Set {
  Access target;
  ExprId value;
  friend bool operator==(const Set&, const Set&) = default;
};

// Stores where a lookup reads; nothing where the index is outside of its axis.
struct Scatter {
  LeafId target;  // a Lookup
  ExprId value;
  friend bool operator==(const Scatter&, const Scatter&) = default;
};

// Declares the local, which lives to the end of the block: let v1 := value
struct DeclareLocal {
  LocalId local;
  ExprId value;
  friend bool operator==(const DeclareLocal&, const DeclareLocal&) = default;
};

// v1 := value
struct SetLocal {
  LocalId local;
  ExprId value;
  friend bool operator==(const SetLocal&, const SetLocal&) = default;
};

struct ZeroOut {
  BufferId buffer;  // each cell becomes 0
  friend bool operator==(const ZeroOut&, const ZeroOut&) = default;
};

struct Comment {
  std::string text;
  friend bool operator==(const Comment&, const Comment&) = default;
};

struct Stmt : std::variant<For, Set, Scatter, DeclareLocal, SetLocal, ZeroOut,
                           Comment> {
  using variant::variant;
  Stmt(const Stmt&);
  Stmt(Stmt&&) noexcept;
  Stmt& operator=(const Stmt&);
  Stmt& operator=(Stmt&&) noexcept;
  ~Stmt();
};

}  // namespace loop_ir

extern template class InternPool<loop_ir::LeafId, loop_ir::LeafValue>;

struct LoopProgram {
  LoopProgram();
  LoopProgram(const LoopProgram&);
  LoopProgram(LoopProgram&&) noexcept;
  LoopProgram& operator=(const LoopProgram&);
  LoopProgram& operator=(LoopProgram&&) noexcept;
  ~LoopProgram();

  std::string name;
  std::vector<loop_ir::StaticIndex> statics;
  IdVector<loop_ir::BufferId, loop_ir::Buffer> buffers;
  IdVector<loop_ir::LocalId, loop_ir::Local> locals;
  ExprPool exprs;  // a Leaf's id is a LeafId
  InternPool<loop_ir::LeafId, loop_ir::LeafValue> leaves;
  loop_ir::Block body;
  // Above those of all loops, once CountIterators has seen them (walk.h).
  IteratorId next_iterator{0};
  // That of a new loop, which no loop had before, even one that is gone.
  IteratorId FreshIterator() { return next_iterator++; }
  NameIndex names;  // for the two functions below
  // The buffer of that name, or no id.
  loop_ir::BufferId FindBuffer(absl::string_view buffer);
  // `base`, or the first of base_2, ... that nothing here is called.
  std::string UnusedName(const std::string& base);

  // The expression that reads `value`.
  Expr Read(loop_ir::LeafValue value);
  const loop_ir::LeafValue& At(const Leaf& leaf) const {
    return leaves[loop_ir::LeafId{leaf.id}];
  }
  const loop_ir::Lookup& TargetOf(const loop_ir::Scatter& scatter) const {
    return std::get<loop_ir::Lookup>(leaves[scatter.target]);
  }
};

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_IR_H_
