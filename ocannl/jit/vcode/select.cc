// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/jit/vcode/local_value_table.h"
#include "ocannl/jit/vcode/nest_builder.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/post_order.h"
#include "ocannl/jit/vcode/promote.h"
#include "ocannl/jit/vcode/tails.h"
#include "ocannl/jit/vcode/unroll.h"

namespace ocannl::jit {
namespace {

// Instructions after which a loaded value is loaded again, rather than spilled:
// `bazel run //experiments:bench -- --filter=gemm/17x17x17`.
constexpr int64_t kMaxReuseDistance = 128;

class Selector {
 public:
  Selector(LoopProgram& program, Isa isa)
      : program_(program), unroller_(program, isa), post_orders_(&program) {}

  Nest Run(const Block& block) && {
    WalkStmts(block, [&](const Stmt& stmt) {
      const SetLocal* set = std::get_if<SetLocal>(&stmt);
      if (set != nullptr) mutable_locals_.insert(set->local);
    });
    promoted_ = FindPromotable(program_, block, unroller_);
    unroller_.Walk(block, {.statement = [&](const Stmt& s) { Visit(s); },
                           .begin = [&](const For& loop) { Begin(loop); },
                           .end = [&](const For& loop) { End(loop); }});
    return std::move(builder_).Take();
  }

 private:
  struct LocalValue {
    Value value;
    int lanes;
  };

  MemoryRef MemoryRefOf(const Access& access) {
    const Lanes& lanes = unroller_.lanes();
    Affine offset = unroller_.ByteOffsetOf(access);
    const Buffer& buffer = program_.buffers[access.buffer];
    const Memory memory = builder_.MemoryAt(access.buffer, offset, lanes);
    // One cell for all lanes is the same in a tail.
    const bool has_all =
        memory.stride == 0 || EndsInPadding(buffer, offset, lanes);
    const int active = has_all ? lanes.count : lanes.active;
    return {.buffer = access.buffer,
            .memory = memory,
            .lanes = static_cast<uint8_t>(lanes.count),
            .active_lanes = static_cast<uint8_t>(active),
            .size = static_cast<uint8_t>(SizeOf(buffer.dtype))};
  }

  // ---- Instructions --------------------------------------------------------

  Inst NewInst(Opcode opcode, DType dtype) const {
    return NestBuilder::NewInst(opcode, dtype, unroller_.lanes());
  }

  Value Define(const Inst& inst) { return builder_.Define(inst); }

  // `into`, if valid, is a mutable register that gets the result.
  Value Compute(Inst inst, VReg into = {}) {
    if (into.is_valid()) {
      inst.dst = into;
      builder_.Append(inst);
      return RegValue(into);
    }
    bool pure =
        std::none_of(inst.args.begin(), inst.args.end(),
                     [&](Value arg) { return builder_.IsMutable(arg); });
    if (!pure) return Define(inst);
    VReg known = value_table_.FindComputation(inst);
    if (known.is_valid()) return RegValue(known);
    Value value = Define(inst);
    inst.dst = value.reg();
    value_table_.AddComputation(inst);
    return value;
  }

  // The first lane of `value` in every lane.
  Value Splat(Value value, DType dtype) {
    if (value.kind == Value::kConst || unroller_.lanes().count == 1) {
      return value;
    }
    Inst inst = NewInst(Opcode::kSplat, dtype);
    inst.args[0] = value;
    return Define(inst);
  }

  // ---- Leaves --------------------------------------------------------------

