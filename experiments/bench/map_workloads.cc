// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/bench/bound_program.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/peers/eigen_kernels.h"
#include "experiments/bench/peers/libmvec_kernels.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// A function of the matrix x, and of others like it.
struct Formula {
  std::string name;  // also of the function of a peer, if it has one
  std::vector<Definition> definitions;
  bool takes_y = false;
};

const std::vector<Formula>& Functions() {
  static const auto* functions = new std::vector<Formula>{
      {"exp", {{"z", "exp x"}}},
      // Results that are subnormal, and 0.
      {"exp_subnormal", {{"z", "exp (x - 96)"}}},
      {"exp_zero", {{"z", "exp (x - 110)"}}},
      {"log", {{"z", "log x"}}},
      {"tanh", {{"z", "tanh x"}}},
      {"sigmoid", {{"z", "sigmoid x"}}},
      {"sin", {{"z", "sin x"}}},
      {"cos", {{"z", "cos x"}}},
      {"sqrt", {{"z", "sqrt x"}}},
      {"softplus", {{"z", "softplus x"}}},
      {"erf", {{"z", "erf x"}}},
      {"gelu", {{"z", "gelu x"}}},
      {"gelu_tanh", {{"z", "gelu_tanh x"}}},
      {"pow", {{"z", "x **. y"}}, true},
      {"expm1", {{"z", "expm1 x"}}},
      {"log10", {{"z", "log10 x"}}},
      {"cbrt", {{"z", "cbrt x"}}},
      {"tan", {{"z", "tan x"}}},
      {"asin", {{"z", "asin x"}}},
      {"acos", {{"z", "acos x"}}},
      {"atan", {{"z", "atan x"}}},
      {"atan2", {{"z", "atan2(x, y)"}}, true},
      {"sinh", {{"z", "sinh x"}}},
      {"cosh", {{"z", "cosh x"}}},
      {"asinh", {{"z", "asinh x"}}},
      {"acosh", {{"z", "acosh x"}}},
      {"atanh", {{"z", "atanh x"}}},
      {"hypot", {{"z", "hypot(x, y)"}}, true},
  };
  return *functions;
}

const std::vector<Formula>& Maps() {
  static const auto* maps = new std::vector<Formula>{
      {"scale", {{"z", "1.5 *. x"}}},
      {"relu", {{"z", "relu x"}}},
      {"add", {{"z", "x + y"}}, true},
      {"exp", {{"z", "exp x"}}},
      {"tanh", {{"z", "tanh x"}}},
      // Eight operations that are one pass when they are fused.
      {"chain",
       {{"u", "relu (1.5 *. x - 0.25)"},
        {"v", "u *. x + 0.5"},
        {"z", "abs (v - x) *. 0.125"}}},
  };
  return *maps;
}

const std::vector<Formula>& Draws() {
  static const auto* draws = new std::vector<Formula>{
      {"uniform", {{"z", "x + uniform ()"}}},
      {"uniform1", {{"z", "x + uniform1 ()"}}},
      {"normal", {{"z", "x + normal ()"}}},
      {"dropout", {{"z", "select (0.5 <= uniform (), 2 *. x, 0)"}}},
  };
  return *draws;
}

const std::vector<Formula>& Reductions() {
  static const auto* reductions = new std::vector<Formula>{
      {"sum", {{"z", "x ++ \"ij => 0\""}}},
      {"max", {{"z", "x @^^ \"ij => 0\""}}},
      {"row_sums", {{"z", "x ++ \"ij => i\""}}},
      {"column_sums", {{"z", "x ++ \"ij => j\""}}},
  };
  return *reductions;
}

const std::vector<Formula>& RowFormulas() {
  static const auto* formulas = new std::vector<Formula>{
      {"softmax",
       {{"e", "exp (x - (x @^^ \"ij => i0\"))"},
        {"z", "e *. recip (e ++ \"ij => i0\")"}}},
      {"layer_norm",
       {{"d", "x - (x ++ \"ij => i0\") /. !..columns"},
        {"z",
         "d *. recip (sqrt ((d *. d ++ \"ij => i0\") /. !..columns + "
         "0.00001))"}}},
  };
  return *formulas;
}

// Positive numbers, of which there are roots and logarithms.
NamedArrays Positive(int64_t rows, int64_t columns) {
  return {{"x", FilledArray("x", {rows, columns}, 1, 1)}};
}

using MapFunction = std::function<void(const float* x, float* y)>;

absl::Status AddMap(absl::string_view name, const MapFunction& function,
                    const LoopProgram& program, const NamedArrays& given,
                    Workload& workload) {
  OCANNL_ASSIGN_OR_RETURN(std::shared_ptr<BoundProgram> memory,
                          BoundProgram::Make(program, given));
  auto run = [=] {
    function(memory->numbers("x").data(), memory->numbers("z").data());
  };
  workload.contenders.push_back(
      {.name = std::string(name),
       .time = [run](int64_t runs) { return SecondsOf(runs, run); },
       .result =
           [run, memory] {
             run();
             return memory->Results("z");
           },
       .tolerance = 1e-4});
  return absl::OkStatus();
}

