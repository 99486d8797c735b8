// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/select.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/jit/vcode/select/draw.h"
#include "ocannl/jit/vcode/select/nest_builder.h"
#include "ocannl/jit/vcode/select/post_orders.h"
#include "ocannl/jit/vcode/select/promote.h"
#include "ocannl/jit/vcode/select/unroll.h"

namespace ocannl::jit {
namespace {

class Selector {
 public:
  Selector(LoopProgram& program, Isa isa, bool has_text)
      : program_(program),
        has_text_(has_text),
        unroller_(program, isa),
        builder_(program, unroller_),
        draws_(program, unroller_, builder_),
        post_orders_(program.exprs) {}

  Nest Run(const Block& block) && {
    WalkStmts(block, [&](const Stmt& stmt) {
      const SetLocal* set = std::get_if<SetLocal>(&stmt);
      if (set != nullptr) mutable_locals_.insert(set->local);
    });
    promoted_ = FindPromotable(program_, block, unroller_);
    unroller_.Walk(block, {.statement = [&](const Stmt& s) { Visit(s); },
                           .begin =
                               [&](const For& f) {
                                 builder_.BeginLoop(f);
                                 draws_.Clear();
                               },
                           .end =
                               [&](const For& f) {
                                 builder_.EndLoop(f);
                                 draws_.Clear();
                               }});
    return std::move(builder_).Take();
  }

 private:
  struct LocalValue {
    Value value;
    int lanes;
  };

  // ---- Leaves --------------------------------------------------------------

  Value ReadPromoted(PromotedBuffer& buffer, const Access& access, DType type) {
    CellRange range = *CellRangeOf(program_, unroller_, access);
    PromotedBuffer::Entry& entry = buffer.EntryOf(range);
    Value value = RegValue(MutableRegisterOf(entry, type));
    if (range.first != entry.range.first) {
      Inst inst = builder_.NewInst(Opcode::kExtract, type, value);
      inst.lane = static_cast<uint8_t>(range.first - entry.range.first);
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(entry.range.lanes, range.lanes));
      value = builder_.Define(inst);
    }
    return range.lanes == 1 ? builder_.Splat(value, type) : value;
  }

  VReg MutableRegisterOf(PromotedBuffer::Entry& entry, DType dtype) {
    if (!entry.reg.is_valid()) {
      entry.reg =
          builder_.NewRegister(dtype, entry.range.lanes, /*is_mutable=*/true);
    }
    return entry.reg;
  }

  Value ReadAccess(const Access& access) {
    DType dtype = program_.buffers[access.buffer].dtype;
    auto promoted = promoted_.find(access.buffer);
    if (promoted != promoted_.end()) {
      return ReadPromoted(promoted->second, access, dtype);
    }
    return builder_.Load(access);
  }

  Value ReadLocal(const GetLocal& get) {
    const LocalValue& local = locals_.at(get.local);
    const DType dtype = program_.locals[get.local].dtype;
    return local.lanes == 1 ? builder_.Splat(local.value, dtype) : local.value;
  }

  // ---- Expressions ---------------------------------------------------------

  struct Typed {
    Value value;
    DType dtype;  // i32 for an index that fits
  };
  // By node; most expressions are small.
  using TypedValues = absl::InlinedVector<Typed, 16>;

  Typed EvaluateLeaf(const PostOrderNode& node) {
    const Leaf& leaf = std::get<Leaf>(node.expr);
    return std::visit(
        Overload{
            [&](const Access& access) {
              return Typed{ReadAccess(access), leaf.dtype};
            },
            [&](const Lookup& lookup) {
              return Typed{builder_.LoadRow(lookup), leaf.dtype};
            },
            [&](const GetLocal& get) {
              return Typed{ReadLocal(get), leaf.dtype};
            },
            [&](const Affine& index) {
              const bool fits = FitsI32(program_, unroller_.extents(), index);
              const DType dtype = fits ? DType::kI32 : DType::kI64;
              return Typed{builder_.Index(index, dtype), dtype};
            },
        },
        program_.At(leaf));
  }

