// SPDX-License-Identifier: Apache-2.0
//
// explain 'EXPR', FILE.cd or FILE.ll: prints the stages on the way to code.
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
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/gpu/one_block.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/cuda/nvrtc.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/pass_options.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl {
namespace {

using jit::Isa;

// Adds "origins" where it is wanted.
absl::StatusOr<Explanation> WithOrigins(
    const CommandLine& line, const Assignments& code,
    const PassOptions& options, absl::StatusOr<Explanation> explanation) {
  if (!explanation.ok() || line.GetString("stage") != "origins") {
    return explanation;
  }
  OCANNL_ASSIGN_OR_RETURN(explanation->stages.emplace_back(),
                          ExplainOrigins(code, options));
  return explanation;
}

absl::StatusOr<Explanation> ExplainFileOrExpression(
    const CommandLine& line, const PassOptions& options) {
  const std::string& what = line.positional()[0];
  if (IsProgramFile(what)) {
    for (const Flag& flag : FlagsOf(kExpressionFlags)) {
      if (!line.Has(flag.name)) continue;
      return Wrong("--", flag.name, " is for expressions, but ", what,
                   " is a program");
    }
    OCANNL_ASSIGN_OR_RETURN(const ProgramFile file, ReadProgram(what));
    if (!file.code) return ExplainFile(file, options);
    return WithOrigins(line, *file.code, options, ExplainFile(file, options));
  }
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Expression> expression,
                          BuildExpression(line, what));
  return WithOrigins(line, expression->code, options,
                     ExplainExpression(*expression, options));
}

bool IsOfGpu(absl::string_view stage) {
  return stage == "cuda" || stage == "ptx" || stage == "persistent";
}

bool IsOfVcode(absl::string_view stage) {
  return stage == "vcode" || stage == "select" ||
         absl::c_any_of(jit::VcodePasses(), [&](const jit::VcodePass& pass) {
           return pass.name == stage;
         });
}

bool IsOfProcessor(absl::string_view stage) {
  return stage == "x86" || stage == "instruction_mix" || IsOfVcode(stage) ||
         absl::c_linear_search(SchedulePasses(), stage);
}

// What schedules are for.
struct ExplainedTarget {
  std::optional<Isa> isa;  // none: a GPU
  std::string gpu = "";    // then: "sm_90"
};

absl::StatusOr<ExplainedTarget> TargetOf(const CommandLine& line) {
  const bool has_isa = line.Has("isa");
  if (has_isa && line.Has("target")) {
    return absl::InvalidArgumentError(
        "--isa and --target say the same; give one of them");
  }
  const std::string flag = has_isa ? "isa" : "target";
  const std::string& name = line.GetString(flag);
  if (name.empty()) return ExplainedTarget{ExplainedIsa()};
  const std::string& stage = line.GetString("stage");
  const bool is_gpu = gpu::FindGpuTarget(name) != nullptr;
  if (is_gpu ? IsOfProcessor(stage) : IsOfGpu(stage)) {
    return Wrong(
        "--stage=", stage, " is not of --", flag, "=", name,
        "; give --target=", is_gpu ? jit::IsaNames(" or ") : "sm_80 or sm_90",
        ", or another stage");
  }
  for (Isa isa : jit::kIsas) {
    if (name == jit::Name(isa)) return ExplainedTarget{isa};
  }
  if (!has_isa && is_gpu) return ExplainedTarget{std::nullopt, name};
  return Wrong("--", flag, "=", name, ": give ",
               jit::IsaNames(has_isa ? " or " : ", "),
               has_isa ? "" : ", sm_80 or sm_90");
}

// The kernel that repeats a small program.
absl::Status AddPersistentStage(const LoopProgram& program,
                                const gpu::GpuTarget& target,
                                std::vector<StageText>& stages) {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram block,
                          gpu::ScheduleOneBlock(program, target));
  stages.push_back(
      {.stage = "persistent",
       .file_name = program.name + "-persistent.cu",
       .text = cuda::SourceOf(cuda::WritePersistentKernel(block).functions)});
  return absl::OkStatus();
}

absl::Status AddGpuStages(const CommandLine& line, const LoopProgram& program,
                          const std::string& target, absl::string_view stage,
                          std::vector<StageText>& stages) {
  const std::string architecture = target.empty() ? "sm_90" : target;
  const gpu::GpuTarget& gpu = *gpu::FindGpuTarget(architecture);
  std::vector<Refusal> refused;
  gpu::GpuSchedule schedule = gpu::PlanGpu(program, gpu, {.refused = &refused});
  AddComments(refused, schedule.program);
  OCANNL_RETURN_IF_ERROR(gpu::VerifyKernels(schedule.program));
  if (!target.empty()) {
    stages.push_back({.stage = "schedule",
                      .file_name = program.name + "-schedule.ll",
                      .text = Print(schedule.program)});
    stages.push_back({.stage = "script",
                      .file_name = program.name + ".rewrite",
                      .text = schedule.script});
  }
  if (stage == "persistent") return AddPersistentStage(program, gpu, stages);
  if (stage != "cuda" && stage != "ptx") return absl::OkStatus();
  const cuda::KernelText kernels = cuda::WriteKernels(schedule.program);
  const std::string text = cuda::SourceOf(kernels.functions);
  stages.push_back(
      {.stage = "cuda",
       .file_name = program.name + ".cu",
       .text = absl::StrCat(text, "\n",
                            cuda::PrintCalls(schedule.program, kernels))});
  if (stage == "cuda") return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const cuda::Nvrtc nvrtc,
                          cuda::Nvrtc::Open(line.GetString("cuda_home")));
  OCANNL_ASSIGN_OR_RETURN(const cuda::Nvrtc::Code code,
                          nvrtc.Compile(text, program.name, architecture));
  stages.push_back(
      {.stage = "ptx",
       .file_name = program.name + ".ptx",
       .text = absl::StrCat(code.ptx, "\n// ",
                            absl::StrReplaceAll(code.log, {{"\n", "\n// "}}),
                            "\n")});
  return absl::OkStatus();
}

