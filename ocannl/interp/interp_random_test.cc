// SPDX-License-Identifier: Apache-2.0
//
// Random programs: the interpreter against a walk over the program's tree that
// substitutes numbers for leaves and folds. The walk shares neither registers,
// nor strides, nor slots with the interpreter.

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::interp {
namespace {

constexpr std::array<DType, 6> kDTypes = {DType::kBool, DType::kI32,
                                          DType::kU8,   DType::kU64,
                                          DType::kF32,  DType::kF64};

// The slow and simple interpreter.
class Walker {
 public:
  Walker(LoopProgram* program, std::vector<NdArray>* arrays,
         std::vector<int64_t> statics)
      : program_(program), arrays_(arrays), statics_(std::move(statics)) {
    locals_.resize(program->locals.size());
  }

  void Run(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      std::visit(Overload{
                     [&](const For& loop) {
                       for (int64_t i = 0; i < loop.extent; ++i) {
                         iterators_[loop.iterator] = i;
                         Run(loop.body);
                       }
                     },
                     [&](const Set& set) {
                       Constant value = Eval(set.value);
                       std::memcpy(Cell(set.target), &value.bits,
                                   SizeOf(value.dtype));
                     },
                     [&](const DeclareLocal& let) {
                       locals_[let.local] = Eval(let.value);
                     },
                     [&](const SetLocal& set) {
                       locals_[set.local] = Eval(set.value);
                     },
                     [&](const ZeroOut& zero) {
                       NdArray& array = (*arrays_)[zero.buffer];
                       array = NdArray(array.dtype(), array.dims());
                     },
                     [&](const Comment&) {},
                 },
                 static_cast<const Stmt::variant&>(stmt));
    }
  }

 private:
  int64_t Eval(const Affine& index) const {
    int64_t sum = index.offset();
    for (const Affine::Term& term : index.terms()) {
      int32_t number = term.symbol.number;
      sum += term.factor * (term.symbol.kind == Symbol::kStatic
                                ? statics_[number]
                                : iterators_.at(number));
    }
    return sum;
  }

  std::byte* Cell(const Access& access) {
    NdArray& array = (*arrays_)[access.buffer];
    int64_t cell = 0;
    for (size_t axis = 0; axis < access.indices.size(); ++axis) {
      int64_t index = Eval(access.indices[axis]);
      CHECK(index >= 0 && index < array.dims()[axis]);
      cell = cell * array.dims()[axis] + index;
    }
    return array.data() + cell * SizeOf(array.dtype());
  }

  Constant Eval(ExprId value) {
    ExprId closed = RewriteLeaves(*program_, value, [&](const LeafValue& leaf) {
      Constant constant = std::visit(
          Overload{
              [&](const Access& access) {
                DType dtype = program_->buffers[access.buffer].dtype;
                uint64_t bits = 0;
                std::memcpy(&bits, Cell(access), SizeOf(dtype));
                return FromBits(dtype, bits);
              },
              [&](const GetLocal& get) { return locals_[get.local]; },
              [&](const Affine& index) {
                return FromBits(DType::kI64, Eval(index));
              },
          },
          leaf);
      return program_->exprs.Add(constant);
    });
    return Fold(program_->exprs, closed);
  }

  LoopProgram* program_;
  std::vector<NdArray>* arrays_;
  std::vector<int64_t> statics_;
  std::vector<Constant> locals_;
  absl::flat_hash_map<int32_t, int64_t> iterators_;
};

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  LoopProgram Program() {
    program_.name = "random";
    program_.statics = {{"s0", 3}, {"s1", kUnranged}};
    for (int i = 0; i < 4; ++i) {
      Dims dims;
      for (int64_t rank = Below(4); rank > 0; --rank) {
        dims.push_back(1 + Below(4));
      }
      program_.buffers.push_back({absl::StrCat("b", i),
                                  kDTypes[Below(kDTypes.size())], dims,
                                  Role::kInOut});
    }
    program_.body = MakeBlock(0);
    return std::move(program_);
  }

  int64_t Below(int64_t bound) { return random_() % bound; }

 private:
  // An affine in bounds of an axis: factors are tried until they fit.
  Affine Index(int64_t dim) {
    for (int trial = 0; trial < 4; ++trial) {
      Affine index = Below(dim);
      int64_t least = index.offset();
      int64_t most = least;
      for (const auto& [symbol, range] : symbols_) {
        int64_t factor = Below(3) == 0 ? Below(5) - 2 : 0;
        index += factor * Affine(symbol);
        (factor < 0 ? least : most) += factor * (range - 1);
      }
      if (least >= 0 && most < dim) return index;
    }
    return Below(dim);
  }

  Access Cell(int32_t buffer) {
    Access access{.buffer = buffer, .indices = {}};
    for (int64_t dim : program_.buffers[buffer].dims) {
      access.indices.push_back(Index(dim));
    }
    return access;
  }

  Expr LeafOf(DType dtype) {
    if (Below(4) > 0) {
      std::vector<LeafValue> fitting;
      for (int32_t i = 0; i < 4; ++i) {
        if (program_.buffers[i].dtype == dtype) fitting.push_back(Cell(i));
      }
      for (int32_t local : scope_) {
        if (program_.locals[local].dtype == dtype) {
          fitting.push_back(GetLocal{local});
        }
      }
      if (!fitting.empty())
        return program_.Read(fitting[Below(fitting.size())]);
    }
    if (Below(2) == 0) {
      Affine index = Static(1);
      for (const auto& [symbol, range] : symbols_) {
        index += (Below(5) - 2) * Affine(symbol);
      }
      return Convert(program_.Read(index), dtype);
    }
    return Literal(program_.exprs, dtype, 0.75 * (Below(9) - 4));
  }

  Expr Value(DType dtype, int depth) {
    if (depth == 0) return LeafOf(dtype);
    Op op = AllOps()[Below(kNumOps)];
    std::vector<DType> types(Info(op).arity, dtype);
    switch (Info(op).typing) {
      case Typing::kSelect:
        types[0] = DType::kBool;
        break;
      case Typing::kCompare:
      case Typing::kConvert:
        types.assign(types.size(), kDTypes[Below(kDTypes.size())]);
        break;
      default:
        break;
    }
    absl::StatusOr<DType> result = ResultType(op, types, dtype);
    if (!result.ok() || *result != dtype) return Value(dtype, depth - 1);
    std::vector<Expr> args;
    for (DType type : types) args.push_back(Value(type, depth - 1));
    return ApplyOp(op, args, dtype);
  }

  Stmt Loop(int depth) {
    For loop{LoopKind::kFor, num_iterators_++, 1 + Below(4), {}};
    symbols_.push_back({Iterator(loop.iterator), loop.extent});
    loop.body = MakeBlock(depth + 1);
    symbols_.pop_back();
    return loop;
  }

  Stmt Simple() {
    int64_t kind = Below(12);
    if (kind == 0) return ZeroOut{static_cast<int32_t>(Below(4))};
    if (kind <= 2) {
      DType dtype = kDTypes[Below(kDTypes.size())];
      Stmt let = DeclareLocal{static_cast<int32_t>(program_.locals.size()),
                              Value(dtype, 2).id()};
      scope_.push_back(static_cast<int32_t>(program_.locals.size()));
      program_.locals.push_back({absl::StrCat("v", scope_.back()), dtype});
      return let;
    }
    if (kind <= 4 && !scope_.empty()) {
      int32_t local = scope_[Below(scope_.size())];
      return SetLocal{local, Value(program_.locals[local].dtype, 2).id()};
    }
    auto buffer = static_cast<int32_t>(Below(4));
    Access target = Cell(buffer);
    return Set{target, Value(program_.buffers[buffer].dtype, Below(4)).id()};
  }

  Block MakeBlock(int depth) {
    Block block;
    size_t outer = scope_.size();
    for (int64_t left = 1 + Below(3); left > 0; --left) {
      bool loops = depth < 3 && Below(2) == 0;
      block.stmts.push_back(loops ? Loop(depth) : Simple());
    }
    scope_.resize(outer);
    return block;
  }

  std::mt19937 random_;
  LoopProgram program_;
  std::vector<std::pair<Symbol, int64_t>> symbols_ = {{Static(0), 3}};
  std::vector<int32_t> scope_;  // locals
  int32_t num_iterators_ = 0;
};

