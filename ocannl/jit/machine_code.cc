// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/machine_code.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/wanted_debug_symbols.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/jit/emit/helpers.h"

namespace ocannl::jit {
namespace {

std::vector<DebugSymbol> SymbolsOf(const CodeImage& image,
                                   const std::byte* code,
                                   absl::string_view name) {
  std::vector<DebugSymbol> symbols;
  for (size_t k = 0; k < image.sections.size(); ++k) {
    const size_t begin = image.sections[k].begin;
    const size_t end = k + 1 < image.sections.size()
                           ? image.sections[k + 1].begin
                           : image.bytes.size();
    symbols.push_back(
        {.name = absl::StrCat(name, ":", NestName(image.sections[k].nest)),
         .begin = code + begin,
         .size = end - begin});
  }
  if (image.debug != nullptr && image.debug->stub) {
    const std::byte* begin = code + *image.debug->stub;
    symbols.back().size = begin - symbols.back().begin;
    symbols.push_back(
        {.name = absl::StrCat(name, ":slow_op"),
         .begin = begin,
         .size = static_cast<size_t>(code + image.bytes.size() - begin)});
  }
  return symbols;
}

}  // namespace

absl::StatusOr<MachineCode> Load(const CodeImage& image,
                                 absl::string_view name) {
  std::string bytes = image.bytes;
  if (image.run_helper >= 0) {
    const auto address = reinterpret_cast<uintptr_t>(&RunHelper);
    std::memcpy(bytes.data() + image.run_helper, &address, sizeof(address));
  }
  OCANNL_ASSIGN_OR_RETURN(CodeMemory memory, CodeMemory::Install(bytes));
  MachineCode code{.memory = std::move(memory), .sections = {}, .symbols = {}};
  for (const CodeImage::Section& section : image.sections) {
    const std::byte* entry = code.memory.data() + section.begin;
    code.sections.push_back({.function = reinterpret_cast<NestFunction>(
                                 reinterpret_cast<uintptr_t>(entry)),
                             .iterations = section.iterations,
                             .nest = section.nest});
  }
  const absl::string_view wanted = WantedDebugSymbols();
  OCANNL_RETURN_IF_ERROR(CheckDebugSymbols("OCANNL_JIT_SYMBOLS", wanted));
  if (wanted.empty()) return code;
  const std::vector<DebugSymbol> symbols =
      SymbolsOf(image, code.memory.data(), name);
  DebugTables tables;
  if (image.debug != nullptr && !symbols.empty()) {
    OCANNL_ASSIGN_OR_RETURN(tables, MakeDebugTables(*image.debug, symbols));
  }
  code.symbols = DebugSymbols(symbols, wanted, std::move(tables));
  return code;
}

}  // namespace ocannl::jit
