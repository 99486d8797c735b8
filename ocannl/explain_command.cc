// SPDX-License-Identifier: Apache-2.0
//
// explain 'EXPR' or FILE.ll: prints every stage on the way to code.
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/commands.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/explain.h"
#include "ocannl/expression.h"
#include "ocannl/input.h"
#include "ocannl/pass_flags.h"

namespace ocannl {
namespace {

absl::StatusOr<std::vector<StageText>> Stages(const CommandLine& line,
                                              const PassOptions& options) {
  const std::string& what = line.positional()[0];
  if (absl::EndsWith(what, ".ll")) {
    for (const Flag& flag : ExpressionFlags()) {
      if (!line.Has(flag.name)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag.name, " is for expressions, but ", what, " is a program"));
    }
    OCANNL_ASSIGN_OR_RETURN(LoopProgram program, ReadProgram(what));
    return ExplainProgram(program, options);
  }
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Expression> expression,
                          BuildExpression(line, what));
  OCANNL_ASSIGN_OR_RETURN(std::vector<StageText> stages,
                          ExplainCode(expression->code, options));
  stages.insert(stages.begin(),
                ExplainShapes(expression->model.graph, expression->model.shapes,
                              expression->code.name));
  return stages;
}

}  // namespace

const std::vector<Flag>& ExplainFlags() {
  static const auto* flags = [] {
    auto* all = new std::vector<Flag>(ExpressionFlags());
    all->push_back(
        {"stage", "all", "shapes, cd, unoptimized, ll, a pass's name, or all"});
    all->push_back({"out", "", "a directory for the stages, a file each"});
    all->insert(all->end(), PassFlags().begin(), PassFlags().end());
    return all;
  }();
  return *flags;
}

absl::Status ExplainCommand(const CommandLine& line, std::ostream& out) {
  OCANNL_ASSIGN_OR_RETURN(PassOptions options, PassOptionsOf(line));
  OCANNL_ASSIGN_OR_RETURN(std::vector<StageText> stages, Stages(line, options));
  if (line.Has("out")) {
    OCANNL_RETURN_IF_ERROR(
        WriteStages(stages, UserPath(line.GetString("out"))));
  }
  const std::string& wanted = line.GetString("stage");
  if (wanted == "all") {
    for (const StageText& stage : stages) {
      out << "==== " << stage.file_name << "\n" << stage.text;
    }
    return absl::OkStatus();
  }
  auto found = absl::c_find_if(
      stages, [&](const StageText& stage) { return stage.stage == wanted; });
  if (found == stages.end()) {
    bool pass = absl::c_any_of(Passes(),
                               [&](const Pass& p) { return p.name == wanted; });
    return absl::InvalidArgumentError(absl::StrCat(
        "--stage=", wanted, pass ? " changed nothing" : " is no stage of this",
        "; the stages here are ",
        absl::StrJoin(stages, ", ",
                      [](std::string* text, const StageText& stage) {
                        absl::StrAppend(text, stage.stage);
                      })));
  }
  out << found->text;
  return absl::OkStatus();
}

}  // namespace ocannl
