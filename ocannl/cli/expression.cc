// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/expression.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/cli/input.h"
#include "ocannl/cli/program_file.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/memory_mode.h"

namespace ocannl {
namespace {

constexpr SourceLocation kPlace = {.file = "command line", .line = 1};

absl::StatusOr<ParsedTensor> Parsed(Graph& graph, absl::string_view text,
                                    const Names& names) {
  absl::StatusOr<ParsedTensor> parsed = ParseTensor(graph, text, names, kPlace);
  if (!parsed.ok()) return WithSource(parsed.status(), text);
  return parsed;
}

absl::Status CheckNew(absl::string_view flag, const std::string& name,
                      const Names& names) {
  if (!names.tensors.contains(name) && !names.statics.contains(name)) {
    return absl::OkStatus();
  }
  return UserError("--", flag, "=", name, "=...: the name `", name,
                   "` is given twice; choose another one");
}

absl::StatusOr<DType> DefaultDType(const CommandLine& line) {
  const std::string name = line.GetString("dtype");
  const std::optional<DType> dtype = FindDType(name);
  if (dtype && IsFloat(ComputeDType(*dtype))) return *dtype;
  return UserError("--dtype=", name,
                   " is no float; write f32, f64, f16, bf16, f8e4m3 or ",
                   "f8e5m2");
}

absl::Status AddStatics(const CommandLine& line, Graph& graph, Names& names) {
  for (const std::string& text : line.GetAll("range")) {
    std::string name;
    std::string value;
    OCANNL_RETURN_IF_ERROR(SplitAssignment("range", text, name, value));
    int64_t range;
    if (!absl::SimpleAtoi(value, &range) || range < 1) {
      return UserError("--range=", text, ": `", value,
                       "` is not a number of values; write ", "--range=", name,
                       "=N, with N at least 1");
    }
    OCANNL_RETURN_IF_ERROR(CheckNew("range", name, names));
    names.statics.emplace(name, graph.AddStatic(name, range));
  }
  return absl::OkStatus();
}

absl::Status NoShape(const InputFlag& input) {
  OCANNL_RETURN_IF_ERROR(CheckNoOtherFile(input));
  const std::string flag = absl::StrCat("--in=", input.name, "=");
  const std::string& source = input.source;
  const bool is_numbers =
      !source.empty() &&
      source.find_first_not_of("0123456789.+-eE, ") == std::string::npos;
  const auto count = 1 + absl::c_count(source, ',');
  std::string fix = absl::StrCat("add one, such as ", flag, "range:2,3");
  if (absl::StartsWith(source, "range(")) {
    fix = "write range:3 for 3 cells";
  } else if (!is_numbers && !absl::StartsWith(source, "range")) {
    return UserError(flag, source,
                     " is neither a .npy file nor numbers; write ", flag,
                     "FILE.npy, ", flag, "range:2,3 or ", flag, "[1,2,3]");
  }
  if (is_numbers) {
    fix = absl::StrCat(
        "write ", flag, source, ":", count, " or ", flag, "[", source, "]",
        count > 1 ? "" : absl::StrCat(", or ", flag, source, ": for a number"));
  }
  return UserError(flag, source, " has no shape; ", fix);
}

// The values of `input` in the shape it asks for; without one, a file's axes
// are output axes.
absl::StatusOr<std::pair<NdArray, Shape>> ShapedInput(const InputFlag& input) {
  const bool is_file = absl::EndsWith(input.source, ".npy");
  if (!is_file && !input.shape) return NoShape(input);
  OCANNL_ASSIGN_OR_RETURN(NdArray values, LoadInput(input, DType::kF32, {}));
  Shape shape;
  shape[RowKind::kOutput] = values.dims();
  if (input.shape) shape = *input.shape;
  return std::make_pair(std::move(values), shape);
}

// Error: an input or an index that is no word of `text` or of a --let, outside
// of einsums.
absl::Status CheckAreUsed(const CommandLine& line, absl::string_view text) {
  std::string words =
      absl::StrCat(absl::StrJoin(line.GetAll("let"), " "), " ", text);
  bool is_quoted = false;
  for (char& c : words) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted || (!absl::ascii_isalnum(c) && c != '_')) c = ' ';
  }
  absl::flat_hash_set<std::string> used = absl::StrSplit(words, ' ');
  // Random numbers may read the step (initializer.h).
  for (const char* step : {"step", "step_n"}) {
    const bool is_random = absl::StrContains(words, "uniform") ||
                           absl::StrContains(words, "normal");
    if (is_random) used.insert(step);
  }
  for (const char* flag : {"in", "range"}) {
    for (const std::string& given : line.GetAll(flag)) {
      const std::string name = given.substr(0, given.find_first_of(".="));
      if (used.contains(name)) continue;
      return UserError("--", flag, "=", given,
                       ": the expression does not read `", name,
                       "`; leave it out");
    }
  }
  return absl::OkStatus();
}