// All stages, but VCode and machine code only where they are wanted: they are
// long.
absl::StatusOr<std::vector<StageText>> Stages(const CommandLine& line,
                                              Explanation explanation,
                                              const ExplainedTarget& target) {
  std::vector<StageText>& stages = explanation.stages;
  const LoopProgram& program = explanation.program;
  OCANNL_ASSIGN_OR_RETURN(const auto skip, SkippedCodePasses(line));
  const std::string& stage = line.GetString("stage");
  if (!target.isa || IsOfGpu(stage)) {
    OCANNL_RETURN_IF_ERROR(
        AddGpuStages(line, program, target.gpu, stage, stages));
  }
  if (!target.isa) return std::move(stages);
  const Isa isa = *target.isa;
  stages.push_back(jit::ExplainSchedule(program, isa, skip));
  if (stage == "script" || absl::c_linear_search(SchedulePasses(), stage)) {
    absl::c_move(jit::ExplainScheduling(program, isa, skip),
                 std::back_inserter(stages));
  } else if (stage == "x86") {
    OCANNL_ASSIGN_OR_RETURN(stages.emplace_back(),
                            jit::ExplainX86(program, isa, skip));
  } else if (stage == "instruction_mix") {
    OCANNL_ASSIGN_OR_RETURN(stages.emplace_back(),
                            jit::ExplainInstructionMix(program, isa, skip));
  } else if (IsOfVcode(stage)) {
    OCANNL_ASSIGN_OR_RETURN(std::vector<StageText> vcode,
                            jit::ExplainVcode(program, isa, skip));
    absl::c_move(vcode, std::back_inserter(stages));
  }
  return std::move(stages);
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
  const bool is_pass =
      absl::c_linear_search(jit::CodePasses(), wanted) ||
      absl::c_any_of(Passes(), [&](const Pass& p) { return p.name == wanted; });
  return Wrong(
      "--stage=", wanted,
      absl::c_linear_search(ran, wanted) ? " changed nothing"
      : is_pass
          ? " was not run, as --passes, --skip, --stop_after, --limit and "
            "--real have it"
      : wanted == "rewritten" ? " is what --rewrite makes; give that, too"
                              : " is no stage of this",
      "; the stages here are ",
      absl::StrJoin(stages, ", ",
                    [](std::string* text, const StageText& stage) {
                      absl::StrAppend(text, stage.stage);
                    }),
      ", origins, canonicalize, script, select, vcode, x86, instruction_mix, "
      "cuda, ptx, persistent");
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

absl::StatusOr<LoopProgram> Rewritten(const CommandLine& line,
                                      LoopProgram program) {
  std::string script = line.GetString("rewrite");
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
  return Wrong(what, ", ", rewritten.status().message());
}

absl::Status ExplainRewritten(const CommandLine& line,
                              Explanation& explanation) {
  if (!line.Has("rewrite")) return absl::OkStatus();
  LoopProgram& program = explanation.program;
  OCANNL_ASSIGN_OR_RETURN(program, Rewritten(line, std::move(program)));
  explanation.stages.push_back({.stage = "rewritten",
                                .file_name = program.name + "-rewritten.ll",
                                .text = Print(program)});
  return absl::OkStatus();
}

absl::Status ExplainCommand(const CommandLine& line, std::ostream& out) {
  OCANNL_ASSIGN_OR_RETURN(PassOptions options, PassOptionsOf(line));
  std::vector<absl::string_view> ran;
  options.observer = [&](const Pass& pass, const LoopProgram&) {
    ran.push_back(pass.name);
  };
  OCANNL_ASSIGN_OR_RETURN(const ExplainedTarget target, TargetOf(line));
  OCANNL_ASSIGN_OR_RETURN(Explanation explanation,
                          ExplainFileOrExpression(line, options));
  OCANNL_RETURN_IF_ERROR(ExplainRewritten(line, explanation));
  if (line.Has("explain")) {
    // Whoever names no stage has them all in the directory.
    std::ostringstream none;
    Explanation files = explanation;
    if (!target.isa) {
      OCANNL_RETURN_IF_ERROR(
          AddGpuStages(line, files.program, target.gpu, "cuda", files.stages));
    }
    OCANNL_RETURN_IF_ERROR(WriteExplained(
        line, std::move(files), line.Has("stage") ? none : out, target.isa));
    if (!line.Has("stage")) return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(const std::vector<StageText> stages,
                          Stages(line, std::move(explanation), target));
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
