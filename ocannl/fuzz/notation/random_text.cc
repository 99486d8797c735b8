// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/random_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/fuzz/notation/einsum_program.h"
#include "ocannl/fuzz/notation/random_einsum.h"
#include "ocannl/fuzz/programs/random.h"

namespace ocannl::fuzz {
namespace {

constexpr const char* kTexts[] = {
    "{w3} * relu ({b2; o=[16]} + ({w2} * relu ({b1; o=[16]} + ({w1} * x))))",
    "(relu (1 - (x *. y)) ++ \"...|... => 0\") /. !..lr",
    "a +* \"b|h->o; b|i->h => b|i->o\" {w; i=[2]; o=[3, 4]}",
    "{w: f64 = f64(kaiming(uniform1 (), 2)); o=[2]} *. 0.1:f64 **. -3",
    "select(not (x < 0.5), [ (1,2,3);(4,5,6) ], max(x, -inf)) @| step",
    "x @^+ \"i; j => ij\" y @^^ \"ij => i\" + !@step - f32 (n & 3)",
    "a ++ \"...|...->...o => o\"",
    "a +* \"...|1->...; ...|...->i => ...|i\" b",
    "a +* \"..., 2*oh<+kh, ow+kw; kh, kw => ..., oh, ow\" {k; o=[3, 3]}",
    "x @^^ \"s*o+k, c => o, c\" [\"k\" = 2]",
    "a ++^ \"i, ...; j, ... => i^j, ...\" b",
    "a ++^ \"i^j => i\" [\"i\" = 2]",
    "x ++ \"..., 2*i+1 => ..., i\"",
    "{w = normal(); o=[3]} +++ \"..v..; j => ..v.., j\" x",
    "uniform() + normal() *. x",
    "exp(x) /. (exp(x) ++ \"...|... => ...|0\")",
    "bits_u32(x) >> 3 ^ 5:u32",
    "[|(1, 2); (3, 4)|] * [5; 6]",
    "stretch(x) +* \"i->o; o => i\" {v; o=[2]} + stretch(0.5)",
    "(a ++ \"..., i => ..., 0\" [\"i\" : d; \"i\" >= 2]) /. d",
    "x +* \"i; i->..v.. => ..v..\" [\"..v..\" = [2, 3]] {w}",
    "x +* \"i; i->j => j\" [\"j\" = 2 * \"i\"] {w = 1}",
};

constexpr const char* kPieces[] = {
    "...", "..v..", "|", "->",  ";",    "=>",  ",",  "+",          "*",
    "^",   "<",     "=", "&",   "_",    "0",   "1",  "2",          "a",
    "b",   "c",     "o", "k",   " ",    "2*a", "s*", "9999999999", "..",
    ".",   "-",     ">", "|->", "o<+k", "a^b"};

constexpr const char* kWords[] = {"x",
                                  "y",
                                  "n",
                                  "{w}",
                                  "{v; o=[2]}",
                                  "1",
                                  "2:i64",
                                  "0.5",
                                  "relu",
                                  "(",
                                  ")",
                                  "[",
                                  "]",
                                  "[|",
                                  "|]",
                                  "{",
                                  "}",
                                  ",",
                                  ";",
                                  ":",
                                  "=",
                                  "+",
                                  "*",
                                  "*.",
                                  "**.",
                                  "<",
                                  "++",
                                  "+*",
                                  "@^^",
                                  "@--",
                                  "gather(",
                                  "@|",
                                  "++^",
                                  "step",
                                  "!@",
                                  "!.",
                                  "!..",
                                  "lr",
                                  "\"",
                                  "f64",
                                  "-",
                                  "\"i => i\"",
                                  "1e99",
                                  "/*",
                                  "stretch",
                                  ">=",
                                  "\"i\"",
                                  "\"..v..\"",
                                  "#",
                                  "\"...|... => 0\"",
                                  "18446744073709551616"};

template <class Pieces>
void Change(Random& random, const Pieces& pieces, std::string& text) {
  if (text.empty()) text = " ";
  const int64_t at = random.Below(text.size());
  switch (random.Below(5)) {
    case 0:
      text[at] = static_cast<char>(random.Below(256));
      break;
    case 1:
      text.erase(at, random.Below(6) + 1);
      break;
    case 2: {
      const int64_t from = random.Below(text.size());
      text.insert(at, text.substr(from, random.Below(12) + 1));
      break;
    }
    default:
      text.insert(at, random.Pick(pieces));
      break;
  }
}

// Makes a piece of the text very long.
void Repeat(Random& random, std::string& text) {
  const int64_t at = random.Below(text.size() + 1);
  const std::string piece = text.substr(at, random.Below(12) + 1);
  std::string many;
  for (int64_t n = random.Below(1500); n > 0; --n) many += piece;
  text.insert(at, many);
}

void ChangeShape(Random& random, Shape& shape) {
  Dims& row = shape.rows[random.Below(3)];
  if (row.empty() || random.OneIn(4)) {
    const int64_t at = random.Below(row.size() + 1);
    row.insert(row.begin() + at, random.Below(4) + 1);
  } else if (random.OneIn(3)) {
    row.erase(row.begin() + random.Below(row.size()));
  } else {
    row[random.Below(row.size())] = random.Below(5) + 1;
  }
}

Shape SomeShape(Random& random) {
  Shape shape;
  for (Dims& row : shape.rows) {
    for (int64_t n = random.OneIn(2) ? 0 : random.Below(3); n > 0; --n) {
      row.push_back(random.Below(4) + 1);
    }
  }
  return shape;
}

RandomText FromEinsum(Random& random) {
  const EinsumProgram program = RandomEinsum(random);
  TextEinsum einsum = {.spec = program.Spec(),
                       .op = program.op,
                       .accum = program.accum,
                       .sizes = {},
                       .is_right = true};
  for (const auto& group : program.groups) {
    for (const std::string& part : group) {
      einsum.sizes[part] = program.sizes.at(part);
    }
  }
  RandomText made = {.text = "", .operands = {}, .einsum = std::move(einsum)};
  for (const ProgramTensor& operand : program.operands) {
    made.operands.push_back(operand.shape());
  }
  return made;
}

void ChangeEinsum(Random& random, RandomText& made) {
  TextEinsum& einsum = *made.einsum;
  einsum.is_right = false;
  if (random.OneIn(4)) einsum.sizes.clear();
  for (int64_t n = random.Below(3); n > 0; --n) {
    ChangeShape(random, made.operands[random.Below(made.operands.size())]);
  }
  if (random.OneIn(8)) {
    einsum.spec.clear();
    for (int64_t n = random.Below(12) + 1; n > 0; --n) {
      absl::StrAppend(&einsum.spec, random.Pick(kPieces));
    }
  }
  for (int64_t n = random.Below(4); n > 0; --n) {
    Change(random, kPieces, einsum.spec);
  }
  if (random.OneIn(200)) Repeat(random, einsum.spec);
}

// Expressions of the grammar.
class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {}

