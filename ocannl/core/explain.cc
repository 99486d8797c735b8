// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/explain.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/common_subexpressions.h"

namespace ocannl {

StageText ExplainShapes(const Graph& graph, const Shapes& shapes,
                        absl::string_view routine) {
  StageText stage{.stage = "shapes",
                  .file_name = absl::StrCat(routine, ".shapes"),
                  .text = ""};
  for (int32_t k = 0; k < graph.size(); ++k) {
    TensorId id{k};
    auto shape = shapes.find(id);
    if (shape == shapes.end()) continue;
    const TensorNode& node = graph[id];
    absl::StrAppend(&stage.text, node.name, " : ", Name(node.dtype), " ",
                    ToString(shapes, id));
    if (node.text != node.name) {
      absl::StrAppend(&stage.text, "    # ", node.text);
    }
    stage.text += "\n";
  }
  return stage;
}

namespace {

// The operations of the longest value, written out: shared ones each time.
double LongestText(const LoopProgram& program) {
  NodeMap<double> sizes;
  double longest = 0;
  WalkStmts(program.body, [&](const Stmt& stmt) {
    const ExprId* value = ValueOf(stmt);
    if (value == nullptr) return;
    const double size =
        VisitOnce<double>(program.exprs, *value, sizes, [&](ExprId id) {
          double operations = 1;
          if (const Apply* apply = std::get_if<Apply>(&program.exprs[id])) {
            for (ExprId arg : apply->args) operations += sizes.at(arg);
          }
          return operations;
        });
    longest = std::max(longest, size);
  });
  return longest;
}

// The text of a stage. Before values that occur again have names, 50 doublings
// of a number are more text than there is memory for.
std::string TextOf(const LoopProgram& program) {
  constexpr double kLongest = 100'000;
  if (LongestText(program) <= kLongest) return Print(program);
  return absl::StrCat(
      "# values that occur again have names here: written out, they are too "
      "long\n",
      Print(EliminateCommonSubexpressions(program)));
}

// Where each array lives of which something is asked, and who asks.
std::string MemoryText(const Assignments& code) {
  std::string text;
  for (const Array& array : code.arrays) {
    if (!array.memory) continue;
    absl::StrAppend(&text, array.name, " : ", Name(array.memory->mode),
                    "    # ", array.memory->why, "\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<Explanation> ExplainCode(const Assignments& code,
                                        const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, LowerToRun(code));
  OCANNL_ASSIGN_OR_RETURN(Explanation explanation,
                          ExplainProgram(program, options));
  if (options.all()) {
    OCANNL_RETURN_IF_ERROR(CheckVirtual(code, explanation.program));
  }
  std::vector<StageText>& stages = explanation.stages;
  stages.insert(
      stages.begin(),
      {{.stage = "cd", .file_name = code.name + ".cd", .text = PrintCd(code)},
       {.stage = "memory",
        .file_name = code.name + ".memory",
        .text = MemoryText(code)},
       {.stage = "unoptimized",
        .file_name = code.name + "-unoptimized.ll",
        .text = TextOf(program)}});
  return explanation;
}

absl::StatusOr<LoopProgram> ProgramWithOrigins(const Assignments& code,
                                               const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Lower(WithOrigins(code)));
  return Optimize(std::move(program), options);
}

absl::StatusOr<StageText> ExplainOrigins(const Assignments& code,
                                         const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program,
                          ProgramWithOrigins(code, options));
  return StageText{.stage = "origins",
                   .file_name = code.name + "-origins.ll",
                   .text = TextOf(program)};
}

absl::StatusOr<Explanation> ExplainProgram(const LoopProgram& program,
                                           const PassOptions& options) {
  std::vector<StageText> stages;
  std::string before = TextOf(program);
  PassOptions observed = options;
  observed.observer = [&](const Pass& pass, const LoopProgram& after) {
    if (options.observer) options.observer(pass, after);
    std::string text = TextOf(after);
    if (text == before) return;
    before = text;
    stages.push_back(
        {.stage = std::string(pass.name),
         .file_name = absl::StrCat(program.name, "-", pass.name, ".ll"),
         .text = std::move(text)});
  };
  OCANNL_ASSIGN_OR_RETURN(LoopProgram optimized, Optimize(program, observed));
  stages.push_back({.stage = "ll",
                    .file_name = program.name + ".ll",
                    .text = std::move(before)});
  return Explanation{.stages = std::move(stages),
                     .program = std::move(optimized)};
}

absl::Status WriteStages(absl::Span<const StageText> stages,
                         const std::string& directory) {
  OCANNL_RETURN_IF_ERROR(MakeDirectory(directory));
  for (const StageText& stage : stages) {
    OCANNL_RETURN_IF_ERROR(WriteFileIn(directory, stage.file_name, stage.text));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
