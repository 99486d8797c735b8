// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/text/parse.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/text/nest_lexer.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/vcode/verify.h"

namespace ocannl::jit {
namespace {

// Whether `name` is that of an operation, which `inst` is then.
bool SetOperation(absl::string_view name, Inst& inst) {
  for (size_t k = 0; k < std::size(kOpcodes); ++k) {
    inst.opcode = static_cast<Opcode>(k);
    if (inst.opcode != Opcode::kApply && NameOf(inst) == name) return true;
  }
  inst.opcode = Opcode::kApply;
  return absl::c_any_of(AllOps(), [&](Op op) {
    inst.op = op;
    return NameOf(inst) == name;
  });
}

template <class T>
T& EntryAt(int32_t number, std::vector<T>& all) {
  const auto size = static_cast<size_t>(number) + 1;
  if (all.size() < size) all.resize(size);
  return all[number];
}

absl::StatusOr<Symbol> TakeSymbol(NestLexer& in, const LoopProgram& program) {
  for (size_t k = 0; k < program.statics.size(); ++k) {
    if (in.Accept(program.statics[k].name)) return Static(k);
  }
  OCANNL_ASSIGN_OR_RETURN(int32_t number, in.TakeNumbered("i"));
  return Iterator(IteratorId{number});
}

absl::StatusOr<BufferId> TakeBuffer(NestLexer& in, const LoopProgram& program) {
  for (BufferId id : program.buffers.ids()) {
    if (in.Accept(program.buffers[id].name)) return id;
  }
  return in.ExpectedError("a buffer of the program");
}

// "[p1 + 64, stride 8]"
absl::Status TakeMemory(NestLexer& in, Inst& inst) {
  Memory& memory = inst.memory;
  OCANNL_RETURN_IF_ERROR(in.Expect("["));
  OCANNL_ASSIGN_OR_RETURN(memory.pointer, in.TakeNumbered("p"));
  if (in.Accept("+")) {
    OCANNL_ASSIGN_OR_RETURN(memory.disp, in.TakeSigned());
  }
  memory.stride = ContiguousStride(inst);
  if (in.Accept(",")) {
    OCANNL_RETURN_IF_ERROR(in.Expect("stride"));
    OCANNL_ASSIGN_OR_RETURN(memory.stride, in.TakeSigned());
  }
  return in.Expect("]");
}

class Parser {
 public:
  explicit Parser(const LoopProgram& program) : program_(program) {}

  absl::StatusOr<Nest> Run(absl::string_view text) && {
    int number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ++number;
      absl::Status status = TakeLine(absl::StripAsciiWhitespace(line));
      if (status.ok()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " of a nest: ", status.message()));
    }
    if (nest_.aligned.valid()) nest_.insts.swap(nest_.otherwise);
    OCANNL_RETURN_IF_ERROR(Verify(nest_));
    return std::move(nest_);
  }

 private:
  absl::Status TakeLine(absl::string_view line) {
    if (line.empty()) return absl::OkStatus();
    if (absl::ConsumePrefix(&line, "; ")) return TakeSourceLine(line);
    lexer_ = NestLexer(line);
    OCANNL_RETURN_IF_ERROR(TakeBehind(lexer_.Next().text));
    return lexer_.peek().kind == Token::kEnd
               ? absl::OkStatus()
               : lexer_.ExpectedError("the end of the line");
  }

