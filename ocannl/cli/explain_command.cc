// SPDX-License-Identifier: Apache-2.0
//
// explain 'EXPR', FILE.cd, FILE.ll or FILE.onnx: prints the stages on the way
// to code.
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "ocannl/cli/commands.h"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/cli/expression.h"
#include "ocannl/cli/input.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/gpu/one_block.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/tiering/cost/work.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/cuda/launch_forecast.h"
#include "ocannl/cuda/nvrtc.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl {
namespace {

using jit::Isa;

// What makers of stages (flags/stages.def) read, and the stages made so far.
struct StagesRequest {
  const CommandLine& line;
  const PassOptions& options;
  std::vector<std::string> skip = {};       // passes of machine code
  std::optional<Isa> isa = ExplainedIsa();  // none: the target is a GPU
  std::string gpu = "sm_90";                // its architecture
  Explanation explanation = {};
  std::optional<Assignments> code = std::nullopt;  // none: of FILE.ll
  std::optional<gpu::GpuSchedule> gpu_schedule = std::nullopt;  // if planned

  const LoopProgram& program() const { return explanation.program; }
  const gpu::GpuTarget& gpu_target() const { return *gpu::FindGpuTarget(gpu); }

  // With comments that tell which lines of .cd its nests come from.
  absl::StatusOr<LoopProgram> Origins() const {
    return code ? ProgramWithOrigins(*code, options) : program();
  }

  absl::Status Add(absl::StatusOr<StageText> stage) {
    if (stage.ok()) explanation.stages.push_back(*std::move(stage));
    return stage.status();
  }
  absl::Status Add(absl::StatusOr<std::vector<StageText>> stages) {
    if (stages.ok()) {
      absl::c_move(*stages, std::back_inserter(explanation.stages));
    }
    return stages.status();
  }
};

absl::Status AddWork(StagesRequest& request) {
  const LoopProgram& program = request.program();
  return request.Add(
      StageText{"work", program.name + "-work.txt", PrintWork(program)});
}

absl::Status AddOrigins(StagesRequest& request) {
  if (!request.code) return absl::OkStatus();
  return request.Add(ExplainOrigins(*request.code, request.options));
}

absl::Status PlanGpu(StagesRequest& request) {
  if (request.gpu_schedule) return absl::OkStatus();
  std::vector<Refusal> refused;
  request.gpu_schedule = gpu::PlanGpu(request.program(), request.gpu_target(),
                                      {.refused = &refused});
  AddComments(refused, request.gpu_schedule->program);
  return gpu::VerifyKernels(request.gpu_schedule->program);
}

// What `kExplain` says for a processor; GPUs have stages of their own.
template <auto kExplain>
absl::Status AddOfProcessor(StagesRequest& request) {
  if (!request.isa) return absl::OkStatus();
  return request.Add(kExplain(request.program(), *request.isa, request.skip));
}

absl::Status AddScript(StagesRequest& request) {
  if (!request.isa) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram origins, request.Origins());
  return request.Add(jit::ExplainScript(request.program(), origins,
                                        *request.isa, request.skip));
}

// Of a GPU, also the script.
absl::Status AddSchedule(StagesRequest& request) {
  if (request.isa) return AddOfProcessor<jit::ExplainSchedule>(request);
  const LoopProgram& program = request.program();
  OCANNL_RETURN_IF_ERROR(PlanGpu(request));
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram origins, request.Origins());
  return request.Add(std::vector<StageText>{
      {.stage = "schedule",
       .file_name = program.name + "-schedule.ll",
       .text = Print(request.gpu_schedule->program)},
      {.stage = "script",
       .file_name = program.name + ".rewrite",
       .text = rewrite::Print(request.gpu_schedule->script, origins)}});
}