// Eigen's and libmvec's functions of the formula's name.
absl::Status AddFunctions(const Formula& formula, const LoopProgram& program,
                          int64_t rows, int64_t columns, Workload& workload) {
  const EigenKernels* eigen = FindEigenKernels();
  if (eigen == nullptr) return absl::OkStatus();
  const NamedArrays given = Positive(rows, columns);
  for (auto* f = eigen->functions; f->name != nullptr; ++f) {
    if (formula.name != f->name) continue;
    OCANNL_RETURN_IF_ERROR(AddMap(
        "eigen",
        [=, run = f->run](auto x, auto y) { run(rows, columns, x, y); },
        program, given, workload));
  }
  if (eigen != &kEigenAvx512) return absl::OkStatus();
  for (const LibmvecFunction& f : kLibmvecFunctions) {
    if (formula.name != f.name) continue;
    OCANNL_RETURN_IF_ERROR(AddMap(
        "libmvec",
        [=, run = f.run](auto x, auto y) { run(rows * columns, x, y); },
        program, given, workload));
  }
  return absl::OkStatus();
}

// Completes a workload that has its name, probe and work.
absl::StatusOr<Workload> Make(const Formula& formula, int64_t rows,
                              int64_t columns, const Setting& setting,
                              Workload workload) {
  std::string dims = absl::StrCat(rows, ",", columns);
  std::vector<Definition> inputs = {{"x", dims}};
  if (formula.takes_y) inputs.push_back({"y", dims});
  std::vector<Definition> definitions = formula.definitions;
  for (auto& [name, text] : definitions) {
    text = absl::StrReplaceAll(text, {{"!..columns", absl::StrCat(columns)}});
  }
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                          ExpressionProgram(inputs, definitions));
  const NamedArrays given =
      setting.runs ? Positive(rows, columns) : NamedArrays();
  OCANNL_RETURN_IF_ERROR(AddProgram(
      setting, {.program = program, .given = given, .gcc = {"-O3"}}, workload));
  if (!setting.peers) return workload;
  OCANNL_RETURN_IF_ERROR(
      AddFunctions(formula, program, rows, columns, workload));
  return workload;
}

// In vectors of 16 numbers on the clock, within a cache.
WorkloadMaker ClockMaker(absl::string_view group, const Formula& formula,
                         int64_t rows, int64_t columns) {
  std::string name = absl::StrCat(group, "/", formula.name);
  return {.name = name,
          .brief = formula.name == "exp",
          .make = [=](const Setting& setting) {
            return Make(formula, rows, columns, setting,
                        {.name = name,
                         .probe = ProbeKind::kClock,
                         .work = static_cast<double>(rows * columns) / 16});
          }};
}

// By the bytes read and, if it is a map, written: `bytes` in all.
WorkloadMaker BytesMaker(absl::string_view group, const Formula& formula,
                         ProbeKind probe, bool is_map, int64_t bytes) {
  constexpr int64_t kColumns = 512;
  bool in_cache =
      probe == ProbeKind::kCacheCopy || probe == ProbeKind::kCacheRead;
  std::string name =
      absl::StrCat(group, "/", formula.name, "@", in_cache ? "L2" : "memory");
  int64_t arrays = is_map ? formula.takes_y ? 3 : 2 : 1;
  int64_t rows = bytes / 4 / arrays / kColumns;
  return {.name = name,
          .brief = in_cache &&
                   (formula.name == "relu" || formula.name == "column_sums"),
          .make = [=](const Setting& setting) {
            return Make(
                formula, rows, kColumns, setting,
                {.name = name,
                 .probe = probe,
                 .work = 4. * static_cast<double>(arrays * rows * kColumns)});
          }};
}

}  // namespace

std::vector<WorkloadMaker> MapWorkloads() {
  return MapWorkloadsOf(ProbeBytes(ProbeKind::kCacheCopy));
}

std::vector<WorkloadMaker> MapWorkloadsOf(int64_t bytes_in_l2) {
  const int64_t in_memory = ProbeBytes(ProbeKind::kMemoryCopy);
  std::vector<WorkloadMaker> makers;
  for (const Formula& f : Functions()) {
    makers.push_back(ClockMaker("function", f, 8, 256));
  }
  for (const Formula& f : Draws()) {
    makers.push_back(ClockMaker("draw", f, 512, 64));
  }
  for (auto [probe, bytes] : {std::pair(ProbeKind::kCacheCopy, bytes_in_l2),
                              std::pair(ProbeKind::kMemoryCopy, in_memory)}) {
    for (const Formula& f : Maps()) {
      makers.push_back(BytesMaker("map", f, probe, /*is_map=*/true, bytes));
    }
  }
  for (auto [probe, bytes] : {std::pair(ProbeKind::kCacheRead, bytes_in_l2),
                              std::pair(ProbeKind::kMemoryRead, in_memory)}) {
    for (const Formula& f : Reductions()) {
      makers.push_back(BytesMaker("reduce", f, probe, /*is_map=*/false, bytes));
    }
  }
  return makers;
}

std::vector<WorkloadMaker> RowWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (const Formula& formula : RowFormulas()) {
    for (int64_t columns : {64, 500, 512, 4096}) {
      int64_t rows = (1 << 17) / columns;
      std::string name =
          absl::StrCat("rows/", formula.name, "-", rows, "x", columns);
      makers.push_back(
          {.name = name,
           .brief = columns == 64,
           .make = [=](const Setting& setting) {
             return Make(formula, rows, columns, setting,
                         {.name = name,
                          .probe = ProbeKind::kCacheCopy,
                          .work = 8. * static_cast<double>(rows * columns)});
           }});
    }
  }
  return makers;
}

}  // namespace ocannl
