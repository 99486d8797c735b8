// SPDX-License-Identifier: Apache-2.0
//
// The tuner, which searches a script of rewrites for a program.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/runtime/threads/team.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/tune/race.h"
#include "ocannl/tune/tune.h"
#include "python/native/session.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// The instruction set of a tier. Raises ocannl.Error: the tier has none.
jit::Isa IsaOf(const std::string& tier) {
  absl::string_view name = tier;
  const bool is_x86 = absl::ConsumePrefix(&name, "x86-");
  for (jit::Isa isa : jit::kIsas) {
    if (is_x86 && name == jit::Name(isa) && jit::IsSupported(isa)) return isa;
  }
  const std::optional<jit::Isa> host = jit::HostIsa();
  if (host && (tier == "auto" || tier == "x86")) return *host;
  Raise(absl::StrCat("the tier ", tier, " is not tuned: the tuner measures ",
                     "machine code of this processor"));
}

// The report and the script. The process must have no other threads: the tuner
// forks.
std::pair<std::string, std::string> Tune(const std::string& program,
                                         const std::string& tier,
                                         double seconds, uint64_t seed,
                                         int threads) {
  const jit::Isa isa = IsaOf(tier);
  const LoopProgram parsed = Check(ocannl::Parse(program));
  tune::OnMachine race(
      {.isa = isa, .threads = threads == 0 ? Team::MaxSize() : threads}, parsed,
      seed);
  const auto start = std::chrono::steady_clock::now();
  const auto clock = [&] {
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    return passed.count();
  };
  std::ostringstream report;
  const absl::StatusOr<tune::Tuned> tuned =
      tune::Tune(parsed,
                 {.target = jit::TargetOf(isa),
                  .seconds = seconds,
                  .seed = seed,
                  .clock = clock,
                  .stops = [] { return PyErr_CheckSignals() != 0; }},
                 race, report);
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  Check(tuned.status());
  return {report.str(), tuned->script};
}

}  // namespace

void BindTuning(py::module_& module) { module.def("tune", &Tune); }

}  // namespace ocannl::python
