// SPDX-License-Identifier: Apache-2.0
//
// run FILE.cd, FILE.ll or FILE.onnx: runs code or a model from disk and
// prints what they write.
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ocannl/cli/commands.h"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/cli/input.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tiering/cost/predict.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/tiers/compare_tiers.h"

namespace ocannl {
namespace {

std::string Describe(const Buffer& buffer) {
  return absl::StrCat(buffer.name, " : ",
                      DescribeArray(buffer.dtype, buffer.dims));
}

std::string InputNames(const LoopProgram& program) {
  std::vector<std::string> names;
  for (const Buffer& buffer : program.buffers) {
    if (IsInput(buffer.role)) names.push_back(buffer.name);
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, ", ");
}

// Whether `merged` is `dims` with neighbours multiplied: an array of a
// scheduled program may have fewer axes than the caller's
// (core/schedule/collapse.h).
bool MergeTo(const Dims& dims, const Dims& merged) {
  size_t next = 0;
  for (int64_t size : merged) {
    int64_t product = 1;
    while (next < dims.size() && (product < size || dims[next] == 1)) {
      product *= dims[next++];
    }
    if (product != size) return false;
  }
  return next == dims.size();
}

absl::Status WriteInputs(const CommandLine& line, const LoopProgram& program,
                         const std::optional<Assignments>& code,
                         const Context& context) {
  absl::flat_hash_set<std::string> given;
  for (const std::string& text : line.GetAll("in")) {
    OCANNL_ASSIGN_OR_RETURN(InputFlag input, ParseInput(text));
    auto buffer = absl::c_find_if(program.buffers, [&](const Buffer& b) {
      return b.name == input.name && IsInput(b.role);
    });
    if (buffer == program.buffers.end()) {
      return UserError("--in=", text, ": `", program.name, "` does not read `",
                       input.name, "`; it reads ", InputNames(program));
    }
    if (!given.insert(input.name).second) {
      return UserError("--in=", text, ": `", input.name, "` is given twice");
    }
    OCANNL_ASSIGN_OR_RETURN(NdArray values,
                            LoadInput(input, buffer->dtype, buffer->dims));
    if (values.dtype() != buffer->dtype ||
        !MergeTo(values.dims(), buffer->dims)) {
      return UserError("--in=", text, " is ",
                       DescribeArray(values.dtype(), values.dims()), ", but `",
                       program.name, "` reads ", Describe(*buffer));
    }
    OCANNL_RETURN_IF_ERROR(
        context.WriteInput(*buffer, values.Reshaped(buffer->dims)));
  }
  if (code) {
    for (const Array& array : code->arrays) {
      if (array.data == nullptr || !given.insert(array.name).second) continue;
      OCANNL_RETURN_IF_ERROR(context.Write(array.name, *array.data));
    }
  }
  std::vector<std::string> missing;
  std::vector<std::string> flags;
  for (const Buffer& buffer : program.buffers) {
    if (!IsInput(buffer.role) || given.contains(buffer.name)) continue;
    missing.push_back(Describe(buffer));
    flags.push_back(ExampleInput(buffer));
  }
  if (missing.empty()) return absl::OkStatus();
  return UserError("`", program.name,
                   "` needs more inputs: ", absl::StrJoin(missing, ", "),
                   "; to try it, add\n  ", absl::StrJoin(flags, " "),
                   "\nor values of your own: NAME=FILE.npy, NAME=range+1, or "
                   "numbers such as NAME=[1,2,3]");
}

// A program as one value of --rewrite makes it.
struct Variant {
  std::string name;  // " --rewrite=VALUE"; empty: there is one variant
  LoopProgram program;
};

// A variant that is linked, with arrays of its own.
struct LinkedVariant {
  const Variant* variant;
  Context context;
  Routine routine;
  std::vector<absl::Duration> runs;  // with --time