NdArray RandomArray(const Buffer& buffer, Generator& generator) {
  NdArray array(buffer.dtype, buffer.dims);
  for (int64_t i = 0; i < array.size(); ++i) {
    Constant value =
        MakeConstant(buffer.dtype, 0.5 * (generator.Below(17) - 8));
    std::memcpy(array.data() + i * SizeOf(buffer.dtype), &value.bits,
                SizeOf(buffer.dtype));
  }
  return array;
}

TEST(InterpRandomTest, EqualsAWalkOverTheTree) {
  constexpr int kPrograms = 3000;
  int changed = 0;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    Generator generator(seed);
    LoopProgram program = generator.Program();
    std::vector<NdArray> before;
    for (const Buffer& buffer : program.buffers) {
      before.push_back(RandomArray(buffer, generator));
    }
    std::vector<NdArray> walked = before;
    std::vector<NdArray> ran = before;
    std::vector<int64_t> statics = {generator.Below(3), generator.Below(99)};
    std::vector<std::byte*> buffers;
    for (NdArray& array : ran) buffers.push_back(array.data());
    auto executable = InterpBackend().Compile(program);
    CHECK_OK(executable);
    (*executable)->Run(buffers, statics);
    std::string text = Print(program);
    Walker(&program, &walked, statics).Run(program.body);
    for (size_t i = 0; i < ran.size(); ++i) {
      ASSERT_TRUE(SameBits(ran[i], walked[i]))
          << "seed " << seed << ", buffer " << i << "\n"
          << text;
      changed += SameBits(ran[i], before[i]) ? 0 : 1;
    }
  }
  std::printf("%d programs (seeds from 0), %d of %d arrays changed\n",
              kPrograms, changed, 4 * kPrograms);
  EXPECT_GT(changed, kPrograms);
}

}  // namespace
}  // namespace ocannl::interp