absl::Status AddCuda(StagesRequest& request) {
  OCANNL_RETURN_IF_ERROR(PlanGpu(request));
  const LoopProgram& scheduled = request.gpu_schedule->program;
  const cuda::KernelText kernels = cuda::WriteKernels(scheduled);
  return request.Add(
      StageText{.stage = "cuda",
                .file_name = request.program().name + ".cu",
                .text = absl::StrCat(cuda::SourceOf(kernels.functions), "\n",
                                     cuda::PrintCalls(scheduled, kernels))});
}

// What the kernels would take on an H200.
absl::Status AddLaunches(StagesRequest& request) {
  OCANNL_RETURN_IF_ERROR(PlanGpu(request));
  return request.Add(
      StageText{.stage = "launches",
                .file_name = request.program().name + "-launches.txt",
                .text = cuda::PrintLaunches(
                    cuda::ForecastLaunches(request.gpu_schedule->program))});
}

absl::Status AddPtx(StagesRequest& request) {
  OCANNL_RETURN_IF_ERROR(PlanGpu(request));
  const std::string& name = request.program().name;
  const std::string text = cuda::SourceOf(
      cuda::WriteKernels(request.gpu_schedule->program).functions);
  OCANNL_ASSIGN_OR_RETURN(
      const cuda::Nvrtc nvrtc,
      cuda::Nvrtc::Open(request.line.GetString("cuda_home")));
  OCANNL_ASSIGN_OR_RETURN(const cuda::Nvrtc::Code code,
                          nvrtc.Compile(text, name, request.gpu));
  return request.Add(StageText{
      .stage = "ptx",
      .file_name = name + ".ptx",
      .text = absl::StrCat(code.ptx, "\n// ",
                           absl::StrReplaceAll(code.log, {{"\n", "\n// "}}),
                           "\n")});
}

// The kernel that repeats a small program.
absl::Status AddPersistent(StagesRequest& request) {
  const LoopProgram& program = request.program();
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram block,
                          gpu::ScheduleOneBlock(program, request.gpu_target()));
  return request.Add(StageText{
      .stage = "persistent",
      .file_name = program.name + "-persistent.cu",
      .text = cuda::SourceOf(cuda::WritePersistentKernel(block).functions)});
}

using StageNames = std::vector<absl::string_view>;

template <class Passes>
StageNames NamesOf(const Passes& passes) {
  StageNames names;
  for (const auto& pass : passes) names.push_back(pass.name);
  return names;
}

// A row of stages.def.
struct Stage {
  enum When { kInAll, kOnRequest };
  enum Target { kAny, kProcessor, kGpu };

  bool Has(absl::string_view stage) const {
    return name == stage || absl::c_linear_search(passes, stage);
  }

  absl::string_view name;  // empty: the names are those of passes
  StageNames passes;
  When when;
  Target target;
  absl::Status (*add)(StagesRequest&);
};