  absl::Duration Median() const { return runs[runs.size() / 2]; }
};

// Tells how long the runs took, how many floating-point operations the median
// run did in a second, and how long it took in that of the first variant.
void ReportTimes(absl::string_view tier, absl::Span<LinkedVariant> linked) {
  for (LinkedVariant& one : linked) absl::c_sort(one.runs);
  for (const LinkedVariant& one : linked) {
    const double flops = Predict(one.variant->program).flops;
    std::cerr << tier << one.variant->name << ": " << one.Median()
              << " a run (median of " << one.runs.size() << "; "
              << one.runs.front() << " to " << one.runs.back() << "), "
              << absl::StrFormat(
                     "%.3g GFLOP/s",
                     flops / absl::ToDoubleNanoseconds(one.Median()));
    if (&one != &linked[0]) {
      std::cerr << absl::StrFormat(
          ", %.2f of the first",
          absl::FDivDuration(one.Median(), linked[0].Median()));
    }
    std::cerr << "\n";
  }
}

absl::StatusOr<Results> ReadResults(const LinkedVariant& linked) {
  Results results;
  for (const Buffer& buffer : linked.variant->program.buffers) {
    if (!IsResult(buffer.role)) continue;
    OCANNL_ASSIGN_OR_RETURN(NdArray values, linked.context.Read(buffer.name));
    results.push_back(std::move(values));
  }
  return results;
}

// Runs each variant `repeat` times, in turn, so that a change of the machine's
// speed meets all of them. Errors: variants whose results differ.
absl::StatusOr<Results> RunOn(const NamedTier& tier, const CommandLine& line,
                              const std::optional<Assignments>& code,
                              absl::Span<const Variant> variants,
                              int64_t repeat) {
  Device device("host", tier.backend);
  Stream stream(&device);
  std::vector<LinkedVariant> linked;
  for (const Variant& variant : variants) {
    Context context(&stream);
    OCANNL_RETURN_IF_ERROR(WriteInputs(line, variant.program, code, context));
    OCANNL_ASSIGN_OR_RETURN(Routine routine,
                            context.CompileAndLink(variant.program));
    OCANNL_RETURN_IF_ERROR(SetStatics(line, routine));
    linked.push_back({&variant, std::move(context), std::move(routine), {}});
  }
  OCANNL_ASSIGN_OR_RETURN(const bool is_timed, line.GetBool("time"));
  for (int64_t k = 0; k < repeat; ++k) {
    for (LinkedVariant& one : linked) {
      const absl::Time start = absl::Now();
      OCANNL_RETURN_IF_ERROR(one.routine.Run());
      if (!is_timed) continue;
      stream.Sync();
      one.runs.push_back(absl::Now() - start);
    }
  }
  stream.Sync();
  if (is_timed) ReportTimes(tier.name, absl::MakeSpan(linked));
  ReportTier(line, stream);
  OCANNL_ASSIGN_OR_RETURN(Results results, ReadResults(linked[0]));
  for (size_t k = 1; k < linked.size(); ++k) {
    OCANNL_ASSIGN_OR_RETURN(const Results others, ReadResults(linked[k]));
    const std::string difference =
        DifferenceOf(variants[0].program, results, others);
    if (difference.empty()) continue;
    return UserError(tier.name, variants[k].name, " differs from",
                     variants[0].name, ": ", difference);
  }
  return results;
}

// The program as each --rewrite makes it, or as it is. Errors: of Rewritten.
absl::StatusOr<std::vector<Variant>> VariantsOf(const CommandLine& line,
                                                LoopProgram program) {
  const std::vector<std::string> scripts = line.GetAll("rewrite");
  std::vector<Variant> variants;
  if (scripts.empty()) variants.push_back({"", std::move(program)});
  for (const std::string& script : scripts) {
    OCANNL_ASSIGN_OR_RETURN(LoopProgram rewritten, Rewritten(script, program));
    variants.push_back(
        {scripts.size() == 1 ? "" : absl::StrCat(" --rewrite=", script),
         std::move(rewritten)});
  }
  return variants;
}

}  // namespace

absl::Status RunCommand(const CommandLine& line, std::ostream& out) {
  OCANNL_RETURN_IF_ERROR(MakeOut(line));
  OCANNL_ASSIGN_OR_RETURN(std::vector<NamedTier> tiers, TiersOf(line));
  OCANNL_ASSIGN_OR_RETURN(PassOptions options, PassOptionsOf(line));
  OCANNL_ASSIGN_OR_RETURN(int64_t repeat,
                          line.GetInt("repeat", 1, 1'000'000'000));
  OCANNL_ASSIGN_OR_RETURN(ProgramFile file,
                          ReadProgram(line, line.positional()[0]));
  LoopProgram& program = file.program;
  auto explain = [&]() -> absl::StatusOr<Explanation> {
    OCANNL_ASSIGN_OR_RETURN(Explanation explanation,
                            ExplainFile(file, options));
    OCANNL_RETURN_IF_ERROR(ExplainRewritten(line, explanation));
    return explanation;
  };
  OCANNL_RETURN_IF_ERROR(WriteExplainedOfRun(line, out, explain));
  OCANNL_ASSIGN_OR_RETURN(program, Optimize(std::move(program), options));
  if (file.code && options.all()) {
    OCANNL_RETURN_IF_ERROR(CheckVirtual(*file.code, program));
  }
  OCANNL_ASSIGN_OR_RETURN(const std::vector<Variant> variants,
                          VariantsOf(line, std::move(program)));
  const LoopProgram& first = variants[0].program;
  OCANNL_ASSIGN_OR_RETURN(
      Results results, CompareTiers(tiers, first, [&](const NamedTier& tier) {
        return RunOn(tier, line, file.code, variants, repeat);
      }));
  size_t next = 0;
  for (const Buffer& buffer : first.buffers) {
    if (!IsResult(buffer.role)) continue;
    OCANNL_RETURN_IF_ERROR(ShowValues(line, buffer.name,
                                      DescribeArray(buffer.dtype, buffer.dims),
                                      results[next++], out));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
