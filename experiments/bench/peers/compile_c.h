// SPDX-License-Identifier: Apache-2.0
//
// SharedLibrary: functions of a library that this program was not linked with.
//
//   OCANNL_ASSIGN_OR_RETURN(auto blas, SharedLibrary::Open("libblas.so.3"));
//   auto* dot = blas->Find<float(int, const float*, ...)>("cblas_sdot");
#ifndef EXPERIMENTS_BENCH_PEERS_SHARED_LIBRARY_H_
#define EXPERIMENTS_BENCH_PEERS_SHARED_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

class SharedLibrary {
 public:
  // Error: not there, as the system says it.
  static absl::StatusOr<std::shared_ptr<const SharedLibrary>> Open(
      const std::string& path);

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

// The library that `gcc -shared` makes of C text, or of the empty text and
// archives among the flags. Error: no gcc, or what it has to say.
absl::StatusOr<std::shared_ptr<const SharedLibrary>> CompileC(
    absl::string_view text, const std::vector<std::string>& flags);

}  // namespace ocannl

#endif  // EXPERIMENTS_BENCH_PEERS_SHARED_LIBRARY_H_