  Value ReadPromoted(PromotedBuffer& buffer, const Access& access, DType type) {
    const Lanes& lanes = unroller_.lanes();
    CellRange range = *CellRangeOf(program_, unroller_, access);
    PromotedBuffer::Entry& entry = buffer.EntryOf(range);
    Value value = RegValue(MutableRegisterOf(entry, type));
    if (range.first != entry.range.first) {
      Inst inst = NewInst(Opcode::kExtract, type);
      inst.args[0] = value;
      inst.offset = range.first - entry.range.first;
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(entry.range.lanes, range.lanes));
      value = Define(inst);
    }
    return lanes.count > 1 && range.lanes == 1 ? Splat(value, type) : value;
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
    MemoryRef ref = MemoryRefOf(access);
    std::optional<Value> known = value_table_.Find(ref);
    if (known && IsWorthKeeping(*known)) return *known;
    Inst inst = NewInst(Opcode::kLoad, dtype);
    inst.memory = ref.memory;
    inst.active_lanes = ref.active_lanes;
    const bool is_tail = ref.active_lanes < ref.lanes;
    if (is_tail && CanOverread(program_, unroller_, access))
      inst.active_lanes = ref.lanes;
    Value value = Define(inst);
    used_at_[value.reg()] = builder_.size();
    value_table_.AddLoad(ref, value);
    return value;
  }

  // May alias any cell.
  Inst NewRowAccess(Opcode opcode, const Lookup& lookup, int arg) {
    value_table_.MarkRead(lookup.index.buffer);
    value_table_.MarkRead(lookup.cell.buffer);
    return builder_.NewRowAccess(opcode, program_, unroller_, lookup, arg);
  }

  // Whether a loaded value, which memory has too, is worth its register.
  bool IsWorthKeeping(Value value) {
    auto used = used_at_.find(value.reg());
    if (value.kind != Value::kReg || used == used_at_.end()) return true;
    const bool keep = builder_.size() - used->second <= kMaxReuseDistance;
    if (keep) used->second = builder_.size();
    return keep;
  }

  Value ReadLocal(const GetLocal& get) {
    const LocalValue& local = locals_.at(get.local);
    bool splats = local.lanes == 1 && unroller_.lanes().count > 1;
    return splats ? Splat(local.value, program_.locals[get.local].dtype)
                  : local.value;
  }

  // The index as a number of `dtype`, i32 or i64.
  Value ReadIndex(const Affine& index, DType dtype) {
    Affine value = unroller_.Resolve(index);
    if (value.is_constant()) {
      return builder_.ConstantValue(FromBits(dtype, value.offset()));
    }
    Inst inst = NewInst(Opcode::kIndex, dtype);
    inst.memory = builder_.MemoryAt(Pointer::kNumber, value, unroller_.lanes());
    return Define(inst);
  }

  // ---- Expressions ---------------------------------------------------------

  struct Typed {
    Value value;
    DType dtype;  // i32 for an index that fits
  };

