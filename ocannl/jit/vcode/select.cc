// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/eval.h"
#include "ocannl/jit/vcode/allocate.h"
#include "ocannl/jit/vcode/fold.h"
#include "ocannl/jit/vcode/nest_builder.h"
#include "ocannl/jit/vcode/pairs.h"
#include "ocannl/jit/vcode/steps.h"
#include "ocannl/jit/vcode/tails.h"
#include "ocannl/jit/vcode/tiles.h"
#include "ocannl/jit/vcode/transpose.h"
#include "ocannl/jit/vcode/unroll.h"
#include "ocannl/jit/vcode/values.h"

namespace ocannl::jit {
namespace {

// Instructions for which a register that nobody uses holds what memory does.
constexpr int64_t kNear = 128;

class Selector {
 public:
  Selector(LoopProgram& program, Isa isa)
      : program_(program), unroller_(program, isa), steps_(&program) {}

  Nest Run(const Block& block) && {
    WalkStmts(block, [&](const Stmt& stmt) {
      const SetLocal* set = std::get_if<SetLocal>(&stmt);
      if (set != nullptr) variables_.insert(set->local);
    });
    tiles_ = FindTiles(program_, block, unroller_);
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

  Cells CellsOf(const Access& access) {
    const Lanes& lanes = unroller_.lanes();
    Affine place = unroller_.Resolve(ByteOffset(program_, access));
    const Buffer& buffer = program_.buffers[access.buffer];
    const Memory memory = builder_.MemoryAt(access.buffer, place, lanes);
    // One cell for all lanes is the same in a tail.
    const bool has_all =
        memory.stride == 0 || EndsInPadding(buffer, place, lanes);
    const int valid = has_all ? lanes.count : lanes.valid;
    return {.buffer = access.buffer,
            .memory = memory,
            .lanes = static_cast<uint8_t>(lanes.count),
            .valid = static_cast<uint8_t>(valid),
            .size = static_cast<uint8_t>(SizeOf(buffer.dtype))};
  }

  // ---- Instructions --------------------------------------------------------

  Inst NewInst(Code code, DType dtype) const {
    return NestBuilder::NewInst(code, dtype, unroller_.lanes());
  }

  Value Define(const Inst& inst) { return builder_.Define(inst); }

  // `into` is a variable that gets the result, or -1.
  Value Compute(Inst inst, int32_t into) {
    if (into >= 0) {
      inst.dst = into;
      builder_.Append(inst);
      return {Value::kReg, into};
    }
    bool pure =
        std::none_of(inst.args.begin(), inst.args.end(),
                     [&](Value arg) { return builder_.IsVariable(arg); });
    if (!pure) return Define(inst);
    int32_t known = values_.FindComputation(inst);
    if (known >= 0) return {Value::kReg, known};
    Value value = Define(inst);
    inst.dst = value.index;
    values_.AddComputation(inst);
    return value;
  }

  // The first lane of `value` in every lane.
  Value Splat(Value value, DType dtype) {
    if (value.kind == Value::kConst || unroller_.lanes().count == 1) {
      return value;
    }
    Inst inst = NewInst(Code::kSplat, dtype);
    inst.args[0] = value;
    return Define(inst);
  }

  // ---- Leaves --------------------------------------------------------------

  Value ReadTile(Tile& tile, const Access& access, DType dtype) {
    const Lanes& lanes = unroller_.lanes();
    Chunk chunk = *ChunkOf(program_, unroller_, access);
    Tile::Part& part = tile.PartOf(chunk);
    Value value{Value::kReg, VariableOf(part, dtype)};
    if (chunk.first != part.chunk.first) {
      Inst inst = NewInst(Code::kExtract, dtype);
      inst.args[0] = value;
      inst.offset = chunk.first - part.chunk.first;
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(part.chunk.lanes, chunk.lanes));
      value = Define(inst);
    }
    return lanes.count > 1 && chunk.lanes == 1 ? Splat(value, dtype) : value;
  }

  int32_t VariableOf(Tile::Part& part, DType dtype) {
    if (part.reg < 0) {
      part.reg =
          builder_.NewRegister(dtype, part.chunk.lanes, /*is_variable=*/true);
    }
    return part.reg;
  }

  Value ReadAccess(const Access& access) {
    DType dtype = program_.buffers[access.buffer].dtype;
    auto tile = tiles_.find(access.buffer);
    if (tile != tiles_.end()) return ReadTile(tile->second, access, dtype);
    Cells cells = CellsOf(access);
    std::optional<Value> known = values_.Find(cells);
    if (known && IsNear(*known)) return *known;
    Inst inst = NewInst(Code::kLoad, dtype);
    inst.memory = cells.memory;
    inst.valid = cells.valid;
    const bool is_tail = cells.valid < cells.lanes;
    if (is_tail && HasMore(program_, unroller_, access))
      inst.valid = cells.lanes;
    Value value = Define(inst);
    used_at_[value.index] = builder_.size();
    values_.AddLoad(cells, value);
    return value;
  }

