// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/text/parse.h"

#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/loop_lexer.h"
#include "ocannl/core/ops/print.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/vcode/verify.h"

namespace ocannl::jit {
namespace {

// 12 of "r12", where `letters` has the r.
std::optional<int32_t> NumberOf(absl::string_view name,
                                absl::string_view letters) {
  int32_t number = -1;
  if (name.empty() || !absl::StrContains(letters, name[0]) ||
      !absl::SimpleAtoi(name.substr(1), &number)) {
    return std::nullopt;
  }
  return number;
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
    OCANNL_RETURN_IF_ERROR(Verify(nest_));
    return std::move(nest_);
  }

 private:
  absl::Status TakeLine(absl::string_view line) {
    if (line.empty()) return absl::OkStatus();
    if (absl::ConsumePrefix(&line, "; ")) {
      TakeSourceLine(line);
      return absl::OkStatus();
    }
    lexer_ = LoopLexer(line, {"+="});
    const std::string first(lexer_.Next().text);
    if (first == "loop" || first == "par") {
      OCANNL_RETURN_IF_ERROR(TakeLoop(first == "par"));
    } else if (first == "end") {
      OCANNL_RETURN_IF_ERROR(TakeEndLoop());
    } else if (NumberOf(first, "p")) {
      OCANNL_RETURN_IF_ERROR(TakePointer());
    } else if (lexer_.Accept(":")) {
      OCANNL_RETURN_IF_ERROR(TakeMutable(first));
    } else {
      OCANNL_RETURN_IF_ERROR(TakeInst(first));
    }
    return lexer_.peek().kind == Token::kEnd
               ? absl::OkStatus()
               : lexer_.ExpectedError("the end of the line");
  }

  void TakeSourceLine(absl::string_view line) {
    std::vector<SourceLine>& lines = nest_.source_lines;
    auto at = absl::c_find_if(
        lines, [&](const SourceLine& known) { return known.text == line; });
    if (at == lines.end()) {
      at = lines.insert(at, {.stmt = nullptr, .text = std::string(line)});
    }
    nest_.insts.push_back(
        {.opcode = Opcode::kSourceLoc, .offset = at - lines.begin()});
  }

  absl::StatusOr<int64_t> TakeInteger() {
    const int64_t sign = lexer_.Accept("-") ? -1 : 1;
    OCANNL_ASSIGN_OR_RETURN(int64_t number, lexer_.TakeInteger("a number"));
    return sign * number;
  }

  // The number of one of `letters`, as in "p3".
  absl::StatusOr<int32_t> TakeNumbered(absl::string_view letters) {
    const std::optional<int32_t> number = NumberOf(lexer_.peek().text, letters);
    if (!number) return lexer_.ExpectedError(absl::StrCat(letters, "0"));
    lexer_.Next();
    return *number;
  }

  absl::StatusOr<Symbol> TakeSymbol() {
    const absl::string_view name = lexer_.peek().text;
    const auto named =
        absl::c_find_if(program_.statics,
                        [&](const auto& index) { return index.name == name; });
    if (named != program_.statics.end()) {
      lexer_.Next();
      return Static(static_cast<int32_t>(named - program_.statics.begin()));
    }
    OCANNL_ASSIGN_OR_RETURN(int32_t number, TakeNumbered("i"));
    return Iterator(IteratorId{number});
  }

  // "&x + 64*i1, uses 640", behind "p0 ="
  absl::Status TakePointer() {
    Pointer pointer{};
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    if (lexer_.Accept("&")) {
      const absl::string_view name = lexer_.peek().text;
      const auto named = absl::c_find_if(
          program_.buffers, [&](const Buffer& b) { return b.name == name; });
      if (named == program_.buffers.end()) {
        return lexer_.ExpectedError("a buffer of the program");
      }
      lexer_.Next();
      pointer.base = {static_cast<int32_t>(named - program_.buffers.begin())};
    }
    if (pointer.base == Pointer::kNumber || lexer_.Accept("+")) {
      OCANNL_ASSIGN_OR_RETURN(pointer.value,
                              lexer_.TakeIndex([&] { return TakeSymbol(); }));
    }
    OCANNL_RETURN_IF_ERROR(lexer_.Expect(","));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("uses"));
    if (!absl::SimpleAtod(lexer_.Next().text, &pointer.frequency)) {
      return lexer_.Error("expected a number");
    }
    nest_.pointers.push_back(pointer);
    return absl::OkStatus();
  }

