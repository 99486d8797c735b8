// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace ocannl {
namespace {

struct Search {
  uintptr_t inside;  // of the object that is meant
  std::string id = "";
};

bool Holds(const dl_phdr_info& object, uintptr_t address) {
  for (int k = 0; k < object.dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[k];
    if (segment.p_type == PT_LOAD &&
        address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

// Notes are a header, a name and a description, each padded to 4 bytes.
std::string IdIn(absl::string_view notes) {
  auto padded = [](size_t size) { return (size + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    notes.remove_prefix(sizeof(header));
    const size_t name = padded(header.n_namesz);
    const size_t size = name + padded(header.n_descsz);
    if (notes.size() < size) break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        notes.substr(0, header.n_namesz) == absl::string_view("GNU\0", 4)) {
      return absl::BytesToHexString(notes.substr(name, header.n_descsz));
    }
    notes.remove_prefix(size);
  }
  return "";
}

int Visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!Holds(*object, search.inside)) return 0;
  for (int k = 0; k < object->dlpi_phnum && search.id.empty(); ++k) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[k];
    if (segment.p_type != PT_NOTE) continue;
    search.id = IdIn(
        {reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr),
         segment.p_memsz});
  }
  return 1;
}

}  // namespace

std::string BuildId() {
  Search search{.inside = reinterpret_cast<uintptr_t>(&BuildId)};
  dl_iterate_phdr(Visit, &search);
  return search.id;
}

}  // namespace ocannl