  // Any row may be the one.
  Inst AtRows(Code code, const Lookup& lookup, int arg) {
    values_.AddReads(lookup.index.buffer);
    values_.AddReads(lookup.cell.buffer);
    return builder_.AtRows(code, program_, unroller_, lookup, arg);
  }

  // Whether a value is worth its register since it was last used, if it comes
  // from memory: it can come from there again.
  bool IsNear(Value value) {
    auto used = used_at_.find(value.index);
    if (value.kind != Value::kReg || used == used_at_.end()) return true;
    const bool near = builder_.size() - used->second <= kNear;
    if (near) used->second = builder_.size();
    return near;
  }

  Value ReadLocal(const GetLocal& get) {
    const LocalValue& local = locals_.at(get.local);
    bool splats = local.lanes == 1 && unroller_.lanes().count > 1;
    return splats ? Splat(local.value, program_.locals[get.local].dtype)
                  : local.value;
  }

  // The index as a number of `dtype`, i32 or i64.
  Value ReadIndex(const Affine& index, DType dtype) {
    Affine place = unroller_.Resolve(index);
    if (place.is_constant()) {
      return builder_.ConstantValue(FromBits(dtype, place.offset()));
    }
    Inst inst = NewInst(Code::kIndex, dtype);
    inst.memory = builder_.MemoryAt(Pointer::kNumber, place, unroller_.lanes());
    return Define(inst);
  }

  // ---- Expressions ---------------------------------------------------------

  struct Typed {
    Value value;
    DType dtype;  // i32 for an index that fits
  };

