// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/shared_library.h"

#include <dlfcn.h>

#include "absl/status/status.h"

namespace ocannl {

absl::StatusOr<std::shared_ptr<const SharedLibrary>> SharedLibrary::Open(
    const std::string& path, bool stays) {
  void* handle =
      dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | (stays ? RTLD_NODELETE : 0));
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  return std::shared_ptr<const SharedLibrary>(new SharedLibrary(handle));
}

SharedLibrary::~SharedLibrary() { dlclose(handle_); }

void* SharedLibrary::FindSymbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace ocannl