const std::vector<Stage>& AllStages() {
  static const auto* stages = new std::vector<Stage>{
#define STAGE(name, when, target, maker) \
  {#name, {}, Stage::when, Stage::target, maker},
#define PASSES(names, help, when, target, maker) \
  {"", names, Stage::when, Stage::target, maker},
#include "ocannl/flags/stages.def"
#undef STAGE
#undef PASSES
  };
  return *stages;
}

absl::Status ReadTarget(const CommandLine& line, StagesRequest& request) {
  const bool has_isa = line.Has("isa");
  if (has_isa && line.Has("target")) {
    return UserError("--isa and --target say the same; give one of them");
  }
  const std::string flag = has_isa ? "isa" : "target";
  const std::string& name = line.GetString(flag);
  if (name.empty()) return absl::OkStatus();
  const std::string& wanted = line.GetString("stage");
  const bool is_gpu = gpu::FindGpuTarget(name) != nullptr;
  const auto other = is_gpu ? Stage::kProcessor : Stage::kGpu;
  if (absl::c_any_of(AllStages(), [&](const Stage& stage) {
        return stage.Has(wanted) && stage.target == other;
      })) {
    return UserError(
        "--stage=", wanted, " is not of --", flag, "=", name,
        "; give --target=", is_gpu ? jit::IsaNames(" or ") : "sm_80 or sm_90",
        ", or another stage");
  }
  for (Isa isa : jit::kIsas) {
    if (name != jit::Name(isa)) continue;
    request.isa = isa;
    return absl::OkStatus();
  }
  if (!has_isa && is_gpu) {
    request.isa = std::nullopt;
    request.gpu = name;
    return absl::OkStatus();
  }
  return UserError("--", flag, "=", name, ": give ",
                   jit::IsaNames(has_isa ? " or " : ", "),
                   has_isa ? "" : ", sm_80 or sm_90");
}

// Adds those of --stage=all, and the one that is asked for.
absl::Status AddStages(StagesRequest& request) {
  const std::string& wanted = request.line.GetString("stage");
  decltype(Stage::add) add = nullptr;
  for (const Stage& stage : AllStages()) {
    if (stage.add == nullptr) continue;
    if (stage.when == Stage::kInAll) {
      OCANNL_RETURN_IF_ERROR(stage.add(request));
    } else if (stage.Has(wanted)) {
      add = stage.add;
    }
  }
  return add == nullptr ? absl::OkStatus() : add(request);
}

absl::Status AddFirstStages(StagesRequest& request) {
  const CommandLine& line = request.line;
  const std::string& what = line.positional()[0];
  Explanation& explanation = request.explanation;
  if (IsProgramFile(what)) {
    for (const Flag& flag : FlagsOf(kExpressionFlags)) {
      if (!line.Has(flag.name)) continue;
      return UserError("--", flag.name, " is for expressions, but ", what,
                       " is a program");
    }
    OCANNL_ASSIGN_OR_RETURN(ProgramFile file, ReadProgram(line, what));
    OCANNL_ASSIGN_OR_RETURN(explanation, ExplainFile(file, request.options));
    request.code = std::move(file.code);
  } else {
    OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Expression> expression,
                            BuildExpression(line, what));
    OCANNL_ASSIGN_OR_RETURN(explanation,
                            ExplainExpression(*expression, request.options));
    request.code = std::move(expression->code);
  }
  return ExplainRewritten(line, explanation);
}

// The rows of its tensor, and what that is: "5|3, w * x".
std::string Remark(const train::Model& model, const Array& array) {
  constexpr absl::string_view kGradient = ".grad";
  absl::string_view name = array.name;
  const bool is_gradient = absl::ConsumeSuffix(&name, kGradient);
  const std::optional<TensorId> id = model.graph.Find(name);
  if (!id) return "";
  const TensorNode& node = model.graph[*id];
  const std::string rows = ToString(model.shapes, *id);
  if (is_gradient || node.text == node.name) return rows;
  return absl::StrCat(rows, rows.empty() ? "" : ", ", node.text);
}

// `ran` has the passes over loops that did.
absl::Status UnknownStage(const std::string& wanted,
                          const std::vector<StageText>& stages,
                          const std::vector<absl::string_view>& ran) {
  const bool is_pass = absl::c_any_of(AllStages(), [&](const Stage& stage) {
    return absl::c_linear_search(stage.passes, wanted);
  });
  std::vector<absl::string_view> here;
  for (const StageText& stage : stages) here.push_back(stage.stage);
  for (const Stage& stage : AllStages()) {
    if (stage.when == Stage::kOnRequest && !stage.name.empty()) {
      here.push_back(stage.name);
    }
  }
  return UserError(
      "--stage=", wanted,
      absl::c_linear_search(ran, wanted) ? " changed nothing"
      : is_pass
          ? " was not run, as --passes, --skip, --stop_after, --limit and "
            "--real have it"
      : wanted == "rewritten" ? " is what --rewrite makes; give that, too"
                              : " is no stage of this",
      "; the stages here are ", absl::StrJoin(here, ", "));
}

}  // namespace