  Typed EvaluateLeaf(const Step& step) {
    const Leaf& leaf = std::get<Leaf>(step.node);
    return std::visit(Overload{
                          [&](const Access& access) {
                            return Typed{ReadAccess(access), leaf.dtype};
                          },
                          [&](const Lookup& lookup) {
                            const Inst inst = AtRows(Code::kLookup, lookup, 0);
                            return Typed{Define(inst), leaf.dtype};
                          },
                          [&](const GetLocal& get) {
                            return Typed{ReadLocal(get), leaf.dtype};
                          },
                          [&](const Affine& index) {
                            DType dtype =
                                FitsI32(program_, unroller_.extents(), index)
                                    ? DType::kI32
                                    : DType::kI64;
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
    Inst inst = NewInst(Code::kApply, DType::kI64);
    inst.op = Op::kConvert;
    inst.operand = DType::kI32;
    inst.args[0] = arg.value;
    return Compute(inst, -1);
  }

  Typed EvaluateApply(const Step& step, const std::vector<Typed>& done,
                      int32_t into) {
    const Apply& apply = std::get<Apply>(step.node);
    Inst inst = NewInst(Code::kApply, apply.dtype);
    inst.op = apply.op;
    std::vector<Constant> constants;
    for (size_t k = 0; k < step.args.size(); ++k) {
      const Typed& arg = done[step.args[k]];
      DType wanted = TypeOf(program_.exprs, apply.args[k]);
      bool widens = arg.dtype != wanted && apply.op != Op::kConvert;
      inst.args[k] = widens ? Widened(arg) : arg.value;
      inst.operand = widens ? wanted : arg.dtype;
      if (inst.args[k].kind != Value::kConst) continue;
      constants.push_back(builder_.ConstantOf(inst.args[k]));
    }
    if (constants.size() == step.args.size()) {
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
    PlaceConstants(inst);
    return {Compute(inst, into), apply.dtype};
  }

  // Constants get registers where the instruction cannot hold them. What is 0
  // where a condition is false costs nothing.
  void PlaceConstants(Inst& inst) {
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
    Inst inst = NewInst(Code::kCopy, dtype);
    inst.args[0] = value;
    return Compute(inst, -1);
  }

  // The value of `root`; where `into` is a variable, the variable gets it.
  Value Evaluate(ExprId root, int32_t into) {
    const std::vector<Step>& steps = steps_.Of(root);
    std::vector<Typed> done;
    done.reserve(steps.size());
    for (const Step& step : steps) {
      int32_t target = done.size() + 1 == steps.size() ? into : -1;
      done.push_back(std::visit(
          Overload{
              [&](const Constant& c) {
                return Typed{builder_.ConstantValue(c), c.dtype};
              },
              [&](const Leaf&) { return EvaluateLeaf(step); },
              [&](const Apply&) { return EvaluateApply(step, done, target); },
          },
          step.node));
    }
    const Typed& result = done.back();
    DType dtype = TypeOf(program_.exprs, root);
    Value value = result.dtype != dtype ? Widened(result) : result.value;
    if (into < 0 || value == Value{Value::kReg, into}) return value;
    Inst copy = NewInst(Code::kCopy, dtype);
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
                     Note(stmt);
                     int32_t reg = locals_.at(set.local).value.index;
                     Evaluate(set.value, reg);
                     values_.ForgetRegister(reg);
                   },
                   [&](const ZeroOut& zero) { VisitZero(stmt, zero); },
                   [&](const Comment&) {},
                   [&](const For&) { CHECK(false) << "a loop"; },
               },
               static_cast<const Stmt::variant&>(stmt));
  }

  void VisitSet(const Stmt& stmt, const Set& set) {
    Note(stmt);
    DType dtype = program_.buffers[set.target.buffer].dtype;
    auto tile = tiles_.find(set.target.buffer);
    if (tile != tiles_.end()) {
      return WriteTile(tile->second, set.target, dtype, set.value);
    }
    Value value = Evaluate(set.value, -1);
    Cells cells = CellsOf(set.target);
    Inst inst = NewInst(Code::kStore, dtype);
    inst.args[0] = InRegister(value, dtype);
    inst.memory = cells.memory;
    inst.valid = cells.valid;
    int dead = values_.AddStore(cells, value, builder_.Append(inst));
    if (dead >= 0) builder_.Drop(dead);
  }

  void VisitScatter(const Stmt& stmt, const Scatter& scatter) {
    Note(stmt);
    const Lookup& target = program_.TargetOf(scatter);
    const int32_t buffer = target.cell.buffer;
    const Value value =
        InRegister(Evaluate(scatter.value, -1), program_.buffers[buffer].dtype);
    Inst inst = AtRows(Code::kScatter, target, 1);
    inst.args[0] = value;
    builder_.Append(inst);
    values_.ForgetBuffer(buffer);
  }

  void WriteTile(Tile& tile, const Access& target, DType dtype, ExprId value) {
    Chunk chunk = *ChunkOf(program_, unroller_, target);
    Tile::Part& part = tile.PartOf(chunk);
    const int32_t reg = VariableOf(part, dtype);
    if (chunk.first == part.chunk.first && chunk.valid == part.chunk.valid) {
      Evaluate(value, reg);
    } else {
      Inst inst = NewInst(Code::kInsert, dtype);
      inst.args[0] = InRegister(Evaluate(value, -1), dtype);
      inst.dst = reg;
      inst.offset = chunk.first - part.chunk.first;
      inst.valid = static_cast<uint8_t>(chunk.valid);
      inst.lanes =
          static_cast<uint8_t>(std::max<int>(part.chunk.lanes, chunk.lanes));
      builder_.Append(inst);
    }
    values_.ForgetRegister(reg);
  }

  void VisitDeclare(const Stmt& stmt, const DeclareLocal& let) {
    Note(stmt);
    const int lanes = unroller_.lanes().count;
    DType dtype = program_.locals[let.local].dtype;
    if (variables_.contains(let.local)) {
      int32_t reg = builder_.NewRegister(dtype, lanes, /*is_variable=*/true);
      locals_[let.local] = {{Value::kReg, reg}, lanes};
      Evaluate(let.value, reg);
      return;
    }
    Value value = Evaluate(let.value, -1);
    if (builder_.IsVariable(value)) {
      Inst copy = NewInst(Code::kCopy, dtype);
      copy.args[0] = value;
      value = Define(copy);
    }
    locals_[let.local] = {value, lanes};
  }

  void VisitZero(const Stmt& stmt, const ZeroOut& zero) {
    Note(stmt);
    const Buffer& buffer = program_.buffers[zero.buffer];
    Inst inst = NewInst(Code::kZero, buffer.dtype);
    inst.memory = builder_.MemoryAt(zero.buffer, 0, unroller_.lanes());
    inst.offset =
        NumElements(buffer.dims) * static_cast<int64_t>(SizeOf(buffer.dtype));
    builder_.Append(inst);
    values_.ForgetBuffer(zero.buffer);
  }

  void Note(const Stmt& stmt) {
    builder_.Note(&stmt, [&] {
      std::string line = PrintStmt(program_, stmt, 0);
      line.resize(line.find('\n'));
      return line;
    });
  }

  void Begin(const For& loop) {
    values_.Clear();
    builder_.BeginLoop(loop);
  }

  void End(const For& loop) {
    values_.Clear();
    builder_.EndLoop(loop);
  }

  LoopProgram& program_;
  Unroller unroller_;
  NestBuilder builder_;
  Steps steps_;
  Values values_;
  absl::flat_hash_map<int32_t, int64_t> used_at_;  // when, by loaded register
  absl::flat_hash_map<int32_t, Tile> tiles_;
  absl::flat_hash_set<int32_t> variables_;  // locals that are set
  absl::flat_hash_map<int32_t, LocalValue> locals_;
};

}  // namespace

Nest Select(LoopProgram& program, const Block& block, Isa isa) {
  Nest nest = Selector(program, isa).Run(block);
  JoinPairs(nest, isa);
  TransposeLoads(nest, isa);
  Fold(nest, isa);
  KeepConstants(nest, isa);
  return nest;
}

}  // namespace ocannl::jit
