// SPDX-License-Identifier: Apache-2.0
//
// The programs of tests/agree/programs, by name; a test that reads them has
// //tests/agree:programs as data.
#ifndef TESTS_SUPPORT_AGREE_PROGRAMS_H_
#define TESTS_SUPPORT_AGREE_PROGRAMS_H_

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/loop.h"
#include "tests/support/must_parse.h"

namespace ocannl {

inline std::map<std::string, LoopProgram> AgreePrograms() {
  std::map<std::string, LoopProgram> programs;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/agree/programs")) {
    const absl::StatusOr<std::string> text = ReadFile(entry.path().string());
    CHECK_OK(text);
    programs[entry.path().stem().string()] = MustParse(*text);
  }
  CHECK(!programs.empty());
  return programs;
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_AGREE_PROGRAMS_H_