  std::string Expression(int depth) {
    if (depth == 0) return Operand();
    switch (random_.Below(10)) {
      case 0:
        return Operand();
      case 8:
        return Truth(depth - 1);
      case 9:
        return Block(depth - 1);
      case 1: {
        static constexpr const char* kCalls[] = {
            "relu", "stretch", "2 rgb", "exp", "log", "tanh",
            "sqrt", "not",     "f64",   "f16", "abs"};
        const char* call = random_.Pick(kCalls);
        return absl::StrCat(call, "(", Expression(depth - 1), ")");
      }
      case 2: {
        const std::string a = Expression(depth - 1);
        return absl::StrCat("max(", a, ", ", Expression(depth - 1), ")");
      }
      case 3: {
        static constexpr const char* kOne[] = {"...|... => 0",
                                               "...|...->... => ...|...->...",
                                               "...|...->... => 0",
                                               "...|...i => ...|i",
                                               "..., 2*i => ..., i",
                                               "... => |->0",
                                               "i => i0",
                                               "...|...->...o => o"};
        const std::string x = Expression(depth - 1);
        const char* symbol = random_.OneIn(4) ? "@^^" : "++";
        return absl::StrCat("(", x, " ", symbol, " \"", random_.Pick(kOne),
                            "\")");
      }
      case 4: {
        static constexpr const char* kTwo[] = {
            "i; j => ij",
            "...|i->...; ...|...->i => ...|...",
            "..v..; ..v.. => 0",
            "o<+k; k => o",
            "...|...; ...|... => ...|...",
            "ij; jk => ik"};
        const std::string a = Expression(depth - 1);
        const char* spec = random_.Pick(kTwo);
        return absl::StrCat("(", a, " +* \"", spec, "\" ",
                            Expression(depth - 1), ")");
      }
      default: {
        static constexpr const char* kInfixes[] = {
            "+", "-",   "*", "*.", "/.",        "<",  "=", "+",
            "*", "**.", "-", "*.", "@| step +", "&&", "||"};
        const std::string a = Expression(depth - 1);
        const char* infix = random_.Pick(kInfixes);
        return absl::StrCat("(", a, " ", infix, " ", Expression(depth - 1),
                            ")");
      }
    }
  }

