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

// Whether the value is computed, not read where it is.
bool IsComputed(const LoopProgram& program, const ExprNode& node) {
  const Leaf* leaf = std::get_if<Leaf>(&node);
  if (leaf == nullptr) return std::holds_alternative<Apply>(node);
  return std::holds_alternative<Lookup>(program.At(*leaf));
}

// Whether the code from `first` is one computation that can be repeated without
// incrementing a register. An index as a value cannot.
bool IsOneComputation(const Bytecode& code, size_t first) {
  if (code.instructions.size() != first + 1) return false;
  const Instruction& only = code.instructions[first];
  return only.count == 1 && absl::c_none_of(only.args, [&](int32_t arg) {
           return code.registers[arg].base == kRegisters;
         });
}

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

  void EmitComputation(Handler handler, int32_t target,
                       absl::Span<const int32_t> args) {
    Instruction& made = Emit(handler, target);
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
    EmitComputation(
        find(buffer.dtype, program_.buffers[lookup.index->buffer].dtype),
        target, {AddressOf(*lookup.index), other, limits});
  }

  // The operand that holds what the leaf reads; `target` holds what has to be
  // looked up.
  int32_t OperandOf(const LeafValue& leaf, int32_t target) {
    return std::visit(
        Overload{
            [&](const Access& access) { return AddressOf(access); },
            [&](const Lookup& lookup) {
              EmitRowAccess(FindLookup, lookup, target, AddressOf(lookup.cell));
              return target;
            },
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
      EmitComputation(FindHandler(Op::kConvert, DType::kU32, DType::kU32),
                      slots[k], {operands.at(key[k])});
    }
    return slots[0];
  }

  void DecodeApply(const Apply& apply, int32_t target,
                   const NodeMap<int32_t>& operands) {
    int32_t args[3] = {};
    size_t count = 0;
    size_t first = 0;
    Handler handler;
    if (IsDraw(apply.op)) {
      args[count++] = DecodeKey(apply, operands);
      first = kKeySlots;
      handler = FindDraw(apply.op);
    } else {
      handler =
          FindHandler(apply.op, apply.dtype, TypeOf(exprs_, apply.args.back()));
    }
    for (size_t k = first; k < apply.args.size(); ++k) {
      args[count++] = operands.at(apply.args[k]);
    }
    EmitComputation(handler, target, absl::MakeConstSpan(args, count));
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

  // The operand that holds the value; what is computed goes to `target`, -1: to
  // a temporary. Only the last instruction writes there, which the value may
  // read.
  int32_t DecodeValue(int32_t target, ExprId value) {
    num_temporaries_ = 0;
    ExprId root = ExpandToDraws(exprs_, value);
    NodeMap<int32_t> operands;
    auto decode = [&](ExprId id) {
      int32_t result = id == root && target >= 0          ? target
                       : IsComputed(program_, exprs_[id]) ? NextTemporary()
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
    EmitComputation(FindHandler(Op::kConvert, dtype, dtype), target, {result});
  }

  void DecodeFor(const For& loop) {
    if (loop.extent == 0) return;
    size_t first = code_.instructions.size();
    DecodeBlock(loop.body);
    if (IsOneComputation(code_, first)) {
      Instruction& only = code_.instructions[first];
      // What the address in `number` gains from one iteration to the next.
      auto stride_of = [&](int32_t number) -> uint64_t {
        return code_.registers[number].value.FactorOf(Iterator(loop.iterator));
      };
      only.count = loop.extent;
      only.target_stride = stride_of(only.target);
      absl::c_transform(only.args, only.strides, stride_of);
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