absl::StatusOr<Explanation> ExplainExpression(const Expression& expression,
                                              const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(Explanation explanation,
                          ExplainCode(expression.code, options));
  auto cd = absl::c_find_if(explanation.stages, [](const StageText& stage) {
    return stage.stage == "cd";
  });
  cd->text = PrintCd(expression.code, [&](const Array& array) {
    return Remark(expression.model, array);
  });
  explanation.stages.insert(
      explanation.stages.begin(),
      ExplainShapes(expression.model.graph, expression.model.shapes,
                    expression.code.name));
  return explanation;
}

absl::StatusOr<Explanation> ExplainFile(const ProgramFile& file,
                                        const PassOptions& options) {
  return file.code ? ExplainCode(*file.code, options)
                   : ExplainProgram(file.program, options);
}

absl::StatusOr<LoopProgram> Rewritten(std::string script, LoopProgram program) {
  std::string what = "--rewrite";
  if (!script.empty()) {
    absl::StatusOr<std::string> file = ReadText(UserPath(script));
    // Nearly all rewrites have arguments, and so blanks.
    if (!file.ok() && script.find(' ') == std::string::npos) {
      if (script.find_first_of("./") != script.npos) return file.status();
      absl::StrAppend(&what, "=", script, " is no file, and as a rewrite");
    }
    if (file.ok()) script = *std::move(file);
  }
  absl::StatusOr<LoopProgram> rewritten =
      rewrite::RunScript(std::move(program), script);
  if (rewritten.ok()) return rewritten;
  return UserError(what, ", ", rewritten.status().message());
}

absl::Status ExplainRewritten(const CommandLine& line,
                              Explanation& explanation) {
  const std::vector<std::string> scripts = line.GetAll("rewrite");
  if (scripts.empty()) return absl::OkStatus();
  if (scripts.size() > 1) {
    return UserError("--rewrite is given ", scripts.size(),
                     " times, but one program is explained; `run FILE.ll "
                     "--time` compares several");
  }
  LoopProgram& program = explanation.program;
  OCANNL_ASSIGN_OR_RETURN(program, Rewritten(scripts[0], std::move(program)));
  explanation.stages.push_back({.stage = "rewritten",
                                .file_name = program.name + "-rewritten.ll",
                                .text = Print(program)});
  return absl::OkStatus();
}

absl::Status ExplainCommand(const CommandLine& line, std::ostream& out) {
  OCANNL_ASSIGN_OR_RETURN(PassOptions options, PassOptionsOf(line));
  StageNames ran;
  options.observer = [&](const Pass& pass, const LoopProgram&) {
    ran.push_back(pass.name);
  };
  StagesRequest request{.line = line, .options = options};
  OCANNL_RETURN_IF_ERROR(ReadTarget(line, request));
  OCANNL_ASSIGN_OR_RETURN(request.skip, SkippedCodePasses(line));
  OCANNL_RETURN_IF_ERROR(AddFirstStages(request));
  if (line.Has("explain")) {
    // Whoever names no stage has them all in the directory.
    std::ostringstream none;
    StagesRequest files = request;
    if (!files.isa) {
      OCANNL_RETURN_IF_ERROR(AddSchedule(files));
      OCANNL_RETURN_IF_ERROR(AddCuda(files));
    }
    OCANNL_RETURN_IF_ERROR(WriteExplained(line, std::move(files.explanation),
                                          line.Has("stage") ? none : out,
                                          files.isa));
    if (!line.Has("stage")) return absl::OkStatus();
  }
  OCANNL_RETURN_IF_ERROR(AddStages(request));
  const std::vector<StageText>& stages = request.explanation.stages;
  const std::string& wanted = line.GetString("stage");
  if (wanted == "all") {
    for (const StageText& stage : stages) {
      out << "==== " << stage.file_name << "\n" << stage.text;
    }
    return absl::OkStatus();
  }
  auto found = absl::c_find_if(
      stages, [&](const StageText& stage) { return stage.stage == wanted; });
  if (found == stages.end()) return UnknownStage(wanted, stages, ran);
  out << found->text;
  return absl::OkStatus();
}

}  // namespace ocannl