  Typed EvaluateLeaf(const PostOrderNode& node) {
    const Leaf& leaf = std::get<Leaf>(node.expr);
    return std::visit(
        Overload{
            [&](const Access& access) {
              return Typed{ReadAccess(access), leaf.dtype};
            },
            [&](const Lookup& lookup) {
              const Inst inst = NewRowAccess(Opcode::kLookup, lookup, 0);
              return Typed{Define(inst), leaf.dtype};
            },
            [&](const GetLocal& get) {
              return Typed{ReadLocal(get), leaf.dtype};
            },
            [&](const Affine& index) {
              const bool fits = FitsI32(program_, unroller_.extents(), index);
              const DType dtype = fits ? DType::kI32 : DType::kI64;
              return Typed{ReadIndex(index, dtype), dtype};
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
    Inst inst = NewInst(Opcode::kApply, DType::kI64);
    inst.op = Op::kConvert;
    inst.operand = DType::kI32;
    inst.args[0] = arg.value;
    return Compute(inst);
  }

  Typed EvaluateApply(const PostOrderNode& node, absl::Span<const Typed> done,
                      VReg into) {
    const Apply& apply = std::get<Apply>(node.expr);
    Inst inst = NewInst(Opcode::kApply, apply.dtype);
    inst.op = apply.op;
    std::vector<Constant> constants;
    for (size_t k = 0; k < node.args.size(); ++k) {
      const Typed& arg = done[node.args[k]];
      DType wanted = TypeOf(program_.exprs, apply.args[k]);
      bool widens = arg.dtype != wanted && apply.op != Op::kConvert;
      inst.args[k] = widens ? Widened(arg) : arg.value;
      inst.operand = widens ? wanted : arg.dtype;
      if (inst.args[k].kind != Value::kConst) continue;
      constants.push_back(builder_.ConstantOf(inst.args[k]));
    }
    if (constants.size() == node.args.size()) {
      Constant folded = EvalPrimitive(apply.op, apply.dtype, constants);
      return {builder_.ConstantValue(folded), apply.dtype};
    }
    const bool is_sign_op = apply.op == Op::kNeg || apply.op == Op::kAbs;
    if (is_sign_op && IsFloat(apply.dtype)) {
      inst.args[1] = builder_.SignMask(apply.op, apply.dtype);
    }
    if (unroller_.isa() == Isa::kAvx512 && KeepsNan(apply.op)) {
      inst.args[2] = builder_.NanRule(apply.dtype);
    }
    MaterialiseConstants(inst);
    return {Compute(inst, into), apply.dtype};
  }

  // Constants get registers where the instruction cannot take them from memory;
  // a select of a value or 0 is a zeroing mask.
  void MaterialiseConstants(Inst& inst) {
    OrderOperands(inst);
    for (int k = 0; k < 3; ++k) {
      if (inst.args[k].kind != Value::kConst || CanBeMemory(inst, k)) continue;
      const bool zero = builder_.ConstantOf(inst.args[k]).bits == 0;
      const bool is_false =
          k == 2 && inst.op == Op::kSelect && inst.dtype != DType::kBool;
      if (zero && is_false) continue;
      bool is_condition = inst.op == Op::kSelect && k == 0;
      inst.args[k] =
          InRegister(inst.args[k], is_condition ? DType::kBool : inst.operand);
    }
  }

  Value InRegister(Value value, DType dtype) {
    if (value.kind != Value::kConst) return value;
    Inst inst = NewInst(Opcode::kCopy, dtype);
    inst.args[0] = value;
    return Compute(inst);
  }

  // The value of `root`; in `into`, if that is valid.
  Value Evaluate(ExprId root, VReg into = {}) {
    const std::vector<PostOrderNode>& nodes = post_orders_.Of(root);
    absl::InlinedVector<Typed, 16> done;  // most expressions are small
    for (const PostOrderNode& node : nodes) {
      VReg target = done.size() + 1 == nodes.size() ? into : VReg();
      done.push_back(std::visit(
          Overload{
              [&](const Constant& c) {
                return Typed{builder_.ConstantValue(c), c.dtype};
              },
              [&](const Leaf&) { return EvaluateLeaf(node); },
              [&](const Apply&) { return EvaluateApply(node, done, target); },
          },
          node.expr));
    }
    const Typed& result = done.back();
    DType dtype = TypeOf(program_.exprs, root);
    Value value = result.dtype != dtype ? Widened(result) : result.value;
    if (!into.is_valid() || value == RegValue(into)) return value;
    Inst copy = NewInst(Opcode::kCopy, dtype);
    copy.args[0] = value;
    return Compute(copy, into);
  }

  // ---- Statements ----------------------------------------------------------

  void Visit(const Stmt& stmt) {
    std::visit(Overload{
                   [&](const Set& set) { VisitSet(stmt, set); },
                   [&](const Scatter& set) { VisitScatter(stmt, set); },
                   [&](const DeclareLocal& let) { VisitDeclare(stmt, let); },
                   [&](const SetLocal& set) {
                     SetSourceLoc(stmt);
                     VReg reg = locals_.at(set.local).value.reg();
                     Evaluate(set.value, reg);
                     value_table_.KillRegister(reg);
                   },
                   [&](const ZeroOut& zero) { VisitZero(stmt, zero); },
                   [&](const Comment&) {},
                   [&](const For&) { CHECK(false) << "a loop"; },
               },
               static_cast<const Stmt::variant&>(stmt));
  }

  void VisitSet(const Stmt& stmt, const Set& set) {
    SetSourceLoc(stmt);
    DType dtype = program_.buffers[set.target.buffer].dtype;
    auto promoted = promoted_.find(set.target.buffer);
    if (promoted != promoted_.end()) {
      return WritePromoted(promoted->second, set.target, dtype, set.value);
    }
    Value value = Evaluate(set.value);
    MemoryRef ref = MemoryRefOf(set.target);
    Inst inst = NewInst(Opcode::kStore, dtype);
    inst.args[0] = InRegister(value, dtype);
    inst.memory = ref.memory;
    inst.active_lanes = ref.active_lanes;
    int dead = value_table_.AddStore(ref, value, builder_.Append(inst));
    if (dead >= 0) builder_.Drop(dead);
  }

  void VisitScatter(const Stmt& stmt, const Scatter& scatter) {
    SetSourceLoc(stmt);
    const Lookup& target = program_.TargetOf(scatter);
    const BufferId buffer = target.cell.buffer;
    const Value value =
        InRegister(Evaluate(scatter.value), program_.buffers[buffer].dtype);
    Inst inst = NewRowAccess(Opcode::kScatter, target, 1);
    inst.args[0] = value;
    builder_.Append(inst);
    value_table_.KillBuffer(buffer);
  }

  void WritePromoted(PromotedBuffer& buffer, const Access& target, DType dtype,
                     ExprId value) {
    CellRange range = *CellRangeOf(program_, unroller_, target);
    PromotedBuffer::Entry& entry = buffer.EntryOf(range);
    const VReg reg = MutableRegisterOf(entry, dtype);
    if (range.first == entry.range.first && range.size == entry.range.size) {
      Evaluate(value, reg);
    } else {
      Inst inst = NewInst(Opcode::kInsert, dtype);
      inst.args[0] = InRegister(Evaluate(value), dtype);
      inst.dst = reg;
      inst.offset = range.first - entry.range.first;
      inst.active_lanes = static_cast<uint8_t>(range.size);
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(entry.range.lanes, range.lanes));
      builder_.Append(inst);
    }
    value_table_.KillRegister(reg);
  }

  void VisitDeclare(const Stmt& stmt, const DeclareLocal& let) {
    SetSourceLoc(stmt);
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
      Inst copy = NewInst(Opcode::kCopy, dtype);
      copy.args[0] = value;
      value = Define(copy);
    }
    locals_[let.local] = {value, lanes};
  }

  void VisitZero(const Stmt& stmt, const ZeroOut& zero) {
    SetSourceLoc(stmt);
    const Buffer& buffer = program_.buffers[zero.buffer];
    Inst inst = NewInst(Opcode::kMemset, buffer.dtype);
    inst.memory = builder_.MemoryAt(zero.buffer, 0, unroller_.lanes());
    inst.offset =
        NumElements(buffer.dims) * static_cast<int64_t>(SizeOf(buffer.dtype));
    builder_.Append(inst);
    value_table_.KillBuffer(zero.buffer);
  }

  void SetSourceLoc(const Stmt& stmt) {
    builder_.SetSourceLoc(&stmt, [&] {
      std::string line = PrintStmt(program_, stmt, 0);
      line.resize(line.find('\n'));
      return line;
    });
  }

  void Begin(const For& loop) {
    value_table_.Clear();
    builder_.BeginLoop(loop);
  }

  void End(const For& loop) {
    value_table_.Clear();
    builder_.EndLoop(loop);
  }

  LoopProgram& program_;
  Unroller unroller_;
  NestBuilder builder_;
  PostOrders post_orders_;
  LocalValueTable value_table_;
  absl::flat_hash_map<VReg, int64_t> used_at_;  // when, by loaded register
  absl::flat_hash_map<BufferId, PromotedBuffer> promoted_;
  absl::flat_hash_set<LocalId> mutable_locals_;  // those that are set
  absl::flat_hash_map<LocalId, LocalValue> locals_;
};

}  // namespace

Nest Select(LoopProgram& program, const Block& block, Isa isa) {
  return Selector(program, isa).Run(block);
}

}  // namespace ocannl::jit
