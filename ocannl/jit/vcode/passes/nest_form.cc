// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/passes/nest_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::jit {
namespace {

class FormWriter {
 public:
  explicit FormWriter(const LoopProgram& program) : program_(program) {}

  NestForm Run(const Block& block) && {
    WalkLoops(block, [&](const For& loop) {
      form_.iterators.push_back(loop.iterator);
    });
    // Ascending, as the terms of an index are.
    absl::c_sort(form_.iterators);
    form_.words.reserve(64);
    form_.buffers.reserve(4);
    Write(block);
    return std::move(form_);
  }

 private:
  template <class... Numbers>
  void Add(Numbers... numbers) {
    (form_.words.push_back(static_cast<int64_t>(numbers)), ...);
  }

  void Write(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      Add(stmt.index());
      std::visit(Overload{[&](const For& loop) {
                            Add(loop.kind, NumberOf(loop.iterator),
                                loop.extent);
                            Write(loop.body);
                          },
                          [&](const Set& set) { Write(set.target); },
                          [&](const Scatter& scatter) {
                            Write(program_.TargetOf(scatter));
                          },
                          [&](const DeclareLocal& let) { Write(let.local); },
                          [&](const SetLocal& set) { Write(set.local); },
                          [&](const ZeroOut& zero) { Write(zero.buffer); },
                          [](const Comment&) {}},
                 static_cast<const Stmt::variant&>(stmt));
      if (const ExprId* value = ValueOf(stmt)) Write(*value);
    }
    Add(-1);  // the end of the block
  }

  // The nodes that are new, operands first, and the number of the value.
  void Write(ExprId value) {
    const int number =
        VisitOnce<int>(program_.exprs, value, nodes_, [&](ExprId id) {
          const ExprNode& node = program_.exprs[id];
          Add(node.index());
          std::visit(Overload{[&](const Constant& constant) {
                                Add(constant.dtype, constant.bits);
                              },
                              [&](const Leaf& leaf) {
                                const LeafValue& read = program_.At(leaf);
                                Add(leaf.dtype, read.index());
                                std::visit([&](const auto& r) { Write(r); },
                                           read);
                              },
                              [&](const Apply& apply) {
                                Add(apply.op, apply.dtype, apply.args.size());
                                for (ExprId arg : apply.args) {
                                  Add(nodes_.at(arg));
                                }
                              }},
                     node);
          return num_nodes_++;
        });
    Add(-2 - number);  // neither the kind of a node nor the end of a block
  }

  void Write(const Access& access) {
    Write(access.buffer);
    for (const Affine& index : access.indices) Write(index);
  }

  void Write(const Lookup& lookup) {
    Write(lookup.cell);
    Add(lookup.axis);
    Write(*lookup.index);
  }

  void Write(const GetLocal& get) { Write(get.local); }

  void Write(const Affine& index) {
    Add(index.offset(), index.terms().size());
    for (const auto& [symbol, factor] : index.terms()) {
      const bool is_static = symbol.kind == Symbol::kStatic;
      Add(is_static, is_static ? symbol.number : NumberOf(symbol.iterator()),
          factor);
    }
  }

  void Write(BufferId id) {
    const size_t next = form_.buffers.size();
    const size_t number = NumberOf(id);
    Add(number);
    if (number < next) return;
    const Buffer& buffer = program_.buffers[id];
    Add(buffer.dtype, buffer.role, buffer.dims.size());
    for (int64_t dim : buffer.dims) Add(dim);
  }

  void Write(LocalId id) {
    Add(locals_.try_emplace(id, locals_.size()).first->second,
        program_.locals[id].dtype);
  }

  // The number of the buffer, which is added if it is new: the first ones are
  // searched in their list, as most nests have few.
  size_t NumberOf(BufferId id) {
    constexpr size_t kFew = 8;
    const size_t next = form_.buffers.size();
    for (size_t k = 0; k < std::min(next, kFew); ++k) {
      if (form_.buffers[k] == id) return k;
    }
    if (next >= kFew) {
      const auto [number, is_new] = more_buffers_.try_emplace(id, next);
      if (!is_new) return number->second;
    }
    form_.buffers.push_back(id);
    return next;
  }

  int64_t NumberOf(IteratorId iterator) const {
    const auto at = absl::c_lower_bound(form_.iterators, iterator);
    CHECK(at != form_.iterators.end() && *at == iterator);
    return at - form_.iterators.begin();
  }

  const LoopProgram& program_;
  NestForm form_;
  NodeMap<int> nodes_;
  int num_nodes_ = 0;
  absl::flat_hash_map<BufferId, size_t> more_buffers_;  // but the first ones
  absl::flat_hash_map<LocalId, size_t> locals_;
};

template <class Id>
Id Translated(Id id, const std::vector<Id>& from, const std::vector<Id>& to) {
  const auto at = absl::c_find(from, id);
  CHECK(at != from.end());
  return to[at - from.begin()];
}

}  // namespace

uint64_t SketchOf(const LoopProgram& program, const Block& block) {
  uint64_t hash = 0;
  WalkStmts(block, [&](const Stmt& stmt) {
    auto add = [&](uint64_t number) {
      hash = (hash ^ number) * 0x9E3779B97F4A7C15u;
    };
    add(stmt.index());
    if (const For* loop = std::get_if<For>(&stmt)) add(loop->extent);
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return;
    const ExprNode& node = program.exprs[*value];
    const Apply* apply = std::get_if<Apply>(&node);
    add(apply != nullptr ? static_cast<uint64_t>(apply->op) : ~node.index());
  });
  return hash;
}

NestForm FormOf(const LoopProgram& program, const Block& block) {
  return FormWriter(program).Run(block);
}

Nest Renamed(const Nest& nest, const NestForm& from, const NestForm& to) {
  auto buffer = [&](BufferId id) {
    return id.valid() ? Translated(id, from.buffers, to.buffers) : id;
  };
  auto iterator = [&](IteratorId id) {
    return Translated(id, from.iterators, to.iterators);
  };
  Nest renamed;
  renamed.aligned = buffer(nest.aligned);
  renamed.pointers = nest.pointers;
  renamed.loops = nest.loops;
  renamed.form = nest.form;
  for (Pointer& pointer : renamed.pointers) {
    pointer.base = buffer(pointer.base);
    pointer.value = pointer.value.Substitute([&](Symbol symbol) -> Affine {
      if (symbol.kind == Symbol::kStatic) return symbol;
      return Iterator(iterator(symbol.iterator()));
    });
  }
  for (Loop& loop : renamed.loops) loop.iterator = iterator(loop.iterator);
  return renamed;
}

}  // namespace ocannl::jit