  // "f32x16"
  absl::Status TakeType(DType& dtype, uint8_t& lanes) {
    const absl::string_view name = lexer_.peek().text;
    const size_t times = name.rfind('x');
    int number = 1;
    const bool is_vector = times != absl::string_view::npos;
    const std::optional<DType> found = FindDType(name.substr(0, times));
    if (!found ||
        (is_vector && !absl::SimpleAtoi(name.substr(times + 1), &number))) {
      return lexer_.ExpectedError("a type, such as f32x16");
    }
    lexer_.Next();
    dtype = *found;
    lanes = static_cast<uint8_t>(number);
    return absl::OkStatus();
  }

  // " : f32x16", behind the register
  absl::Status TakeMutable(absl::string_view name) {
    const std::optional<int32_t> number = NumberOf(name, "v");
    if (!number) return lexer_.Error("only a register v is declared");
    Register& reg = RegisterAt(*number);
    reg.is_mutable = true;
    return TakeType(reg.dtype, reg.lanes);
  }

  Register& RegisterAt(int32_t number) {
    const auto size = static_cast<size_t>(number) + 1;
    if (nest_.registers.size() < size) nest_.registers.resize(size);
    return nest_.registers[number];
  }

  // " i1 = 0 to 9"
  absl::Status TakeLoop(bool is_parallel) {
    OCANNL_ASSIGN_OR_RETURN(int32_t iterator, TakeNumbered("i"));
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
    OCANNL_ASSIGN_OR_RETURN(int64_t first, TakeInteger());
    if (first != 0) return lexer_.Error("a loop starts at 0");
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("to"));
    OCANNL_ASSIGN_OR_RETURN(int64_t last, TakeInteger());
    frequency_ *= static_cast<double>(last + 1);
    open_.push_back(static_cast<int64_t>(nest_.loops.size()));
    nest_.insts.push_back({.opcode = Opcode::kLoop, .offset = open_.back()});
    nest_.loops.push_back({.iterator = IteratorId{iterator},
                           .extent = last + 1,
                           .is_parallel = is_parallel,
                           .frequency = frequency_,
                           .increments = {}});
    return absl::OkStatus();
  }

  // " i1: p0 += 64, p1 += 64"
  absl::Status TakeEndLoop() {
    OCANNL_ASSIGN_OR_RETURN(int32_t iterator, TakeNumbered("i"));
    if (open_.empty() ||
        nest_.loops[open_.back()].iterator != IteratorId{iterator}) {
      return lexer_.Error("it ends another loop than the innermost");
    }
    Loop& loop = nest_.loops[open_.back()];
    nest_.insts.push_back({.opcode = Opcode::kEndLoop, .offset = open_.back()});
    open_.pop_back();
    frequency_ /= static_cast<double>(loop.extent);
    if (!lexer_.Accept(":")) return absl::OkStatus();
    do {
      OCANNL_ASSIGN_OR_RETURN(int32_t pointer, TakeNumbered("p"));
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("+="));
      OCANNL_ASSIGN_OR_RETURN(int64_t bytes, TakeInteger());
      loop.increments.push_back({.pointer = pointer, .bytes = bytes});
    } while (lexer_.Accept(","));
    return absl::OkStatus();
  }

  // "r2 = add f32x16 first 12 r0, [p1]"; `first` is taken already.
  absl::Status TakeInst(std::string first) {
    Inst inst{.opcode = Opcode::kApply};
    const std::optional<int32_t> dst = NumberOf(first, "rv");
    if (dst) {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("="));
      inst.dst = VReg(*dst);
      const bool is_mutable = first[0] == 'v';
      first = std::string(lexer_.Next().text);
      OCANNL_RETURN_IF_ERROR(TakeOperation(first, inst));
      Register& reg = RegisterAt(*dst);
      if (!is_mutable) reg = {inst.dtype, inst.lanes, /*is_mutable=*/false};
    } else {
      OCANNL_RETURN_IF_ERROR(TakeOperation(first, inst));
    }
    nest_.insts.push_back(inst);
    return absl::OkStatus();
  }

  absl::Status TakeOperation(absl::string_view name, Inst& inst) {
    if (!SetOperation(name, inst)) {
      return lexer_.Error(absl::StrCat("no instruction `", name, "`"));
    }
    OCANNL_RETURN_IF_ERROR(TakeType(inst.dtype, inst.lanes));
    inst.operand = inst.dtype;
    if (lexer_.Accept("of")) {
      OCANNL_ASSIGN_OR_RETURN(inst.operand, lexer_.TakeDType());
    }
    inst.active_lanes = inst.lanes;
    if (lexer_.Accept("first")) {
      OCANNL_ASSIGN_OR_RETURN(int64_t lanes, TakeInteger());
      inst.active_lanes = static_cast<uint8_t>(lanes);
    }
    bool is_more = true;
    if (AccessesMemory(inst.opcode)) {
      OCANNL_RETURN_IF_ERROR(TakeMemory(inst));
      is_more = lexer_.Accept(",");
    }
    for (size_t k = 0; is_more && k < inst.args.size(); ++k) {
      OCANNL_ASSIGN_OR_RETURN(inst.args[k], TakeValue(inst));
      is_more = lexer_.Accept(",");
    }
    return TakeOffset(inst);
  }

  static bool SetOperation(absl::string_view name, Inst& inst) {
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

  absl::Status TakeMemory(Inst& inst) {
    Memory& memory = inst.memory;
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("["));
    OCANNL_ASSIGN_OR_RETURN(memory.pointer, TakeNumbered("p"));
    if (lexer_.Accept("+")) {
      OCANNL_ASSIGN_OR_RETURN(memory.disp, TakeInteger());
    }
    memory.stride = ContiguousStride(inst);
    if (lexer_.Accept(",")) {
      OCANNL_RETURN_IF_ERROR(lexer_.Expect("stride"));
      OCANNL_ASSIGN_OR_RETURN(memory.stride, TakeInteger());
    }
    return lexer_.Expect("]");
  }

  absl::StatusOr<Value> TakeValue(Inst& inst) {
    const absl::string_view text = lexer_.peek().text;
    if (text == "[") {
      OCANNL_RETURN_IF_ERROR(TakeMemory(inst));
      return Value{Value::kMemory, -1};
    }
    if (const std::optional<int32_t> number = NumberOf(text, "rv")) {
      lexer_.Next();
      return RegValue(VReg(*number));
    }
    return TakeConstant();
  }

  absl::StatusOr<Value> TakeConstant() {
    const std::string sign = lexer_.Accept("-") ? "-" : "";
    const std::string number = absl::StrCat(sign, lexer_.peek().text);
    std::optional<Constant> constant;
    if (number == "true" || number == "false") {
      constant = FromBits(DType::kBool, number == "true" ? 1 : 0);
      lexer_.Next();
    } else {
      DType dtype = DType::kF32;
      lexer_.Next();
      if (lexer_.Accept(":")) {
        OCANNL_ASSIGN_OR_RETURN(dtype, lexer_.TakeDType());
      }
      constant = ParseConstant(number, dtype);
    }
    if (!constant) {
      return lexer_.Error(absl::StrCat("`", number, "` is no operand"));
    }
    std::vector<Constant>& all = nest_.constants;
    auto at = absl::c_find(all, *constant);
    if (at == all.end()) at = all.insert(at, *constant);
    return Value{Value::kConst, static_cast<int32_t>(at - all.begin())};
  }

  // What stands behind the operands.
  absl::Status TakeOffset(Inst& inst) {
    switch (Info(inst.opcode).offset) {
      case OpcodeInfo::Offset::kLane:
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("at"));
        break;
      case OpcodeInfo::Offset::kSelector: {
        const auto kind = absl::c_find(kShuffleNames, lexer_.peek().text);
        if (kind == std::end(kShuffleNames)) {
          return lexer_.ExpectedError("a kind of shuffle");
        }
        lexer_.Next();
        inst.shuffle = static_cast<ShuffleKind>(kind - kShuffleNames);
        break;
      }
      case OpcodeInfo::Offset::kBytes:
        OCANNL_RETURN_IF_ERROR(lexer_.Expect("bytes"));
        break;
      case OpcodeInfo::Offset::kLookup:
        inst.offset = static_cast<int64_t>(nest_.lookups.size());
        return TakeLookup(nest_.lookups.emplace_back());
      case OpcodeInfo::Offset::kNothing:
      case OpcodeInfo::Offset::kLoop:
      case OpcodeInfo::Offset::kLine:
        return absl::OkStatus();
    }
    OCANNL_ASSIGN_OR_RETURN(inst.offset, TakeInteger());
    return absl::OkStatus();
  }

  // "rows 10 by 64 uniform"
  absl::Status TakeLookup(RowLookup& rows) {
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("rows"));
    OCANNL_ASSIGN_OR_RETURN(rows.size, TakeInteger());
    OCANNL_RETURN_IF_ERROR(lexer_.Expect("by"));
    OCANNL_ASSIGN_OR_RETURN(rows.stride, TakeInteger());
    rows.is_uniform = lexer_.Accept("uniform");
    return absl::OkStatus();
  }

  const LoopProgram& program_;
  LoopLexer lexer_{""};
  Nest nest_;
  std::vector<int64_t> open_;  // loops, the innermost last
  double frequency_ = 1;
};

}  // namespace

absl::StatusOr<Nest> Parse(const LoopProgram& program, absl::string_view text) {
  return Parser(program).Run(text);
}

}  // namespace ocannl::jit