  absl::Status TakeBehind(absl::string_view first) {
    if (first == "loop" || first == "par") return TakeLoop(first == "par");
    if (first == "end") return TakeEndLoop();
    if (first == "if") {  // " &z is aligned"
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("&"));
      OCANNL_ASSIGN_OR_RETURN(nest_.aligned, TakeBuffer(lexer_, program_));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("is"));
      return lexer_.Expect("aligned");
    }
    for (Opcode opcode : {Opcode::kFence, Opcode::kEndWhen}) {
      if (first != Info(opcode).text) continue;
      nest_.insts.push_back({.opcode = opcode});
      return absl::OkStatus();
    }
    if (first == "else") {
      if (!nest_.aligned.valid()) return lexer_.Error("`else` without `if`");
      // The other version has the same loops and lookups.
      nest_.otherwise.swap(nest_.insts);
      loops_ = lookups_ = 0;
      return absl::OkStatus();
    }
    if (NumberOf(first, "p")) return TakePointer();
    return lexer_.Accept(":") ? TakeMutable(first) : TakeInst(first);
  }

  absl::Status TakeSourceLine(absl::string_view line) {
    std::vector<SourceLine>& lines = nest_.source_lines;
    const auto known = absl::c_find_if(
        lines, [&](const SourceLine& each) { return each.text == line; });
    nest_.insts.push_back(
        {.opcode = Opcode::kSourceLoc,
         .line = static_cast<int32_t>(known - lines.begin())});
    if (known == lines.end()) {
      lines.push_back({.stmt = nullptr, .text = std::string(line)});
    }
    return absl::OkStatus();
  }

  // "&x + 64*i1, uses 640", behind "p0 ="
  absl::Status TakePointer() {
    Pointer pointer{};
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    if (lexer_.Accept("&")) {
      OCANNL_ASSIGN_OR_RETURN(pointer.base, TakeBuffer(lexer_, program_));
      const Buffer& buffer = program_.buffers[pointer.base];
      pointer.size =
          NumElements(buffer.dims) * static_cast<int64_t>(SizeOf(buffer.dtype));
    }
    if (pointer.base == Pointer::kNumber || lexer_.Accept("+")) {
      OCANNL_ASSIGN_OR_RETURN(pointer.value, lexer_.TakeIndex([&] {
        return TakeSymbol(lexer_, program_);
      }));
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(","));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("uses"));
    if (!absl::SimpleAtod(lexer_.Next().text, &pointer.frequency)) {
      return lexer_.Error("expected a number");
    }
    nest_.pointers.push_back(pointer);
    return absl::OkStatus();
  }

  // " : f32x16", behind the register
  absl::Status TakeMutable(absl::string_view name) {
    const std::optional<int32_t> number = NumberOf(name, "v");
    if (!number) return lexer_.Error("only a register v is declared");
    Register& reg = EntryAt(*number, nest_.registers);
    reg.is_mutable = true;
    return lexer_.TakeType(reg.dtype, reg.lanes);
  }

  // " i1 = 0 to 9"
  absl::Status TakeLoop(bool is_parallel) {
    OCANNL_ASSIGN_OR_RETURN(int32_t iterator, lexer_.TakeNumbered("i"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    OCANNL_ASSIGN_OR_RETURN(int64_t first, lexer_.TakeSigned());
    if (first != 0) return lexer_.Error("a loop starts at 0");
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("to"));
    OCANNL_ASSIGN_OR_RETURN(int64_t last, lexer_.TakeSigned());
    double around = open_.empty() ? 1 : nest_.loops[open_.back()].frequency;
    open_.push_back(loops_);
    nest_.insts.push_back({.opcode = Opcode::kLoop, .loop = loops_});
    EntryAt(loops_++, nest_.loops) = {
        .iterator = IteratorId{iterator},
        .extent = last + 1,
        .is_parallel = is_parallel,
        .frequency = around * static_cast<double>(last + 1),
        .increments = {}};
    return absl::OkStatus();
  }

  // " i1: p0 += 64, p1 += 64"
  absl::Status TakeEndLoop() {
    OCANNL_ASSIGN_OR_RETURN(int32_t iterator, lexer_.TakeNumbered("i"));
    if (open_.empty() ||
        nest_.loops[open_.back()].iterator != IteratorId{iterator}) {
      return lexer_.Error("it ends another loop than the innermost");
    }
    Loop& loop = nest_.loops[open_.back()];
    nest_.insts.push_back({.opcode = Opcode::kEndLoop, .loop = open_.back()});
    open_.pop_back();
    if (!lexer_.Accept(":")) return absl::OkStatus();
    do {
      OCANNL_ASSIGN_OR_RETURN(int32_t pointer, lexer_.TakeNumbered("p"));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("+="));
      OCANNL_ASSIGN_OR_RETURN(int64_t bytes, lexer_.TakeSigned());
      loop.increments.push_back({.pointer = pointer, .bytes = bytes});
    } while (lexer_.Accept(","));
    return absl::OkStatus();
  }

  // "r2 = add f32x16 first 12 r0, [p1]"; `first` is taken already.
  absl::Status TakeInst(absl::string_view first) {
    Inst inst{.opcode = Opcode::kApply};
    absl::string_view name = first;
    const std::optional<int32_t> dst = NumberOf(first, "rv");
    if (dst) {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
      inst.dst = VReg(*dst);
      name = lexer_.Next().text;
    }
    OCANNL_RETURN_IF_ERROR(TakeOperation(name, inst));
    nest_.insts.push_back(inst);
    if (!dst) return absl::OkStatus();
    Register& reg = EntryAt(*dst, nest_.registers);
    if (first[0] == 'r') reg = {inst.dtype, inst.lanes, /*is_mutable=*/false};
    return absl::OkStatus();
  }

  absl::Status TakeOperation(absl::string_view name, Inst& inst) {
    if (!SetOperation(name, inst)) {
      return lexer_.Error("no instruction `", name, "`");
    }
    OCANNL_RETURN_IF_ERROR(lexer_.TakeType(inst.dtype, inst.lanes));
    inst.operand = inst.dtype;
    if (lexer_.Accept("of")) {
      OCANNL_ASSIGN_OR_RETURN(inst.operand, lexer_.TakeDType());
    }
    inst.active_lanes = inst.lanes;
    if (lexer_.Accept("first")) {
      OCANNL_RETURN_IF_ERROR(TakeNumber(inst.active_lanes));
    }
    bool is_more = NumOperands(inst) != 0;
    if (AccessesMemory(inst.opcode)) {
      OCANNL_RETURN_IF_ERROR(TakeMemory(lexer_, inst));
      is_more = lexer_.Accept(",");
    }
    for (size_t k = 0; is_more && k < inst.args.size(); ++k) {
      OCANNL_ASSIGN_OR_RETURN(inst.args[k], TakeValue(inst));
      is_more = lexer_.Accept(",");
    }
    if (lexer_.Accept("mask")) {
      OCANNL_ASSIGN_OR_RETURN(inst.mask.index, lexer_.TakeNumbered("rv"));
    }
    return TakeField(inst);
  }

  absl::StatusOr<Value> TakeValue(Inst& inst) {
    const absl::string_view text = lexer_.peek().text;
    if (text == "[") {
      OCANNL_RETURN_IF_ERROR(TakeMemory(lexer_, inst));
      return Value{Value::kMemory, -1};
    }
    if (const std::optional<int32_t> number = NumberOf(text, "rv")) {
      lexer_.Next();
      return RegValue(VReg(*number));
    }
    OCANNL_ASSIGN_OR_RETURN(const Constant constant, lexer_.TakeConstant());
    std::vector<Constant>& all = nest_.constants;
    const auto at = absl::c_find(all, constant) - all.begin();
    if (at == std::ssize(all)) all.push_back(constant);
    return Value{Value::kConst, static_cast<int32_t>(at)};
  }

  // What stands behind the operands.
  absl::Status TakeField(Inst& inst) {
    switch (Info(inst.opcode).field) {
      case OpcodeInfo::Field::kLane:
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("at"));
        return TakeNumber(inst.lane);
      case OpcodeInfo::Field::kSelector: {
        const auto kind = absl::c_find(kShuffleNames, lexer_.peek().text);
        if (kind == std::end(kShuffleNames)) {
          return lexer_.ExpectedError("a kind of shuffle");
        }
        lexer_.Next();
        inst.shuffle = static_cast<ShuffleKind>(kind - kShuffleNames);
        return TakeNumber(inst.selector);
      }
      case OpcodeInfo::Field::kBytes:
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("bytes"));
        return TakeNumber(inst.bytes);
      case OpcodeInfo::Field::kLookup: {  // "rows 10 by 64 uniform"
        inst.lookup = lookups_++;
        RowLookup& rows = EntryAt(inst.lookup, nest_.lookups);
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("rows"));
        OCANNL_ASSIGN_OR_RETURN(rows.size, lexer_.TakeSigned());
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("by"));
        OCANNL_ASSIGN_OR_RETURN(rows.stride, lexer_.TakeSigned());
        rows.is_uniform = lexer_.Accept("uniform");
        return absl::OkStatus();
      }
      default:
        return absl::OkStatus();
    }
  }

  template <class T>
  absl::Status TakeNumber(T& number) {
    OCANNL_ASSIGN_OR_RETURN(const int64_t taken, lexer_.TakeSigned());
    number = static_cast<T>(taken);
    return absl::OkStatus();
  }

  const LoopProgram& program_;
  NestLexer lexer_{""};
  Nest nest_;
  std::vector<int32_t> open_;  // loops, the innermost last
  int32_t loops_ = 0;          // of this version
  int32_t lookups_ = 0;
};

}  // namespace

absl::StatusOr<Nest> Parse(const LoopProgram& program, absl::string_view text) {
  return Parser(program).Run(text);
}

}  // namespace ocannl::jit
