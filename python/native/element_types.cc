// SPDX-License-Identifier: Apache-2.0
#include "python/native/element_types.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

constexpr ElementType kElementTypes[] = {
    {DType::kBool, "?", 6},        {DType::kU8, "B", kDLUInt},
    {DType::kU16, "H", kDLUInt},   {DType::kI32, "i", kDLInt},
    {DType::kU32, "I", kDLUInt},   {DType::kI64, "q", kDLInt},
    {DType::kU64, "Q", kDLUInt},   {DType::kF8E4M3, nullptr, 10},
    {DType::kF8E5M2, nullptr, 12}, {DType::kBF16, nullptr, kDLBfloat},
    {DType::kF16, "e", kDLFloat},  {DType::kF32, "f", kDLFloat},
    {DType::kF64, "d", kDLFloat},
};

}  // namespace

const ElementType& TypeOf(DType dtype) {
  return *std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                       [&](const ElementType& t) { return t.dtype == dtype; });
}

const ElementType* FindFormat(absl::string_view format, size_t size) {
  if (!format.empty() &&
      (format[0] == '<' || format[0] == '=' || format[0] == '@')) {
    format.remove_prefix(1);
  }
  if (format == "l") format = size == 8 ? "q" : "i";
  if (format == "L") format = size == 8 ? "Q" : "I";
  for (const ElementType& type : kElementTypes) {
    if (type.format != nullptr && format == type.format) return &type;
  }
  return nullptr;
}

const ElementType* FindCode(const DLDataType& found) {
  if (found.lanes != 1) return nullptr;
  for (const ElementType& type : kElementTypes) {
    if (type.code == found.code && SizeOf(type.dtype) * 8 == found.bits) {
      return &type;
    }
  }
  return nullptr;
}

std::string NumpyName(DType dtype) {
  if (dtype == DType::kBool) return "bool";
  if (dtype == DType::kBF16) return "bfloat16";
  if (dtype == DType::kF8E4M3) return "float8_e4m3fn";
  if (dtype == DType::kF8E5M2) return "float8_e5m2";
  const std::string name(Name(dtype));
  const absl::string_view kind = name[0] == 'f'   ? "float"
                                 : name[0] == 'u' ? "uint"
                                                  : "int";
  return absl::StrCat(kind, name.substr(1));
}

DType DTypeOf(const py::object& name) {
  std::string text = py::str(name);
  if (py::isinstance<py::str>(name)) {
    if (const std::optional<DType> dtype = FindDType(text)) return *dtype;
    text = absl::StrCat("\"", text, "\"");
  }
  const bool is_class = py::hasattr(name, "__name__");
  const std::string word =
      is_class ? py::str(name.attr("__name__")) : py::str(name);
  if (is_class) text = word;
  for (const ElementType& type : kElementTypes) {
    const std::string theirs = NumpyName(type.dtype);
    if (word != theirs && word != absl::StrCat("torch.", theirs)) continue;
    Raise(
        absl::StrCat(text, " is not a dtype; give \"", Name(type.dtype), "\""));
  }
  Raise(absl::StrCat(text, " is not a dtype; give one of ", DTypeNames()));
}

}  // namespace ocannl::python
