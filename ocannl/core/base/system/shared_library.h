// SPDX-License-Identifier: Apache-2.0
//
// SharedLibrary: functions of a library that this program was not linked with.
//
//   OCANNL_ASSIGN_OR_RETURN(auto blas, SharedLibrary::Open("libblas.so.3"));
//   auto* dot = blas->Find<float(int, const float*, ...)>("cblas_sdot");
#ifndef OCANNL_CORE_BASE_SYSTEM_SHARED_LIBRARY_H_
#define OCANNL_CORE_BASE_SYSTEM_SHARED_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace ocannl {

class SharedLibrary {
 public:
  // Of a path, or of a name that the loader looks for. One that `stays` is not
  // unloaded before the process ends. Error: not there, as the system says it.
  static absl::StatusOr<std::shared_ptr<const SharedLibrary>> Open(
      const std::string& path, bool stays = false);

  SharedLibrary(const SharedLibrary&) = delete;
  ~SharedLibrary();

  // Null: the library has no such function.
  template <class Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(FindSymbol(name));
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* FindSymbol(const char* name) const;

  void* handle_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_SHARED_LIBRARY_H_
