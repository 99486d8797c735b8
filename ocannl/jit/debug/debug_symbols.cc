// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/debug/debug_symbols.h"

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ocannl/core/base/system/open_file.h"
#include "ocannl/core/base/user_error.h"

// GDB's interface: it stops at __jit_debug_register_code and then reads the
// list of __jit_debug_descriptor. The names and fields are GDB's.
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

void __attribute__((noinline)) __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}

}  // extern "C"

namespace ocannl::jit {
namespace {

enum Action : uint32_t { kNone = 0, kRegister = 1, kUnregister = 2 };

// Of the list, and of the perf map.
std::mutex& Mutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

// `entry` is in the list. The mutex is held.
void Announce(Action action, jit_code_entry* entry) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = kNone;
}

void AppendToPerfMap(const std::string& text) {
  const std::string path = absl::StrCat("/tmp/perf-", getpid(), ".map");
  std::lock_guard<std::mutex> lock(Mutex());
  absl::StatusOr<OpenFile> file =
      OpenFile::Open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW);
  // Others may write to /tmp. Where it fails, names are all that is lost.
  if (file.ok() && S_ISREG(file->stat().st_mode) &&
      file->stat().st_uid == geteuid() && file->stat().st_nlink == 1) {
    file->Write(text).IgnoreError();
  }
}

template <class T>
void AppendBytes(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The first sections of the object file.
enum SectionIndex : uint16_t { kNullSection, kText, kSymbols, kNames, kOthers };

Elf64_Ehdr ElfHeader(size_t num_sections) {
  Elf64_Ehdr header = {};
  for (int k = 0; k < SELFMAG; ++k) header.e_ident[k] = ELFMAG[k];
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(header);
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(num_sections);
  header.e_shstrndx = kNames;
  return header;
}

}  // namespace

std::string ElfObject(absl::Span<const DebugSymbol> symbols,
                      absl::Span<const DebugSection> sections) {
  std::string names(1, '\0');
  auto name_of = [&](const std::string& name) {
    const auto place = static_cast<uint32_t>(names.size());
    names.append(name.c_str(), name.size() + 1);
    return place;
  };
  const auto base = reinterpret_cast<uint64_t>(symbols.front().begin);
  std::string table;
  AppendBytes(table, Elf64_Sym{});
  for (const DebugSymbol& symbol : symbols) {
    Elf64_Sym entry = {};
    entry.st_name = name_of(symbol.name);
    entry.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    entry.st_shndx = kText;
    entry.st_value = reinterpret_cast<uint64_t>(symbol.begin) - base;
    entry.st_size = symbol.size;
    AppendBytes(table, entry);
  }
  std::vector<Elf64_Shdr> headers(kOthers + sections.size());
  std::string contents;
  auto place = [&](Elf64_Shdr& header, uint32_t type, absl::string_view bytes) {
    header.sh_type = type;
    header.sh_offset =
        sizeof(Elf64_Ehdr) + headers.size() * sizeof(header) + contents.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    absl::StrAppend(&contents, bytes);
  };
  headers[kText].sh_name = name_of(".text");
  headers[kText].sh_type = SHT_NOBITS;  // the code is in memory already
  headers[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  headers[kText].sh_addr = base;
  headers[kText].sh_size = reinterpret_cast<uint64_t>(symbols.back().begin) -
                           base + symbols.back().size;
  headers[kText].sh_addralign = 1;
  place(headers[kSymbols], SHT_SYMTAB, table);
  headers[kSymbols].sh_name = name_of(".symtab");
  headers[kSymbols].sh_link = kNames;
  headers[kSymbols].sh_info = 1;  // the first global symbol
  headers[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  for (size_t k = 0; k < sections.size(); ++k) {
    place(headers[kOthers + k], SHT_PROGBITS, sections[k].bytes);
    headers[kOthers + k].sh_name = name_of(sections[k].name);
  }
  headers[kNames].sh_name = name_of(".strtab");
  place(headers[kNames], SHT_STRTAB, names);

  std::string object;
  AppendBytes(object, ElfHeader(headers.size()));
  for (const Elf64_Shdr& header : headers) AppendBytes(object, header);
  return object + contents;
}

std::string PerfMapText(absl::Span<const DebugSymbol> symbols) {
  std::string text;
  for (const DebugSymbol& symbol : symbols) {
    absl::StrAppend(&text, absl::Hex(reinterpret_cast<uintptr_t>(symbol.begin)),
                    " ", absl::Hex(symbol.size), " ", symbol.name, "\n");
  }
  return text;
}

struct DebugSymbols::Registered {
  std::string object;
  std::unique_ptr<ScratchDirectory> source;
  jit_code_entry entry = {};
};

DebugSymbols::DebugSymbols(absl::Span<const DebugSymbol> symbols,
                           absl::string_view wanted, DebugTables tables) {
  if (wanted.empty() || symbols.empty()) return;
  const std::vector<absl::string_view> words = absl::StrSplit(wanted, ',');
  if (absl::c_linear_search(words, "perf")) {
    AppendToPerfMap(PerfMapText(symbols));
  }
  if (!absl::c_linear_search(words, "gdb")) return;
  registered_.reset(new Registered{
      .object = ElfObject(symbols, tables.sections),
      .source = std::move(tables.source),
  });
  jit_code_entry& entry = registered_->entry;
  entry.symfile_addr = registered_->object.data();
  entry.symfile_size = registered_->object.size();
  std::lock_guard<std::mutex> lock(Mutex());
  entry.next_entry = __jit_debug_descriptor.first_entry;
  if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
  __jit_debug_descriptor.first_entry = &entry;
  Announce(kRegister, &entry);
}

void DebugSymbols::Unregister::operator()(Registered* registered) const {
  jit_code_entry& entry = registered->entry;
  {
    std::lock_guard<std::mutex> lock(Mutex());
    (entry.prev_entry == nullptr ? __jit_debug_descriptor.first_entry
                                 : entry.prev_entry->next_entry) =
        entry.next_entry;
    if (entry.next_entry != nullptr) {
      entry.next_entry->prev_entry = entry.prev_entry;
    }
    Announce(kUnregister, &entry);
  }
  delete registered;
}

absl::Status CheckDebugSymbols(absl::string_view origin,
                               absl::string_view wanted) {
  if (wanted.empty()) return absl::OkStatus();
  for (absl::string_view word : absl::StrSplit(wanted, ',')) {
    if (word == "perf" || word == "gdb") continue;
    return UserError(origin, "=", wanted, ": `", word,
                     "` is no kind of symbols; write perf, gdb or perf,gdb");
  }
  return absl::OkStatus();
}

}  // namespace ocannl::jit
