// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/compile.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/base/wanted_debug_symbols.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/opt/virtualize.h"

namespace ocannl {
namespace {

CodeHook& Hook() {
  static auto* hook = new CodeHook;
  return *hook;
}
thread_local bool in_hook = false;  // which may compile, too

struct HostData {
  std::string array;
  std::shared_ptr<const NdArray> data;
  Dims dims;
};

// The data of the host that `code` reads.
std::vector<HostData> DataOf(const Assignments& code) {
  std::vector<HostData> data;
  data.reserve(absl::c_count_if(
      code.arrays, [](const Array& array) { return array.data != nullptr; }));
  for (const Array& array : code.arrays) {
    if (array.data == nullptr) continue;
    data.push_back({array.name, array.data, array.dims});
  }
  return data;
}

absl::Status Write(absl::Span<const HostData> data, const Context& context) {
  for (const auto& [array, values, dims] : data) {
    OCANNL_RETURN_IF_ERROR(context.WriteData(array, values->Reshaped(dims)));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoopProgram> CompileLowered(
    const std::string& name, const PassOptions& options,
    absl::FunctionRef<absl::StatusOr<LoopProgram>()> lower) {
  const TraceSpan span("lower", name);
  DefaultFloatEnvironment guard;
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, lower());
  return Optimize(std::move(program), options);
}

}  // namespace

absl::Status CheckVirtual(const Assignments& code, const LoopProgram& program) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != Role::kVirtual) continue;
    OCANNL_ASSIGN_OR_RETURN(LoopProgram lowered, Lower(code));
    auto array = absl::c_find_if(
        code.arrays, [&](const Array& a) { return a.name == buffer.name; });
    CHECK(array != code.arrays.end()) << buffer.name;
    return absl::FailedPreconditionError(
        absl::StrCat("`", array->name, "` is to be virtual (",
                     array->memory->why, "), but it cannot be inlined: ",
                     WhyNotInlined(std::move(lowered), array->name),
                     "; ask for local instead"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoopProgram> LowerToRun(const Assignments& code) {
  return WantsOrigins() ? Lower(WithOrigins(code)) : Lower(code);
}

void SetCodeHook(CodeHook hook) { Hook() = std::move(hook); }

absl::StatusOr<LoopProgram> CompileProgram(const Assignments& code,
                                           const PassOptions& options) {
  if (Hook() && !in_hook) {
    in_hook = true;
    const absl::Cleanup leave = [] { in_hook = false; };
    Assignments changed = code;
    OCANNL_RETURN_IF_ERROR(Hook()(changed));
    return CompileProgram(changed, options);
  }
  OCANNL_ASSIGN_OR_RETURN(
      LoopProgram program,
      CompileLowered(code.name, options, [&] { return LowerToRun(code); }));
  if (options.all()) OCANNL_RETURN_IF_ERROR(CheckVirtual(code, program));
  return program;
}

absl::StatusOr<Routine> ToRoutine(const Context& context,
                                  const Assignments& code,
                                  const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, CompileProgram(code, options));
  OCANNL_RETURN_IF_ERROR(Write(DataOf(code), context));
  return context.CompileAndLink(std::move(program));
}

absl::StatusOr<Routine> ToRoutine(const Context& context, Assignments&& code,
                                  const PassOptions& options) {
  const bool is_needed =
      Hook() || WantsOrigins() ||
      absl::c_any_of(code.arrays, [](const Array& array) {
        return array.memory && array.memory->mode == MemoryMode::kVirtual;
      });
  if (is_needed) return ToRoutine(context, std::as_const(code), options);
  const std::vector<HostData> data = DataOf(code);
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                          CompileLowered(std::string(code.name), options, [&] {
                            return Lower(std::move(code));
                          }));
  OCANNL_RETURN_IF_ERROR(Write(data, context));
  return context.CompileAndLink(std::move(program));
}

absl::StatusOr<std::vector<Routine>> ToRoutines(
    absl::Span<const Context> contexts, const Assignments& code,
    const PassOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram program,
                          CompileProgram(code, options));
  absl::flat_hash_map<const Backend*, std::shared_ptr<const Executable>>
      executables;
  std::vector<Routine> routines;
  for (const Context& context : contexts) {
    OCANNL_RETURN_IF_ERROR(Write(DataOf(code), context));
    std::shared_ptr<const Executable>& executable =
        executables[&context.stream().device().backend()];
    if (executable == nullptr) {
      OCANNL_ASSIGN_OR_RETURN(executable, context.Compile(program));
    }
    OCANNL_ASSIGN_OR_RETURN(Routine routine, context.Link(program, executable));
    routines.push_back(std::move(routine));
  }
  return routines;
}

}  // namespace ocannl