  Value Widened(const Typed& arg) {
    if (arg.value.kind == Value::kConst) {
      Constant narrow = builder_.ConstantOf(arg.value);
      auto bits = static_cast<int64_t>(static_cast<int32_t>(narrow.bits));
      return builder_.ConstantValue(FromBits(DType::kI64, bits));
    }
    Inst inst = builder_.NewInst(Opcode::kApply, DType::kI64, arg.value);
    inst.op = Op::kConvert;
    inst.operand = DType::kI32;
    return builder_.Compute(inst);
  }

  Typed EvaluateApply(const PostOrderNode& node, absl::Span<const Typed> done,
                      VReg into) {
    const Apply& apply = std::get<Apply>(node.expr);
    if (IsDraw(apply.op)) return EvaluateDraw(node, done);
    Inst inst = builder_.NewInst(Opcode::kApply, apply.dtype);
    inst.op = apply.op;
    for (size_t k = 0; k < node.args.size(); ++k) {
      const Typed& arg = done[node.args[k]];
      DType wanted = TypeOf(program_.exprs, apply.args[k]);
      bool widens = arg.dtype != wanted && apply.op != Op::kConvert;
      inst.args[k] = widens ? Widened(arg) : arg.value;
      inst.operand = widens ? wanted : arg.dtype;
    }
    return {builder_.Apply(inst, into), apply.dtype};
  }

  // Node k, a select: the other arm, and where a lane takes the skipped one,
  // that.
  Typed EvaluateSkipping(absl::Span<const PostOrderNode> nodes, size_t k,
                         TypedValues& done) {
    const PostOrderNode& node = nodes[k];
    const auto& [op, dtype, args] = std::get<Apply>(node.expr);
    const Value mask = done[node.args[0]].value;
    const int other = node.args[3 - node.skipped_arm];
    const bool skips = mask.kind == Value::kReg && done[other].dtype == dtype;
    const Value value = done[other].value;
    if (skips) {
      const VReg reg = builder_.NewRegister(dtype, unroller_.lanes().count,
                                            /*is_mutable=*/true);
      builder_.Compute(builder_.NewInst(Opcode::kCopy, dtype, value), reg);
      done[other].value = RegValue(reg);
      builder_.BeginWhen(node.skipped_arm == 1 ? mask : Inverse(mask));
    }
    for (size_t arm = 0; arm < k; ++arm) {
      if (nodes[arm].needed_by == static_cast<int>(k)) {
        done[arm] = EvaluateNode(nodes[arm], done, VReg());
      }
    }
    if (!skips) return EvaluateApply(node, done, VReg());
    const VReg reg = done[other].value.reg();
    EvaluateApply(node, done, reg);
    builder_.EndWhen();
    done[other].value = value;
    return {RegValue(reg), dtype};
  }

  Value Inverse(Value mask) {
    Inst inst = builder_.NewInst(Opcode::kApply, DType::kBool, mask);
    inst.op = Op::kNot;
    return builder_.Apply(inst);
  }

  Typed EvaluateNode(const PostOrderNode& node, absl::Span<const Typed> done,
                     VReg into) {
    return std::visit(
        Overload{
            [&](const Constant& c) {
              return Typed{builder_.ConstantValue(c), c.dtype};
            },
            [&](const Leaf&) { return EvaluateLeaf(node); },
            [&](const Apply&) { return EvaluateApply(node, done, into); },
        },
        node.expr);
  }

  Typed EvaluateDraw(const PostOrderNode& node, absl::Span<const Typed> done) {
    absl::InlinedVector<Value, 6> args;
    for (int arg : node.args) args.push_back(done[arg].value);
    return {draws_.Word(std::get<Apply>(node.expr), args), DType::kU32};
  }

  // The value of `root`; in `into`, if that is valid.
  Value Evaluate(ExprId root, VReg into = {}) {
    const std::vector<PostOrderNode>& nodes = post_orders_.Of(root);
    TypedValues done(nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) {
      const PostOrderNode& node = nodes[k];
      if (node.needed_by >= 0) continue;
      VReg target = k + 1 == nodes.size() ? into : VReg();
      done[k] = node.skipped_arm > 0 ? EvaluateSkipping(nodes, k, done)
                                     : EvaluateNode(node, done, target);
    }
    const Typed& result = done.back();
    DType dtype = TypeOf(program_.exprs, root);
    Value value = result.dtype != dtype ? Widened(result) : result.value;
    if (!into.is_valid() || value == RegValue(into)) return value;
    return builder_.Compute(builder_.NewInst(Opcode::kCopy, dtype, value),
                            into);
  }

