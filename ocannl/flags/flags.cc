// SPDX-License-Identifier: Apache-2.0
#include "ocannl/flags/flags.h"

#include <cstdlib>
#include <ostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/settings.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/version.h"
#include "ocannl/jit/debug/debug_symbols.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl {
namespace {

// The values of --stage.
std::string StagesHelp() {
  enum When { kInAll, kOnRequest };
  std::vector<absl::string_view> names[2];
#define STAGE(name, when, target, maker) names[when].push_back(#name);
#define PASSES(names_of, help, when, target, maker) \
  if (*help != '\0') names[when].push_back(help);
#include "ocannl/flags/stages.def"
#undef STAGE
#undef PASSES
  return absl::StrCat(absl::StrJoin(names[kInAll], ", "),
                      ", or all of these; or ",
                      absl::StrJoin(names[kOnRequest], ", "));
}

struct FlagRow {
  Flag flag;
  unsigned groups;
};

const std::vector<FlagRow>& FlagRows() {
  static const auto* rows = new std::vector<FlagRow>{
#define FLAG(name, default_value, help, kind, groups) \
  {{#name, default_value, help, SettingKind::kind}, groups},
#define SETTING(name, default_value, help, kind, groups) \
  FLAG(name, default_value, help, kind, (groups) | kSettingFlags)
#include "ocannl/flags/flags.def"
#undef SETTING
#undef FLAG
  };
  return *rows;
}

bool IsIn(absl::Span<const Flag> flags, const Flag& wanted) {
  return absl::c_any_of(flags, [&](const Flag& flag) {
    return flag.name == wanted.name && flag.help == wanted.help;
  });
}

}  // namespace

std::vector<Flag> FlagsOf(unsigned groups) {
  std::vector<Flag> flags;
  for (const FlagRow& row : FlagRows()) {
    if ((row.groups & groups) != 0) flags.push_back(row.flag);
  }
  return flags;
}

Flag FlagNamed(absl::string_view name) {
  const auto row = absl::c_find_if(
      FlagRows(), [&](const FlagRow& r) { return r.flag.name == name; });
  CHECK(row != FlagRows().end()) << "flags.def has no flag " << name;
  return row->flag;
}

absl::StatusOr<CommandLine> ParseWithSettings(
    absl::Span<const std::string> args, std::vector<Flag> flags) {
  std::vector<SettingKey> keys;
  for (const Flag& flag : FlagsOf(kSettingFlags)) {
    keys.push_back({.name = flag.name, .kind = flag.kind});
  }
  OCANNL_ASSIGN_OR_RETURN(Settings settings,
                          FindSettings(keys, Environment(), UserPath(".")));
  // The environment is where code that is not the tool's looks.
  if (const auto symbols = settings.find("jit_symbols");
      symbols != settings.end()) {
    const auto& [value, origin] = symbols->second;
    OCANNL_RETURN_IF_ERROR(jit::CheckDebugSymbols(origin, value));
    setenv("OCANNL_JIT_SYMBOLS", value.c_str(),
           /*overwrite=*/0);
  }
  absl::c_move(FlagsOf(kProgramFlags), std::back_inserter(flags));
  return CommandLine::Parse(args, std::move(flags), settings);
}

std::string VersionText() { return absl::StrCat("ocannl ", kVersion); }

bool ShowsHelp(const CommandLine& line, absl::string_view head,
               absl::Span<const Flag> flags, std::ostream& out) {
  if (line.Has("version")) out << VersionText() << "\n";
  if (line.Has("version") || !line.Has("help")) return line.Has("version");
  const std::vector<Flag> of_program = FlagsOf(kProgramFlags);
  const std::vector<Flag> all_settings = FlagsOf(kSettingFlags);
  auto name = [](std::string* text, const Flag& flag) {
    absl::StrAppend(text, " --", flag.name);
  };
  std::vector<Flag> own;
  std::vector<Flag> settings;
  for (const Flag& flag : flags) {
    if (IsIn(of_program, flag)) continue;
    (IsIn(all_settings, flag) ? settings : own).push_back(flag);
  }
  const std::string others =
      absl::StrCat("Also", absl::StrJoin(of_program, "", name),
                   settings.empty() ? "" : ", and in SETTINGS.md",
                   absl::StrJoin(settings, "", name));
  out << head << CommandLine::Help(own) << WrapWords(others, 0, 2) << "\n";
  return true;
}

}  // namespace ocannl
