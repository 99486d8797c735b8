// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/decode.h"

#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/interp/handlers.h"

namespace ocannl::interp {
namespace {

class Decoder {
 public:
  explicit Decoder(const LoopProgram& program)
      : program_(program), exprs_(program.exprs) {}

  Bytecode Run() && {
    for (size_t i = 0; i < program_.locals.size(); ++i) {
      locals_.push_back(NewSlot(0));
    }
    DecodeBlock(program_.body);
    Emit(StopHandler, 0);
    return std::move(code_);
  }

 private:
  Instruction& Emit(Handler handler, int32_t target) {
    code_.instructions.push_back({.handler = handler, .target = target});
    return code_.instructions.back();
  }

  void EmitComputation(Op op, DType result, DType operand, int32_t target,
                       absl::Span<const int32_t> args) {
    Instruction& made = Emit(FindHandler(op, result, operand), target);
    absl::c_copy(args, made.args);
    made.count = 1;
  }

  // The register that holds base + value.
  int32_t RegisterOf(int32_t base, const Affine& value) {
    auto [it, inserted] = registers_.try_emplace({base, value}, 0);
    if (!inserted) return it->second;
    it->second = AddRegister(base, value);
    for (const Affine::Term& term : value.terms()) {
      if (term.symbol.kind == Symbol::kStatic) continue;
      increments_[term.symbol.iterator()].push_back(
          {.reg = it->second, .amount = static_cast<uint64_t>(term.factor)});
    }
    return it->second;
  }

  int32_t AddRegister(int32_t base, const Affine& value) {
    code_.registers.push_back({.base = base, .value = value});
    return static_cast<int32_t>(code_.registers.size()) - 1;
  }

  int32_t NewSlot(uint64_t bits) {
    code_.slots.push_back(bits);
    int64_t number = static_cast<int64_t>(code_.slots.size()) - 1;
    return AddRegister(kSlots, number * static_cast<int64_t>(sizeof(bits)));
  }

  // A slot for a temporary of a statement.
  int32_t NextTemporary() {
    if (num_temporaries_ == temporaries_.size()) {
      temporaries_.push_back(NewSlot(0));
    }
    return temporaries_[num_temporaries_++];
  }

  int32_t AddressOf(const Access& access) {
    return RegisterOf(access.buffer.index, ByteOffset(program_, access));
  }

  // With `find`(the types of cell and index) as the handler; `other` is the
  // operand that is not the index.
  void EmitRowAccess(Handler (*find)(DType, DType), const Lookup& lookup,
                     int32_t target, int32_t other) {
    const Buffer& buffer = program_.buffers[lookup.cell.buffer];
    const int32_t limits = NewSlot(buffer.dims[lookup.axis]);
    NewSlot(LookupStride(program_, lookup) * SizeOf(buffer.dtype));
    Instruction& made =
        Emit(find(buffer.dtype, program_.buffers[lookup.index.buffer].dtype),
             target);
    made.args[0] = AddressOf(lookup.index);
    made.args[1] = other;
    made.args[2] = limits;
    made.count = 1;
  }

  // target := what the lookup reads.
  int32_t EmitLookup(const Lookup& lookup, int32_t target) {
    EmitRowAccess(FindLookup, lookup, target, AddressOf(lookup.cell));
    return target;
  }

  // The operand that holds what the leaf reads; `target` holds what has to be
  // looked up.
  int32_t OperandOf(const LeafValue& leaf, int32_t target) {
    return std::visit(
        Overload{
            [&](const Access& access) { return AddressOf(access); },
            [&](const Lookup& lookup) { return EmitLookup(lookup, target); },
            [&](const GetLocal& get) { return locals_[get.local]; },
            [&](const Affine& index) {
              int64_t number = RegisterOf(kNumber, index);
              return RegisterOf(kRegisters, number * int64_t{sizeof(uint64_t)});
            },
        },
        leaf);
  }

  // The register of the slots of the generator with that key; each word that is
  // no constant is copied there first.
  int32_t DecodeKey(const Apply& draw, const NodeMap<int32_t>& operands) {
    const std::vector<ExprId> key(draw.args.begin(),
                                  draw.args.begin() + kKeySlots);
    auto [it, inserted] = generators_.try_emplace({draw.op, key});
    std::vector<int32_t>& slots = it->second;
    for (int k = 0; inserted && k < kDrawSlots; ++k) {
      const Constant* constant =
          k < kKeySlots ? std::get_if<Constant>(&exprs_[key[k]]) : nullptr;
      slots.push_back(NewSlot(constant == nullptr ? 0 : constant->bits));
    }
    for (int k = 0; k < kKeySlots; ++k) {
      if (std::holds_alternative<Constant>(exprs_[key[k]])) continue;
      EmitComputation(Op::kConvert, DType::kU32, DType::kU32, slots[k],
                      {operands.at(key[k])});
    }
    return slots[0];
  }

  void DecodeDraw(const Apply& draw, int32_t target,
                  const NodeMap<int32_t>& operands) {
    const int32_t key = DecodeKey(draw, operands);
    Instruction& made = Emit(FindDraw(draw.op), target);
    made.args[0] = key;
    made.args[1] = operands.at(draw.args[kKeySlots]);
    made.args[2] = operands.at(draw.args[kKeySlots + 1]);
    made.count = 1;
  }

  void DecodeApply(const Apply& apply, int32_t target,
                   const NodeMap<int32_t>& operands) {
    if (IsDraw(apply.op)) return DecodeDraw(apply, target, operands);
    int32_t args[3] = {};
    const size_t arity = apply.args.size();
    for (size_t k = 0; k < arity; ++k) args[k] = operands.at(apply.args[k]);
    EmitComputation(apply.op, apply.dtype, TypeOf(exprs_, apply.args.back()),
                    target, absl::MakeConstSpan(args, arity));
  }