 private:
  std::string Block(int depth) {
    static constexpr const char* kBrackets[][2] = {
        {"[", "]"}, {"(", ")"}, {"[|", "|]"}};
    const auto& [open, close] = random_.Pick(kBrackets);
    const std::string a = Expression(depth);
    return absl::StrCat(open, a, "; ", Expression(depth), close);
  }

  // A bool, which may meet numbers.
  std::string Truth(int depth) {
    static constexpr const char* kComparisons[] = {"<", "=", ">=", "<>"};
    const std::string a = Expression(depth);
    const char* comparison = random_.Pick(kComparisons);
    return absl::StrCat("(", a, " ", comparison, " ", Expression(depth), ")");
  }

  std::string Operand() {
    static constexpr const char* kOperands[] = {"x",
                                                "y",
                                                "x",
                                                "n",
                                                "1",
                                                "0.5",
                                                "2:i64",
                                                "[1; 2; 3]",
                                                "[(1, 2); (3, 4)]",
                                                "!@step",
                                                "!.lr",
                                                "uniform()",
                                                "normal()",
                                                "uniform1()",
                                                "[|1; 2|]",
                                                "{p = uniform1()}",
                                                "{q; i=[2]; o=[3]}"};
    if (!random_.OneIn(3)) return random_.Pick(kOperands);
    std::string text = absl::StrCat("{w", random_.Below(4));
    if (random_.OneIn(2)) absl::StrAppend(&text, "; o=[", Size(), "]");
    if (random_.OneIn(4)) absl::StrAppend(&text, "; i=[", Size(), "]");
    return text + "}";
  }

  int64_t Size() {
    return random_.OneIn(40) ? int64_t{1} << random_.Below(41)
                             : random_.Below(4) + 1;
  }

  Random& random_;
};

}  // namespace

absl::Span<const char* const> BuiltInTexts() { return kTexts; }

std::string TextOf(const TextEinsum& einsum, size_t num_operands) {
  const bool is_max = einsum.accum == Op::kMax;
  const bool is_min = einsum.accum == Op::kMin;
  const char* symbol = "++^";
  if (einsum.op) {
    symbol = is_max ? "@^+" : is_min ? "@-+" : "+++";
    if (*einsum.op != Op::kAdd) symbol = "+*";
  } else if (num_operands == 1) {
    symbol = is_max ? "@^^" : is_min ? "@--" : "++";
  }
  std::string text = absl::StrCat("x0 ", symbol, " \"", einsum.spec, "\"");
  if (!einsum.sizes.empty()) {
    auto size = [](std::string* out, const auto& entry) {
      absl::StrAppend(out, "\"", entry.first, "\" = ", entry.second);
    };
    absl::StrAppend(&text, " [", absl::StrJoin(einsum.sizes, "; ", size), "]");
  }
  for (size_t k = 1; k < num_operands; ++k) absl::StrAppend(&text, " x", k);
  return text;
}

std::string TextOf(const std::vector<TextLet>& lets) {
  std::string text;
  for (const TextLet& let : lets) {
    absl::StrAppend(&text, "let ", let.name, " = ", let.text, " in ");
  }
  return absl::StrCat(text, lets.back().name);
}

RandomText MakeText(uint64_t seed, absl::Span<const std::string> corpus) {
  Random random(seed);
  const int64_t kind = random.Below(20);
  if (kind < 13) {
    RandomText made = FromEinsum(random);
    if (kind >= 6) ChangeEinsum(random, made);
    made.text = TextOf(*made.einsum, made.operands.size());
    // A quote, or a line's end, ends the spec: the text is something else.
    if (made.einsum->spec.find_first_of("\"\n") != std::string::npos) {
      made.einsum.reset();
    }
    return made;
  }
  RandomText made;
  made.operands = {SomeShape(random), SomeShape(random)};
  if (kind < 17) {
    made.text = Writer(random).Expression(random.Below(4) + 1);
    return made;
  }
  const size_t at = random.Below(std::size(kTexts) + corpus.size());
  made.text = at < std::size(kTexts) ? std::string(kTexts[at])
                                     : corpus[at - std::size(kTexts)];
  for (int64_t n = random.Below(4); n > 0; --n) {
    Change(random, kWords, made.text);
  }
  if (random.OneIn(200)) Repeat(random, made.text);
  return made;
}

}  // namespace ocannl::fuzz
