// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/draw.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/random.h"

namespace ocannl::jit {
namespace {

constexpr int kBlock = 4;  // operands of a draw: the key, the block, the word
constexpr int kWord = 5;

// A word of each lane, as a type of words of the algorithm.
struct LaneWord {
  NestBuilder* builder;
  Value value;
};

LaneWord Compute(Op op, LaneWord a, Value b) {
  Inst inst = a.builder->NewInst(Opcode::kApply, DType::kU32, a.value);
  inst.op = op;
  inst.args[1] = b;
  return {a.builder, a.builder->Apply(inst)};
}

LaneWord Compute(Op op, LaneWord a, uint32_t b) {
  return Compute(op, a, a.builder->ConstantValue({DType::kU32, b}));
}

LaneWord Plus(LaneWord a, LaneWord b) { return Compute(Op::kAdd, a, b.value); }
LaneWord Plus(LaneWord a, uint32_t b) { return Compute(Op::kAdd, a, b); }
LaneWord Rotl(LaneWord a, int amount) {
  return Compute(Op::kRotl, a, static_cast<uint32_t>(amount));
}
LaneWord operator^(LaneWord a, LaneWord b) {
  return Compute(Op::kXor, a, b.value);
}
LaneWord operator^(LaneWord a, uint32_t b) { return Compute(Op::kXor, a, b); }

}  // namespace

Value DrawSelector::Number(uint32_t number) {
  return builder_.ConstantValue({DType::kU32, number});
}

Value DrawSelector::Compute(Op op, Value a, Value b) {
  return jit::Compute(op, LaneWord{&builder_, a}, b).value;
}

Value DrawSelector::Compare(Op op, Value a, uint32_t number) {
  Inst inst = builder_.NewInst(Opcode::kApply, DType::kBool, a);
  inst.op = op;
  inst.operand = DType::kU32;
  inst.args[1] = Number(number);
  return builder_.Apply(inst);
}

Value DrawSelector::Choose(Value condition, Value a, Value b) {
  Inst inst = builder_.NewInst(Opcode::kApply, DType::kU32, condition);
  inst.op = Op::kSelect;
  inst.args[1] = a;
  inst.args[2] = b;
  return builder_.Apply(inst);
}

// ---- What is drawn ---------------------------------------------------------

const ExprNode& DrawSelector::NodeOf(ExprId id) const {
  while (true) {
    const ExprNode& node = program_.exprs[id];
    const Leaf* leaf = std::get_if<Leaf>(&node);
    if (leaf == nullptr) return node;
    const auto* get = std::get_if<GetLocal>(&program_.At(*leaf));
    if (get == nullptr) return node;
    const auto value = declared_.find(get->local);
    if (value == declared_.end()) return node;
    id = value->second;
  }
}

const Apply* DrawSelector::ApplyOf(ExprId id, Op op) const {
  const Apply* apply = std::get_if<Apply>(&NodeOf(id));
  return apply != nullptr && apply->op == op ? apply : nullptr;
}

bool DrawSelector::Is(ExprId id, uint64_t bits) const {
  const Constant* constant = std::get_if<Constant>(&NodeOf(id));
  return constant != nullptr && constant->bits == bits;
}

const Affine* DrawSelector::IndexOf(ExprId id) const {
  const Apply* convert = ApplyOf(id, Op::kConvert);
  if (convert == nullptr) return nullptr;
  const Leaf* leaf = std::get_if<Leaf>(&NodeOf(convert->args[0]));
  return leaf == nullptr ? nullptr : std::get_if<Affine>(&program_.At(*leaf));
}

std::optional<DrawSelector::Cell> DrawSelector::CellOf(
    const Apply& draw) const {
  const Apply* block = ApplyOf(draw.args[kBlock], Op::kShr);
  if (block == nullptr) return std::nullopt;
  const Affine* index = IndexOf(block->args[0]);
  if (index == nullptr) return std::nullopt;
  auto masks = [&](ExprId id, uint64_t mask) {
    const Apply* masked = ApplyOf(id, Op::kAnd);
    const Affine* of = masked == nullptr ? nullptr : IndexOf(masked->args[0]);
    return of != nullptr && *of == *index && Is(masked->args[1], mask);
  };
  ExprId word = draw.args[kWord];
  if (Is(block->args[1], 2) && masks(word, 3)) return Cell{*index, 2, 0};
  if (!Is(block->args[1], 1)) return std::nullopt;
  const Apply* sum = ApplyOf(word, Op::kAdd);
  if (sum != nullptr && !Is(sum->args[1], 1)) return std::nullopt;
  if (sum != nullptr) word = sum->args[0];
  const Apply* twice = ApplyOf(word, Op::kMul);
  if (twice == nullptr || !Is(twice->args[1], 2) || !masks(twice->args[0], 1)) {
    return std::nullopt;
  }
  return Cell{*index, 1, sum != nullptr ? 1 : 0};
}

std::optional<DrawSelector::Window> DrawSelector::WindowOf(
    const Cell& cell) const {
  const Lanes& lanes = unroller_.lanes();
  const Symbol lane = Iterator(lanes.iterator);
  Affine first = unroller_.Resolve(cell.index);
  if (lanes.count == 1 || first.FactorOf(lane) != 1 ||
      !FitsI32(program_, unroller_.extents(), cell.index)) {
    return std::nullopt;
  }
  first.AddScaled(-1, lane);
  const int64_t cells = int64_t{1} << cell.shift;  // of a block
  bool is_negative = first.offset() < 0;
  bool is_aligned = first.offset() % cells == 0;
  for (const Affine::Term& term : first.terms()) {
    is_negative |= term.factor < 0;
    is_aligned &= term.factor % cells == 0;
  }
  if (is_negative) return std::nullopt;
  if (!is_aligned) return cell.shift == 2 ? AcrossBlocks(first) : std::nullopt;
  const int64_t number = first.offset() / lanes.count % cells;
  Window window{(first.offset() - number * lanes.count) / cells,
                static_cast<int>(number),
                cell.shift == 2 ? Layout::kFours : Layout::kTwos};
  for (const Affine::Term& term : first.terms()) {
    window.first.AddScaled(term.factor / cells, term.symbol);
  }
  return window;
}

std::optional<DrawSelector::Window> DrawSelector::AcrossBlocks(
    Affine first) const {
  const Lanes& lanes = unroller_.lanes();
  const int64_t extent = unroller_.extents().at(lanes.iterator);
  const int64_t at = lanes.first / lanes.count;
  const int64_t number = at % 4;
  const int64_t registers = (extent + lanes.count - 1) / lanes.count;
  // Each lane computes two blocks, which is no more than one for each register.
  if (registers - (at - number) < 3) return std::nullopt;
  first.AddOffset(-number * lanes.count);
  return Window{first, static_cast<int>(number), Layout::kAcross};
}

bool DrawSelector::IsUniform(ExprId id) const {
  const Symbol lane = Iterator(unroller_.lanes().iterator);
  bool is_uniform = true;
  WalkNodes(program_.exprs, id, [&](const ExprNode& node) {
    const Leaf* leaf = std::get_if<Leaf>(&node);
    if (leaf == nullptr) return;
    is_uniform =
        is_uniform &&
        std::visit(
            Overload{
                [&](const Access& access) {
                  return unroller_.ByteOffsetOf(access).FactorOf(lane) == 0;
                },
                [&](const Lookup&) { return false; },
                [&](const GetLocal& get) {
                  const auto value = declared_.find(get.local);
                  return value != declared_.end() && IsUniform(value->second);
                },
                [&](const Affine& index) {
                  return unroller_.Resolve(index).FactorOf(lane) == 0;
                },
            },
            program_.At(*leaf));
  });
  return is_uniform;
}

// ---- How -------------------------------------------------------------------

Value DrawSelector::BlocksInWindow(Layout layout) {
  const Lanes& lanes = unroller_.lanes();
  const Value lane = builder_.Index(
      Affine(Iterator(lanes.iterator)) + Affine(-lanes.first), DType::kU32);
  // Of the groups of four lanes that shuffles work in.
  const int groups = std::countr_zero(static_cast<uint32_t>(lanes.count)) - 2;
  if (groups == 0) return lane;
  const Value group = Compute(Op::kShr, lane, Number(2));
  if (layout != Layout::kTwos) {
    // A register has the blocks of one lane of each group.
    const Value low = Compute(Op::kAnd, lane, Number(3));
    return Compute(Op::kOr, Compute(Op::kShl, low, Number(groups)), group);
  }
  // It has those of two lanes.
  const Value low = Compute(Op::kAnd, lane, Number(1));
  const Value high = Compute(Op::kAnd, lane, Number(2));
  return Compute(Op::kOr,
                 Compute(Op::kOr, low, Compute(Op::kShl, group, Number(1))),
                 Compute(Op::kShl, high, Number(groups)));
}

DrawSelector::Words DrawSelector::Transposed(const Words& words,
                                             Layout layout) {
  auto mix = [&](ShuffleKind kind, Value a, Value b) {
    Inst inst = builder_.NewInst(Opcode::kShuffle, DType::kU32, a);
    inst.shuffle = kind;
    inst.args[1] = b;
    return builder_.Define(inst);
  };
  auto both = [&](Value a, Value b) {
    return std::array<Value, 2>{mix(ShuffleKind::kLow32, a, b),
                                mix(ShuffleKind::kHigh32, a, b)};
  };
  if (layout == Layout::kTwos) {
    const auto [a, b] = both(words[0], words[2]);
    const auto [c, d] = both(words[1], words[3]);
    return {a, b, c, d};
  }
  const auto [a, b] = both(words[0], words[1]);
  const auto [c, d] = both(words[2], words[3]);
  return {mix(ShuffleKind::kLow64, a, c), mix(ShuffleKind::kHigh64, a, c),
          mix(ShuffleKind::kLow64, b, d), mix(ShuffleKind::kHigh64, b, d)};
}

DrawSelector::Words DrawSelector::FirstFour(const Words& block,
                                            const Words& next,
                                            Value first_cell) {
  auto is_set = [&](uint32_t bit) {
    return Compare(Op::kNotEqual, Compute(Op::kAnd, first_cell, Number(bit)),
                   0);
  };
  const Value by_two = is_set(2);
  const Value by_one = is_set(1);
  const std::array<Value, 7> both = {block[0], block[1], block[2], block[3],
                                     next[0],  next[1],  next[2]};
  std::array<Value, 5> five;
  for (int k = 0; k < 5; ++k) five[k] = Choose(by_two, both[k + 2], both[k]);
  Words four;
  for (int k = 0; k < 4; ++k) four[k] = Choose(by_one, five[k + 1], five[k]);
  return four;
}

DrawSelector::Words DrawSelector::BlocksOf(Op draw, absl::Span<const Value> key,
                                           Value block) {
  auto word = [&](Value value) { return LaneWord{&builder_, value}; };
  const std::array<LaneWord, 4> words = ThreefryBlock<LaneWord>(
      VariantOf(draw), {word(key[0]), word(key[1]), word(key[2]), word(key[3])},
      SpreadCounter(word(block)));
  return {words[0].value, words[1].value, words[2].value, words[3].value};
}

DrawSelector::Words DrawSelector::WordsOf(Op draw, absl::Span<const Value> key,
                                          Value block, Layout layout,
                                          Value first_cell) {
  std::array<Value, 5> by = {key[0], key[1], key[2], key[3], block};
  // A mutable register may hold another key by now.
  const bool is_constant = absl::c_none_of(
      by, [&](Value value) { return builder_.IsMutable(value); });
  const auto known = known_.find({draw, by, layout});
  if (is_constant && known != known_.end()) return known->second;
  Words words = BlocksOf(draw, key, block);
  if (layout == Layout::kAcross) {
    const Value next = Compute(Op::kAdd, block, Number(1));
    words = FirstFour(words, BlocksOf(draw, key, next), first_cell);
  }
  if (layout != Layout::kBlocks) words = Transposed(words, layout);
  known_[{draw, by, layout}] = words;
  return words;
}

Value DrawSelector::Word(const Apply& draw, absl::Span<const Value> args) {
  const absl::Span<const Value> key = args.first(kBlock);
  const std::optional<Cell> cell = CellOf(draw);
  const std::optional<Window> window = cell ? WindowOf(*cell) : std::nullopt;
  if (window && std::all_of(draw.args.begin(), draw.args.begin() + kBlock,
                            [&](ExprId id) { return IsUniform(id); })) {
    const Value first = builder_.Index(window->first, DType::kU32);
    const Value block = window->layout == Layout::kAcross
                            ? Compute(Op::kShr, first, Number(2))
                            : first;
    const Value blocks =
        Compute(Op::kAdd, BlocksInWindow(window->layout), block);
    return WordsOf(draw.op, key, blocks, window->layout,
                   first)[2 * cell->first + window->number];
  }
  const Words words = WordsOf(draw.op, key, args[kBlock], Layout::kBlocks);
  const Value word = args[kWord];
  if (word.kind == Value::kConst) {
    return words[std::min<uint64_t>(builder_.ConstantOf(word).bits, 3)];
  }
  Value chosen = words[3];
  for (int k = 2; k >= 0; --k) {
    chosen = Choose(Compare(Op::kEqual, word, k), words[k], chosen);
  }
  return chosen;
}

}  // namespace ocannl::jit
