// SPDX-License-Identifier: Apache-2.0
#include "ocannl/setting_flags.h"

#include <cstdlib>
#include <ostream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/settings.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/version.h"
#include "ocannl/distributed_flags.h"
#include "ocannl/jit/debug_symbols.h"
#include "ocannl/pass_flags.h"
#include "ocannl/tier_flags.h"

namespace ocannl {

const std::vector<Flag>& SettingFlags() {
  static const auto* flags = [] {
    auto* all = new std::vector<Flag>(TierFlags());
    all->insert(all->end(), PassFlags().begin(), PassFlags().end());
    all->insert(all->end(), ShardedFlags().begin(), ShardedFlags().end());
    all->push_back({"jit_symbols", "",
                    "not a flag: names of code for perf, gdb or perf,gdb",
                    SettingKind::kOutput});
    return all;
  }();
  return *flags;
}

absl::StatusOr<CommandLine> ParseWithSettings(
    absl::Span<const std::string> args, std::vector<Flag> flags) {
  std::vector<SettingKey> keys;
  for (const Flag& flag : SettingFlags()) {
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
  return CommandLine::Parse(args, std::move(flags), settings);
}

const std::vector<Flag>& ProgramFlags() {
  static const auto* flags =
      new std::vector<Flag>{{"help", "false", "this text"},
                            {"version", "false", "the version of the engine"}};
  return *flags;
}

std::string VersionText() { return absl::StrCat("ocannl ", kVersion); }

static bool IsIn(absl::Span<const Flag> flags, const Flag& wanted) {
  return absl::c_any_of(flags, [&](const Flag& flag) {
    return flag.name == wanted.name && flag.help == wanted.help;
  });
}

bool ShowsHelp(const CommandLine& line, absl::string_view head,
               absl::Span<const Flag> flags, std::ostream& out) {
  if (line.Has("version")) out << VersionText() << "\n";
  if (line.Has("version") || !line.Has("help")) return line.Has("version");
  std::vector<Flag> own;
  std::string others = "Also";
  for (const Flag& flag : ProgramFlags()) {
    absl::StrAppend(&others, " --", flag.name);
  }
  std::string settings;
  for (const Flag& flag : flags) {
    if (IsIn(ProgramFlags(), flag)) continue;
    if (IsIn(SettingFlags(), flag)) {
      absl::StrAppend(&settings, " --", flag.name);
    } else {
      own.push_back(flag);
    }
  }
  if (!settings.empty()) {
    absl::StrAppend(&others, ", and in SETTINGS.md", settings);
  }
  out << head << CommandLine::Help(own) << WrapWords(others, 0, 2) << "\n";
  return true;
}

}  // namespace ocannl