  // ---- Statements ----------------------------------------------------------

  void Visit(const Stmt& stmt) {
    if (std::holds_alternative<Comment>(stmt)) return;
    builder_.SetSourceLoc(&stmt, [&] {
      if (!has_text_) return std::string();
      std::string line = PrintStmt(program_, stmt, 0);
      line.resize(line.find('\n'));
      return line;
    });
    std::visit(Overload{
                   [&](const Set& set) { VisitSet(set); },
                   [&](const Scatter& scatter) {
                     const Value value = Evaluate(scatter.value);
                     builder_.StoreRow(program_.TargetOf(scatter), value);
                   },
                   [&](const DeclareLocal& let) { VisitDeclare(let); },
                   [&](const SetLocal& set) {
                     VReg reg = locals_.at(set.local).value.reg();
                     Evaluate(set.value, reg);
                     builder_.KillRegister(reg);
                   },
                   [&](const ZeroOut& zero) { builder_.Zero(zero.buffer); },
                   [&](const Comment&) {},
                   [&](const For&) { CHECK(false) << "a loop"; },
               },
               static_cast<const Stmt::variant&>(stmt));
  }

  void VisitSet(const Set& set) {
    DType dtype = program_.buffers[set.target.buffer].dtype;
    auto promoted = promoted_.find(set.target.buffer);
    if (promoted != promoted_.end()) {
      return WritePromoted(promoted->second, set.target, dtype, set.value);
    }
    const Value value = Evaluate(set.value);
    builder_.Store(set.target, value);
  }

  void WritePromoted(PromotedBuffer& buffer, const Access& target, DType dtype,
                     ExprId value) {
    CellRange range = *CellRangeOf(program_, unroller_, target);
    PromotedBuffer::Entry& entry = buffer.EntryOf(range);
    const VReg reg = MutableRegisterOf(entry, dtype);
    if (range.first == entry.range.first && range.size == entry.range.size) {
      Evaluate(value, reg);
    } else {
      const Value part = builder_.InRegister(Evaluate(value), dtype);
      Inst inst = builder_.NewInst(Opcode::kInsert, dtype, part);
      inst.dst = reg;
      inst.lane = static_cast<uint8_t>(range.first - entry.range.first);
      inst.active_lanes = static_cast<uint8_t>(range.size);
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(entry.range.lanes, range.lanes));
      builder_.Append(inst);
    }
    builder_.KillRegister(reg);
  }

  void VisitDeclare(const DeclareLocal& let) {
    const int lanes = unroller_.lanes().count;
    DType dtype = program_.locals[let.local].dtype;
    if (mutable_locals_.contains(let.local)) {
      VReg reg = builder_.NewRegister(dtype, lanes, /*is_mutable=*/true);
      locals_[let.local] = {RegValue(reg), lanes};
      Evaluate(let.value, reg);
      return;
    }
    Value value = Evaluate(let.value);
    if (builder_.IsMutable(value)) {
      value = builder_.Define(builder_.NewInst(Opcode::kCopy, dtype, value));
    }
    locals_[let.local] = {value, lanes};
    draws_.Declare(let.local, let.value);
  }

  LoopProgram& program_;
  const bool has_text_;
  Unroller unroller_;
  NestBuilder builder_;
  DrawSelector draws_;
  PostOrders post_orders_;
  absl::flat_hash_map<BufferId, PromotedBuffer> promoted_;
  absl::flat_hash_set<LocalId> mutable_locals_;  // those that are set
  absl::flat_hash_map<LocalId, LocalValue> locals_;
};

}  // namespace

Nest Select(LoopProgram& program, const Block& block, Isa isa, bool has_text) {
  return Selector(program, isa, has_text).Run(block);
}

}  // namespace ocannl::jit