// Error: a name in quotes, which the host writes, and no input of that name.
absl::Status CheckAreGiven(const Graph& graph) {
  for (TensorId id{0}; id.index < graph.size(); ++id.index) {
    const TensorNode& node = graph[id];
    const auto* param = std::get_if<ParamSource>(&node.source);
    if (param == nullptr || param->has_init() || node.has_gradient) continue;
    return UserError("\"", node.name,
                     "\" in quotes is an array from outside, which ",
                     "is not given; add --in=", node.name,
                     "=...:SHAPE; a text is ", "no value");
  }
  return absl::OkStatus();
}

absl::Status AddInputs(const CommandLine& line, Expression& expression,
                       Names& names) {
  Graph& graph = expression.model.graph;
  std::vector<std::string> wanted = line.GetAll("grad");
  for (const std::string& text : line.GetAll("in")) {
    OCANNL_ASSIGN_OR_RETURN(InputFlag input, ParseInput(text));
    OCANNL_RETURN_IF_ERROR(CheckNew("in", input.name, names));
    OCANNL_ASSIGN_OR_RETURN(auto shaped, ShapedInput(input));
    ShapeSpec rows = SpecOf(shaped.second);
    rows.bases = input.bases;
    bool differentiated = absl::c_linear_search(wanted, input.name);
    if (!differentiated) {
      names.tensors.emplace(
          input.name,
          Data(graph, input.name, std::move(shaped.first), rows, kPlace));
      continue;
    }
    if (!shaped.second[RowKind::kBatch].empty()) {
      return UserError("--grad=", input.name, ": an input with batch axes has ",
                       "no gradient; give them as output axes");
    }
    names.tensors.emplace(
        input.name,
        Param(graph, input.name, rows, shaped.first.dtype(), nullptr, kPlace));
    expression.values.emplace_back(input.name, std::move(shaped.first));
  }
  return absl::OkStatus();
}

// What the graph calls `name`, which may have ".grad" behind it.
std::string NameInGraph(const Expression& expression, absl::string_view name) {
  const absl::string_view tensor = absl::StripSuffix(name, ".grad");
  const auto other = expression.other_names.find(std::string(tensor));
  if (other == expression.other_names.end()) return std::string(name);
  return absl::StrCat(other->second, name.substr(tensor.size()));
}

// What --memory asks of values, or of gradients in `expression`.code.
absl::Status AskForMemory(const CommandLine& line, bool of_gradients,
                          Expression& expression) {
  Graph& graph = expression.model.graph;
  for (const std::string& text : line.GetAll("memory")) {
    MemoryRequest request{.mode = {}, .why = absl::StrCat("--memory=", text)};
    std::string name;
    std::string mode;
    OCANNL_RETURN_IF_ERROR(SplitAssignment("memory", text, name, mode));
    if (absl::EndsWith(name, ".grad") != of_gradients) continue;
    name = NameInGraph(expression, name);
    OCANNL_ASSIGN_OR_RETURN(request.mode, FindMemoryMode(mode));
    const std::optional<TensorId> id = graph.Find(name);
    if (id) {
      OCANNL_RETURN_IF_ERROR(graph.SetMemoryMode(*id, request));
      continue;
    }
    const absl::Status asked = SetMemoryMode(expression.code, name, request);
    if (!absl::IsNotFound(asked)) {
      OCANNL_RETURN_IF_ERROR(asked);
      continue;
    }
    return UserError(
        "--memory=", text, ": there is no tensor `", name, "`; ",
        of_gradients && !line.Has("grad")
            ? "add --grad=NAME: there are no gradients without it"
            : "name an input, a parameter, a --let, or the .grad of one");
  }
  return absl::OkStatus();
}

