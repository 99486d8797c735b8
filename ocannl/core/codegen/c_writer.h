// SPDX-License-Identifier: Apache-2.0
//
// CWriter: statements of a LoopProgram as C, a line for each node of a value.
//
//   for i0 = 0 to 7 {                      for (i64_t i0 = 0; i0 < 8; ++i0) {
//     y[i0] := fma(x[i0], 2, y[i0]);         // y[i0] := fma(x[i0], 2, y[i0]);
//   }                                        const f32_t t0 = b0[i0];
//                                            ...
#ifndef OCANNL_CORE_CODEGEN_C_WRITER_H_
#define OCANNL_CORE_CODEGEN_C_WRITER_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/codegen/c_expression.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Buffer k is an array or a pointer `bk`, static index k is `sk`, a local `vk`
// and an iterator is as in the text: `i7`.
class CWriter {
 public:
  CWriter(LoopProgram program, CDialect dialect)
      : program_(std::move(program)), dialect_(dialect) {}
  virtual ~CWriter() = default;

  const LoopProgram& program() const { return program_; }

  template <class... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&text_, std::string(2 * depth_, ' '), parts..., "\n");
  }
  // The same, with what follows inside of braces.
  template <class... Parts>
  void Open(const Parts&... parts) {
    Line(parts..., "{");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }

  void WriteBlock(const Block& block);

  // What was written since the last call.
  std::string Take() { return std::exchange(text_, {}); }

 protected:
  virtual void WriteFor(const For& loop);
  void OpenFor(const For& loop);

  // From now on a cell of `buffer` is found without its first `axes` indices:
  // whoever declares it has one for each of those.
  void DropAxes(BufferId buffer, size_t axes) { dropped_axes_[buffer] = axes; }

  // Until ForgetTexts, `text` stands for the cell.
  void SetText(const Access& access, std::string text) {
    texts_[access] = std::move(text);
  }
  void ForgetTexts() { texts_.clear(); }

  std::string CellText(const Access& access, absl::string_view more = "") const;

 private:
  std::string IndexText(const Affine& index) const;
  std::string CellText(const Lookup& lookup) const;  // of a row that there is
  std::string RowText(const Lookup& lookup) const;
  std::string HasRowText(const Lookup& lookup) const;
  std::string LeafText(const LeafValue& value) const;

  // A name for the value, after a line for each node of it.
  std::string WriteValue(ExprId value);

  LoopProgram program_;
  const CDialect dialect_;
  absl::flat_hash_map<BufferId, size_t> dropped_axes_;
  absl::flat_hash_map<Access, std::string> texts_;
  std::string text_;
  int depth_ = 0;
  int num_values_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_CODEGEN_C_WRITER_H_
