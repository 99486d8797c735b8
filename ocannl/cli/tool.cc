// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/tool.h"

#include <iterator>
#include <ostream>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/cli/commands.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/setting_flags.h"

namespace ocannl {
namespace {

constexpr Command kCommands[] = {
    {"run", "run FILE.cd|FILE.ll",
     "runs assignments or a loop program and prints what they write", 1,
     RunFlags, RunCommand},
    {"eval", "eval 'EXPR'", "evaluates an expression of the notation", 1,
     EvalFlags, EvalCommand},
    {"explain", "explain 'EXPR'|FILE.cd|FILE.ll",
     "prints the stages from expression to code", 1, ExplainFlags,
     ExplainCommand},
    {"fuzz", "fuzz [FILE.cd|FILE.ll]",
     "compares the tiers on random programs, or one program on random inputs",
     0, FuzzFlags, FuzzCommand},
};

std::string Usage() {
  std::string text = "usage: bazel run //ocannl -- COMMAND ...\n\n";
  for (const Command& command : kCommands) {
    absl::StrAppend(&text, "  ", command.usage, "\n      ", command.help, "\n");
  }
  return text +
         "\nCOMMAND --help tells the flags of a command, `settings` those that "
         "hold for many\nruns, --version the version.\n";
}

int UnknownCommand(const std::string& name, std::ostream& err) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  names.emplace_back("settings");
  std::vector<std::string> near = NearNames(name, names);
  err << "error: no command `" << name << "`; "
      << (near.empty() ? absl::StrCat("there are ", absl::StrJoin(names, ", "))
                       : absl::StrCat("did you mean ", near[0], "?"))
      << "\n";
  return kUsageExitCode;
}

}  // namespace

int RunTool(absl::Span<const std::string> args, std::ostream& out,
            std::ostream& err) {
  if (args.empty()) {
    err << Usage();
    return kUsageExitCode;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    out << Usage();
    return 0;
  }
  if (args[0] == "--version") {
    out << VersionText() << "\n";
    return 0;
  }
  if (args[0] == "settings" && args.size() > 1 && args[1] != "--help") {
    err << "error: settings takes no argument; leave `" << args[1] << "` out\n";
    return kUsageExitCode;
  }
  if (args[0] == "settings") {
    out << "flags, or variables such as OCANNL_TIER, or lines of "
           "ocannl_config:\n"
        << CommandLine::Help(SettingFlags());
    return 0;
  }
  auto command = absl::c_find_if(
      kCommands, [&](const Command& c) { return c.name == args[0]; });
  if (command == std::end(kCommands)) return UnknownCommand(args[0], err);
  std::vector<Flag> flags = command->flags();
  absl::c_copy(ProgramFlags(), std::back_inserter(flags));
  std::vector<std::string> rest(args.begin() + 1, args.end());
  // As an expression, h would have to be an input.
  if (rest == std::vector<std::string>{"-h"}) rest = {"--help"};
  absl::StatusOr<CommandLine> line = ParseWithSettings(rest, flags);
  if (!line.ok()) {
    err << "error: " << line.status().message() << "\n";
    return kUsageExitCode;
  }
  if (ShowsHelp(*line,
                absl::StrCat("usage: bazel run //ocannl -- ", command->usage,
                             "\n", command->help, "\n"),
                flags, out)) {
    return 0;
  }
  const size_t given = line->positional().size();
  if (given > 1 || given < command->least_arguments) {
    err << "error: " << command->usage << " takes "
        << (command->least_arguments == 0 ? "at most " : "")
        << "one argument, but " << given << " are given; see " << command->name
        << " --help\n";
    return kUsageExitCode;
  }
  absl::Status status = command->run(*line, out);
  if (status.ok()) return 0;
  err << "error: " << status.message() << line->DescribeSettings() << "\n";
  return ExitCodeOfError(status);
}

}  // namespace ocannl