absl::Status MakeCode(const CommandLine& line, Expression& expression) {
  train::Model& model = expression.model;
  Tensor result{&model.graph, expression.result};
  if (!line.Has("grad")) {
    OCANNL_ASSIGN_OR_RETURN(expression.code, train::Forward(model, result));
    return absl::OkStatus();
  }
  for (const std::string& name : line.GetAll("grad")) {
    if (model.graph.Find(NameInGraph(expression, name))) continue;
    return UserError("--grad=", name, ": there is no tensor `", name,
                     "`; name an input, a parameter or a --let");
  }
  OCANNL_ASSIGN_OR_RETURN(expression.code,
                          train::GradUpdateOfSum(model, result));
  for (const std::string& given : line.GetAll("grad")) {
    const std::string name = NameInGraph(expression, given);
    const absl::Status kept =
        Keep(expression.code, absl::StrCat(name, ".grad"), kPlace);
    if (absl::IsNotFound(kept)) {
      return UserError(
          "--grad=", given,
          ": the expression has no gradient with respect to `", name, "`; ",
          name == given ? absl::StrCat("leave the flag out, or use `", name,
                                       "` in the expression")
                        : absl::StrCat("write --grad=", name));
    }
    OCANNL_RETURN_IF_ERROR(kept);
    const TensorId id = *model.graph.Find(name);
    if (absl::c_linear_search(expression.gradients_of, id)) {
      return UserError("--grad=", given, ": `", name, "` is given twice");
    }
    expression.gradients_of.push_back(id);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Expression>> BuildExpression(
    const CommandLine& line, const std::string& text) {
  auto expression = std::make_unique<Expression>();
  Graph& graph = expression->model.graph;
  Names names;
  names.fixes = {.tensor =
                     "give --in=$0=...:SHAPE or --let=$0=EXPR, or "
                     "declare a parameter: {$0}",
                 .function = "ocannl/NOTATION.md lists the functions",
                 .static_index = "give --range=$0=N",
                 .number = "write the number itself"};
  OCANNL_ASSIGN_OR_RETURN(const DType dtype, DefaultDType(line));
  graph.set_default_dtype(dtype);
  OCANNL_RETURN_IF_ERROR(AddStatics(line, graph, names));
  OCANNL_RETURN_IF_ERROR(AddInputs(line, *expression, names));
  for (const std::string& let : line.GetAll("let")) {
    std::string name;
    std::string value;
    OCANNL_RETURN_IF_ERROR(SplitAssignment("let", let, name, value));
    OCANNL_RETURN_IF_ERROR(CheckNew("let", name, names));
    OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed, Parsed(graph, value, names));
    for (Tensor p : parsed.parameters) names.tensors.emplace(p.node().name, p);
    const bool has_name = parsed.tensor.node().named;
    if (has_name) expression->other_names[name] = parsed.tensor.node().name;
    names.tensors.emplace(
        name, has_name ? parsed.tensor : Named(parsed.tensor, name));
  }
  OCANNL_ASSIGN_OR_RETURN(ParsedTensor parsed, Parsed(graph, text, names));
  OCANNL_RETURN_IF_ERROR(CheckAreGiven(graph));
  Tensor result = parsed.tensor;
  bool leaf = OperandsOf(result.node().source).empty();
  if (!leaf && !result.node().named) result = Named(result, "result");
  expression->result = result.id;
  OCANNL_RETURN_IF_ERROR(AskForMemory(line, false, *expression));
  OCANNL_RETURN_IF_ERROR(MakeCode(line, *expression));
  OCANNL_RETURN_IF_ERROR(CheckAreUsed(line, text));
  OCANNL_RETURN_IF_ERROR(AskForMemory(line, true, *expression));
  return expression;
}

}  // namespace ocannl
