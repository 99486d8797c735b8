// SPDX-License-Identifier: Apache-2.0
//
// SourceLocation: where a user made something, for error messages.
//
//   void Make(SourceLocation where = SourceLocation::Current());
//
// A stand-in for std::source_location, which clang 14 does not have.
#ifndef OCANNL_CORE_BASE_SOURCE_LOCATION_H_
#define OCANNL_CORE_BASE_SOURCE_LOCATION_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace ocannl {

struct SourceLocation {
  const char* file = "";
  int line = 0;

  // The caller's place, when used as a default argument.
  static constexpr SourceLocation Current(const char* file = __builtin_FILE(),
                                          int line = __builtin_LINE()) {
    return {.file = file, .line = line};
  }
};

// "f.cc:12", without folders; empty if it is nowhere.
inline std::string ToString(SourceLocation where) {
  absl::string_view file = where.file;
  if (file.empty()) return "";
  return absl::StrCat(file.substr(file.rfind('/') + 1), ":", where.line);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SOURCE_LOCATION_H_
