// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/tool.h"

#include <cstdlib>
#include <iterator>
#include <ostream>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/cli/commands.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/lexer.h"
#include "ocannl/core/base/near_names.h"
#include "ocannl/flags/flags.h"

namespace ocannl {
namespace {

constexpr Command kCommands[] = {
    {"run", "run FILE.cd|FILE.ll|FILE.onnx",
     "runs assignments, a loop program or a model and prints what they write",
     1, kRunFlags | kTierFlags | kPassFlags, RunCommand},
    {"eval", "eval 'EXPR'", "evaluates an expression of the notation", 1,
     kExpressionFlags | kEvalFlags | kTierFlags | kPassFlags, EvalCommand},
    {"explain", "explain 'EXPR'|FILE.cd|FILE.ll|FILE.onnx",
     "prints the stages from expression to code", 1,
     kExpressionFlags | kExplainFlags | kPassFlags, ExplainCommand},
    {"fuzz", "fuzz [FILE.cd|FILE.ll|FILE.onnx]",
     "compares the tiers on random programs, or one program on random inputs",
     0, kFuzzFlags, FuzzCommand},
    {"tune", "tune FILE.cd|FILE.ll|FILE.onnx",
     "searches schedules that are faster than the planner's", 1, kTuneFlags,
     TuneCommand},
    {"onnx", "onnx [FILE.onnx]",
     "lists the contents of a model, or all operators that can be imported", 0,
     0, OnnxCommand},
};

std::string Usage(absl::string_view program) {
  std::string text = absl::StrCat("usage: ", program, " COMMAND ...\n\n");
  for (const Command& command : kCommands) {
    absl::StrAppend(&text, "  ", command.usage, "\n      ", command.help, "\n");
  }
  return text +
         "\nCOMMAND --help tells the flags of a command, `settings` those that "
         "hold for many\nruns, --version the version.\n";
}

// What to write where `args` begin with no command.
std::string CommandFix(absl::Span<const std::string> args) {
  const std::string& name = args[0];
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  names.emplace_back("settings");
  std::vector<std::string> near = NearNames(name, names);
  for (const std::string& other : names) {
    if (absl::StartsWith(name, other)) near.push_back(other);
  }
  if (!near.empty()) return absl::StrCat("did you mean ", near[0], "?");
  if (IsProgramFile(name)) return absl::StrCat("write run ", name);
  if (absl::StartsWith(name, "-v")) return "write --version";
  if (absl::StartsWith(name, "-")) {
    return absl::StrCat("write the command before its flags: eval 'EXPR' ",
                        name);
  }
  return absl::StrCat("there are ", absl::StrJoin(names, ", "),
                      "; an expression is for eval '", absl::StrJoin(args, " "),
                      "'");
}

// A dash of `word` that is none of ASCII, or one alone: -in=x, and what a word
// processor makes of --in=x.
bool IsLikeFlag(absl::string_view word) {
  return word.size() > 1 &&
         (CharacterSize(word) > 1
              ? absl::StrContains(DescribeCharacter(word), "write -")
              : word[0] == '-' && absl::ascii_isalpha(word[1]));
}

// What to write where the command has `words` in the place of one.
std::string ArgumentsFix(const Command& command,
                         const std::vector<std::string>& words,
                         const CommandLine& line,
                         absl::Span<const Flag> flags) {
  if (words.empty()) return absl::StrCat("write ", command.usage);
  for (const std::string& word : words) {
    absl::string_view name = word;
    while (IsLikeFlag(name)) name.remove_prefix(CharacterSize(name));
    const bool is_known = absl::c_any_of(flags, [&](const Flag& flag) {
      return absl::StartsWith(name, absl::StrCat(flag.name, "="));
    });
    if (is_known || name.size() < word.size()) {
      return absl::StrCat("`", word, "` is not a flag; write --", name);
    }
  }
  for (const Flag& flag : flags) {
    if (flag.name != "in") continue;
    for (const std::string& given : line.GetAll("in")) {
      if (absl::StrContains(given, "=")) continue;
      return absl::StrCat("an input is one word: --in=", given, "=", words[1]);
    }
  }
  if (absl::StrContains(command.usage, "EXPR") && !IsProgramFile(words[0])) {
    return absl::StrCat("put the expression into quotes: ", command.name, " '",
                        absl::StrJoin(words, " "), "'");
  }
  return absl::StrCat("leave `", words[1], "` out");
}

}  // namespace

std::string ProgramAsTyped(absl::string_view argument_0) {
  const bool is_of_bazel = std::getenv("BUILD_WORKING_DIRECTORY") != nullptr;
  if (is_of_bazel || argument_0.empty()) return "bazel run //ocannl --";
  return std::string(argument_0);
}

int RunTool(absl::Span<const std::string> args, std::ostream& out,
            std::ostream& err, absl::string_view program) {
  if (args.empty()) {
    err << Usage(program);
    return kUsageExitCode;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    out << Usage(program);
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
        << CommandLine::Help(FlagsOf(kSettingFlags));
    return 0;
  }
  auto command = absl::c_find_if(
      kCommands, [&](const Command& c) { return c.name == args[0]; });
  if (command == std::end(kCommands)) {
    err << "error: no command `" << args[0] << "`; " << CommandFix(args)
        << "\n";
    return kUsageExitCode;
  }
  const std::vector<Flag> flags = FlagsOf(command->flags);
  std::vector<std::string> rest(args.begin() + 1, args.end());
  // As an expression, h would have to be an input.
  if (rest == std::vector<std::string>{"-h"}) rest = {"--help"};
  absl::StatusOr<CommandLine> line = ParseWithSettings(rest, flags);
  if (!line.ok()) {
    err << "error: " << line.status().message() << "\n";
    return kUsageExitCode;
  }
  if (ShowsHelp(*line,
                absl::StrCat("usage: ", program, " ", command->usage, "\n",
                             command->help, "\n"),
                flags, out)) {
    return 0;
  }
  const size_t given = line->positional().size();
  if (given > 1 || given < command->least_arguments) {
    err << "error: " << command->usage << " takes "
        << (command->least_arguments == 0 ? "at most " : "")
        << "one argument, but " << given << " are given; "
        << ArgumentsFix(*command, line->positional(), *line, flags) << "\n";
    return kUsageExitCode;
  }
  absl::Status status = command->run(*line, out);
  if (status.ok()) return 0;
  err << "error: " << status.message() << line->DescribeSettings() << "\n";
  return ExitCodeOfError(status);
}

}  // namespace ocannl
