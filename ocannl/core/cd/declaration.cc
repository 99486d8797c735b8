// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/declaration.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

absl::StatusOr<MemoryRequest> TakeMemory(LoopLexer& in) {
  MemoryRequest request;
  const Token mode = in.Next();
  absl::StatusOr<MemoryMode> found = FindMemoryMode(mode.text);
  if (!found.ok()) return in.ErrorAt(mode, found.status().message());
  request.mode = *found;
  OCANNL_ASSIGN_OR_RETURN(
      const Token why,
      in.Take(Token::kString,
              "who asks for it in quotes, such as \"by hand\""));
  if (!absl::CUnescape(why.text, &request.why)) {
    return in.ErrorAt(why, "a `\\` that is not C's; write \\\\");
  }
  return request;
}

// [1, -0.5, inf]
absl::Status TakeNumbers(LoopLexer& in, Array& array) {
  const size_t offset = in.peek().offset;
  std::vector<Constant> numbers;
  OCANNL_RETURN_IF_ERROR(in.Expect("["));
  while (!in.Accept("]")) {
    if (!numbers.empty()) OCANNL_RETURN_IF_ERROR(in.Expect(","));
    OCANNL_ASSIGN_OR_RETURN(numbers.emplace_back(),
                            TakeConstant(in, array.dtype));
  }
  if (static_cast<int64_t>(numbers.size()) != NumElements(array.dims)) {
    return in.ErrorAt(offset, "`", array.name, "` is ",
                      DescribeArray(array.dtype, array.dims), ", but here are ",
                      numbers.size(), " numbers; write one for each cell");
  }
  auto data = std::make_shared<NdArray>(array.dtype, array.dims);
  const size_t size = SizeOf(array.dtype);
  for (size_t k = 0; k < numbers.size(); ++k) {
    std::memcpy(data->data() + k * size, &numbers[k].bits, size);
  }
  array.data = std::move(data);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Constant> TakeConstant(LoopLexer& in, DType dtype) {
  const size_t offset = in.peek().offset;
  const absl::string_view sign = in.Accept("-") ? "-" : "";
  const absl::string_view text = in.Next().text;
  if (dtype == DType::kBool && (text == "true" || text == "false")) {
    return MakeConstant(dtype, text == "true");
  }
  std::optional<Constant> number =
      ParseConstant(absl::StrCat(sign, text), dtype);
  if (number) return *number;
  return in.ErrorAt(offset, "`", sign, text, "` is not a number that ",
                    Name(dtype), " can hold; write another");
}

absl::StatusOr<Array> TakeDeclaration(LoopLexer& in, const Token& name) {
  Array array{.name = std::string(name.text), .dtype = DType::kF32, .dims = {}};
  OCANNL_ASSIGN_OR_RETURN(array.dtype, in.TakeDType());
  OCANNL_ASSIGN_OR_RETURN(array.dims, in.TakeDims());
  const absl::Status size = ByteSize(array.dtype, array.dims).status();
  if (!size.ok()) return in.ErrorAt(name, size.message());
  if (absl::c_linear_search(array.dims, 0)) {
    return in.ErrorAt(name, "`", array.name, "` has an axis of ",
                      "size 0; the least size is 1");
  }
  array.is_merge = in.Accept("merge");
  if (in.peek().kind == Token::kName) {
    OCANNL_ASSIGN_OR_RETURN(array.memory, TakeMemory(in));
  }
  if (in.Accept("=")) OCANNL_RETURN_IF_ERROR(TakeNumbers(in, array));
  return array;
}

}  // namespace ocannl
