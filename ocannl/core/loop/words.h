// SPDX-License-Identifier: Apache-2.0
//
// The keywords of .ll, shared by the printer and the parser. A buffer, a local
// or a static index that has the name of one is written in quotes.
#ifndef OCANNL_CORE_LOOP_WORDS_H_
#define OCANNL_CORE_LOOP_WORDS_H_

#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

inline constexpr std::array<LoopKind, 6> kLoopKinds = {
    LoopKind::kFor,    LoopKind::kVec,  LoopKind::kPar,
    LoopKind::kUnroll, LoopKind::kGrid, LoopKind::kThread};
inline constexpr std::array<Role, 9> kRoles = {
    Role::kIn,      Role::kOut,   Role::kInOut,   Role::kMerge, Role::kTemp,
    Role::kVirtual, Role::kLocal, Role::kPrivate, Role::kShared};

inline absl::string_view WordOf(LoopKind kind) {
  constexpr std::array<absl::string_view, 6> kWords = {
      "for", "vec", "par", "unroll", "grid", "thread"};
  return kWords[static_cast<int>(kind)];
}

inline absl::string_view WordOf(Role role) {
  constexpr std::array<absl::string_view, 9> kWords = {
      "in",      "out",   "inout",   "merge", "temp",
      "virtual", "local", "private", "shared"};
  return kWords[static_cast<int>(role)];
}

// Whether `name` means something else where a name may stand, unless it is in
// quotes.
inline bool IsReserved(absl::string_view name) {
  for (LoopKind kind : kLoopKinds) {
    if (name == WordOf(kind)) return true;
  }
  for (Role role : kRoles) {
    if (name == WordOf(role)) return true;
  }
  return name == "let" || name == "zero_out" || name == "true" ||
         name == "false" || name == "inf" || name == "nan";
}

inline bool IsName(absl::string_view name) {
  return !name.empty() && (absl::ascii_isalpha(name[0]) || name[0] == '_') &&
         name.back() != '.' && absl::c_all_of(name, [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '.';
         });
}

// The name as the text has it: x, "in", "".
inline std::string NameText(absl::string_view name) {
  return IsReserved(name) || !IsName(name) ? absl::StrCat("\"", name, "\"")
                                           : std::string(name);
}

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_WORDS_H_
