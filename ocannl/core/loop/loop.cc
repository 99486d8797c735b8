// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/loop.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace ocannl {
namespace loop_ir {

Stmt::Stmt(const Stmt&) = default;
Stmt::Stmt(Stmt&&) noexcept = default;
Stmt& Stmt::operator=(const Stmt&) = default;
Stmt& Stmt::operator=(Stmt&&) noexcept = default;
Stmt::~Stmt() = default;

}  // namespace loop_ir

namespace {

// As that of expressions (ops/expr.cc).
class FieldHash {
 public:
  void Add(int64_t field) {
    hash_ = (std::rotl(hash_, 5) ^ static_cast<uint64_t>(field)) *
            0x517cc1b727220a95u;
  }
  void Add(const Affine& index) {
    Add(index.offset());
    for (const auto& [symbol, factor] : index.terms()) {
      Add(symbol.number);
      Add(factor);
    }
  }
  void Add(const Access& access) {
    Add(access.buffer.index);
    for (const Affine& index : access.indices) Add(index);
  }
  void Add(const Lookup& lookup) {
    Add(lookup.cell);
    Add(lookup.axis);
    Add(lookup.index);
  }
  void Add(const GetLocal& get) { Add(get.local.index); }

  size_t End() const {
    const uint64_t hash = (hash_ ^ (hash_ >> 33)) * 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 33);
  }

 private:
  uint64_t hash_ = 0;
};

}  // namespace

template <>
struct PoolHash<LeafValue> {
  size_t operator()(const LeafValue& value) const {
    FieldHash hash;
    hash.Add(static_cast<int64_t>(value.index()));
    std::visit([&](const auto& each) { hash.Add(each); }, value);
    return hash.End();
  }
};

template class InternPool<LeafId, LeafValue>;

Expr LoopProgram::Read(LeafValue value) {
  DType dtype = DType::kI64;
  if (const Access* access = std::get_if<Access>(&value)) {
    dtype = buffers[access->buffer].dtype;
  } else if (const Lookup* lookup = std::get_if<Lookup>(&value)) {
    dtype = buffers[lookup->cell.buffer].dtype;
  } else if (const GetLocal* get = std::get_if<GetLocal>(&value)) {
    dtype = locals[get->local].dtype;
  }
  return MakeLeaf(exprs, dtype, leaves.Add(std::move(value)).index);
}

BufferId LoopProgram::FindBuffer(absl::string_view buffer) {
  names.Update(buffers, locals, statics);
  const std::optional<size_t> number = names.Find(0, buffer);
  return number ? BufferId{static_cast<int32_t>(*number)} : BufferId();
}

std::string LoopProgram::UnusedName(const std::string& base) {
  names.Update(buffers, locals, statics);
  return names.Unused(base);
}

}  // namespace ocannl