  // The operand that holds `id` once its operands are in `operands`.
  int32_t DecodeNode(ExprId id, int32_t target,
                     const NodeMap<int32_t>& operands) {
    return std::visit(Overload{
                          [&](const Constant& constant) {
                            auto [it, inserted] = constants_.try_emplace(id, 0);
                            if (inserted) it->second = NewSlot(constant.bits);
                            return it->second;
                          },
                          [&](const Leaf& leaf) {
                            return OperandOf(program_.At(leaf), target);
                          },
                          [&](const Apply& apply) {
                            DecodeApply(apply, target, operands);
                            return target;
                          },
                      },
                      exprs_[id]);
  }

  bool IsComputed(ExprId id) const {
    const Leaf* leaf = std::get_if<Leaf>(&exprs_[id]);
    if (leaf == nullptr) return std::holds_alternative<Apply>(exprs_[id]);
    return std::holds_alternative<Lookup>(program_.At(*leaf));
  }

  // The operand that holds the value; what is computed goes to `target`, -1: to
  // a temporary. Only the last instruction writes there, which the value may
  // read.
  int32_t DecodeValue(int32_t target, ExprId value) {
    num_temporaries_ = 0;
    ExprId root = ExpandToDraws(exprs_, value);
    NodeMap<int32_t> operands;
    auto decode = [&](ExprId id) {
      int32_t result = id == root && target >= 0 ? target
                       : IsComputed(id)          ? NextTemporary()
                                                 : 0;
      return DecodeNode(id, result, operands);
    };
    return VisitOnce<int32_t>(exprs_, root, operands, decode);
  }

  // target := value
  void DecodeAssignment(int32_t target, ExprId value) {
    int32_t result = DecodeValue(target, value);
    if (result == target) return;
    DType dtype = TypeOf(exprs_, value);
    EmitComputation(Op::kConvert, dtype, dtype, target, {result});
  }

  // What the address in `number` gains from one iteration to the next.
  uint64_t StrideOf(int32_t number, IteratorId iterator) const {
    return code_.registers[number].value.FactorOf(Iterator(iterator));
  }

  // Whether the code from `first` is one computation that can be repeated
  // without incrementing a register. An index as a value cannot.
  bool IsOneComputation(size_t first) const {
    if (code_.instructions.size() != first + 1) return false;
    const Instruction& only = code_.instructions[first];
    return only.count == 1 && absl::c_none_of(only.args, [&](int32_t arg) {
             return code_.registers[arg].base == kRegisters;
           });
  }

  void DecodeFor(const For& loop) {
    if (loop.extent == 0) return;
    size_t first = code_.instructions.size();
    DecodeBlock(loop.body);
    if (IsOneComputation(first)) {
      Instruction& only = code_.instructions[first];
      only.count = loop.extent;
      only.target_stride = StrideOf(only.target, loop.iterator);
      for (int k = 0; k < 3; ++k) {
        only.strides[k] = StrideOf(only.args[k], loop.iterator);
      }
      return;
    }
    int32_t counter = RegisterOf(kNumber, Iterator(loop.iterator));
    auto body = static_cast<int64_t>(code_.instructions.size() - first);
    Emit(EndLoopHandler, static_cast<int32_t>(code_.loops.size()));
    code_.loops.push_back({.counter = counter,
                           .last = static_cast<uint64_t>(loop.extent) - 1,
                           .jump = -body,
                           .increments = increments_[loop.iterator]});
  }

  void DecodeZeroOut(BufferId buffer) {
    const Buffer& zeroed = program_.buffers[buffer];
    int64_t bytes =
        NumElements(zeroed.dims) * static_cast<int64_t>(SizeOf(zeroed.dtype));
    int32_t target = RegisterOf(buffer.index, 0);
    Emit(ZeroOutHandler, target).args[0] = RegisterOf(kNumber, bytes);
  }

  void DecodeBlock(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      std::visit(Overload{
                     [&](const For& loop) { DecodeFor(loop); },
                     [&](const Set& set) {
                       DecodeAssignment(AddressOf(set.target), set.value);
                     },
                     [&](const Scatter& scatter) {
                       const Lookup& target = program_.TargetOf(scatter);
                       const int32_t value = DecodeValue(-1, scatter.value);
                       EmitRowAccess(FindScatter, target,
                                     AddressOf(target.cell), value);
                     },
                     [&](const DeclareLocal& declare) {
                       DecodeAssignment(locals_[declare.local], declare.value);
                     },
                     [&](const SetLocal& set) {
                       DecodeAssignment(locals_[set.local], set.value);
                     },
                     [&](const ZeroOut& zero) { DecodeZeroOut(zero.buffer); },
                     [&](const Comment&) {},
                 },
                 static_cast<const Stmt::variant&>(stmt));
    }
  }

  const LoopProgram& program_;
  ExprPool exprs_;
  Bytecode code_;
  absl::flat_hash_map<std::pair<int32_t, Affine>, int32_t> registers_;
  absl::flat_hash_map<IteratorId, std::vector<RegisterIncrement>> increments_;
  absl::flat_hash_map<ExprId, int32_t> constants_;
  // The registers of the slots of each, by its op and the words of its key.
  absl::flat_hash_map<std::pair<Op, std::vector<ExprId>>, std::vector<int32_t>>
      generators_;
  IdVector<LocalId, int32_t> locals_;  // register of each local's slot
  std::vector<int32_t> temporaries_;
  size_t num_temporaries_ = 0;  // in use by the statement
};

}  // namespace

Bytecode Decode(const LoopProgram& program) { return Decoder(program).Run(); }

}  // namespace ocannl::interp
