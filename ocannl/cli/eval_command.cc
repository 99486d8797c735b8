// SPDX-License-Identifier: Apache-2.0
//
// eval 'EXPR': evaluates an expression of the notation.
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ocannl/cli/commands.h"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/cli/expression.h"
#include "ocannl/cli/input.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/npy.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/print_values.h"
#include "ocannl/train/run/run.h"

namespace ocannl {
namespace {

absl::Status Show(const CommandLine& line, const Expression& expression,
                  const Context& context, TensorId id, absl::string_view suffix,
                  std::ostream& out) {
  const TensorNode& node = expression.model.graph[id];
  std::string name = absl::StrCat(node.name, suffix);
  OCANNL_ASSIGN_OR_RETURN(NdArray values, context.Read(name));
  const std::string shape = ToString(expression.model.shapes, id);
  return ShowValues(line, name, absl::StrCat(Name(node.dtype), " ", shape),
                    values, out);
}

}  // namespace

absl::Status MakeOut(const CommandLine& line) {
  const std::string& out = line.GetString("out");
  if (!line.Has("out")) return absl::OkStatus();
  if (absl::EndsWith(out, ".npy")) {
    return UserError("--out=", out, " is a directory, for a NAME.npy of each ",
                     "result; write --out=DIR");
  }
  const absl::Status made = MakeDirectory(UserPath(out));
  if (made.ok()) return made;
  return absl::Status(made.code(),
                      absl::StrCat(made.message(), "; --out is a directory, ",
                                   "which is made; give another name"));
}

absl::Status ShowValues(const CommandLine& line, absl::string_view name,
                        absl::string_view type, const NdArray& values,
                        std::ostream& out) {
  out << name << " : " << type;
  if (!line.Has("out")) {
    out << "\n" << PrintValues(values, "; write them to a file with --out=DIR");
    return absl::OkStatus();
  }
  const std::string& directory = line.GetString("out");
  const std::string file = absl::StrCat(name, ".npy");
  OCANNL_ASSIGN_OR_RETURN(const std::string bytes, FormatNpy(values));
  OCANNL_RETURN_IF_ERROR(WriteFileIn(UserPath(directory), file, bytes));
  out << " is in " << directory << "/" << file << "\n";
  return absl::OkStatus();
}

absl::Status EvalCommand(const CommandLine& line, std::ostream& out) {
  const std::string& text = line.positional()[0];
  if (IsProgramFile(text)) {
    return UserError("`", text, "` is a program; write run ", text);
  }
  OCANNL_RETURN_IF_ERROR(MakeOut(line));
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_ASSIGN_OR_RETURN(PassOptions options, PassOptionsOf(line));
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Expression> expression,
                          BuildExpression(line, text));
  OCANNL_RETURN_IF_ERROR(WriteExplainedOfRun(
      line, out, [&] { return ExplainExpression(*expression, options); }));
  Device device("host", backend);
  Stream stream(&device);
  Context context(&stream);
  for (const auto& [name, values] : expression->values) {
    OCANNL_RETURN_IF_ERROR(context.Write(name, values));
  }
  train::Model& model = expression->model;
  OCANNL_ASSIGN_OR_RETURN(
      const Context started,
      train::RunInit(model, {&model.graph, expression->result}, {}, context));
  OCANNL_ASSIGN_OR_RETURN(Routine routine,
                          ToRoutine(started, expression->code, options));
  OCANNL_RETURN_IF_ERROR(SetStatics(line, routine));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  ReportTier(line, stream);
  OCANNL_RETURN_IF_ERROR(
      Show(line, *expression, routine.context(), expression->result, "", out));
  for (TensorId id : expression->gradients_of) {
    OCANNL_RETURN_IF_ERROR(
        Show(line, *expression, routine.context(), id, ".grad", out));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
