// SPDX-License-Identifier: Apache-2.0
//
// Holds what the workloads' code costs by count (code_cost.h) to a file for
// each instruction set, such as avx2.json, and leaves what it is now in the
// test's outputs. What changes on purpose is written by
//
//   bazel run //experiments/bench/cost:code_cost_test -- --update
#include "experiments/bench/cost/code_cost.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/workloads.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

// By name of the workload: one program each, or the cost of "NAME #2" ...
using Costs = nlohmann::ordered_json;

constexpr char kFolder[] = "experiments/bench/cost";

// On every machine, whatever its L2 is.
constexpr int64_t kBytesInL2 = 512 * 1024;

std::vector<WorkloadMaker> Makers() {
  std::vector<WorkloadMaker> all;
  for (const auto& group :
       {MoonsWorkloads(), MlpWorkloads(), NetWorkloads(), GemmWorkloads(),
        EinsumWorkloads(), MapWorkloadsOf(kBytesInL2), RowWorkloads()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

struct NamedProgram {
  std::string name;
  LoopProgram program;
};

// Before they are scheduled, so the same for each instruction set.
std::vector<NamedProgram> Programs() {
  std::vector<NamedProgram> all;
  for (const WorkloadMaker& maker : Makers()) {
    absl::StatusOr<std::vector<LoopProgram>> programs = ProgramsOf(maker);
    CHECK_OK(programs) << maker.name;
    for (size_t k = 0; k < programs->size(); ++k) {
      const std::string number = k == 0 ? "" : absl::StrCat(" #", k + 1);
      all.push_back({maker.name + number, std::move((*programs)[k])});
    }
  }
  return all;
}

Costs CostsFor(const std::vector<NamedProgram>& programs, jit::Isa isa) {
  Costs costs = Costs::object();
  for (const auto& [name, program] : programs) {
    absl::StatusOr<nlohmann::json> cost = CostOf(program, isa);
    CHECK_OK(cost) << name;
    costs[name] = *std::move(cost);
  }
  return costs;
}

// One line for each program.
std::string Text(const Costs& costs) {
  std::string text = "{";
  absl::string_view separator = "\n";
  for (const auto& [name, cost] : costs.items()) {
    absl::StrAppend(&text, separator, nlohmann::json(name).dump(), ": ",
                    cost.dump());
    separator = ",\n";
  }
  return absl::StrCat(text, "\n}\n");
}

// A line for each number that is another one; greater is worse, but in the hot
// loop, which may have been unrolled.
int CountChanges(const std::string& program, const nlohmann::json& before,
                 const nlohmann::json& now) {
  int changes = 0;
  const nlohmann::json flat_before = before.flatten();
  const nlohmann::json flat_now = now.flatten();
  for (const auto& [fact, value] : flat_now.items()) {
    const nlohmann::json old = flat_before.value(fact, nlohmann::json());
    if (old == value) continue;
    ++changes;
    const bool ranks = old.is_number() && value.is_number() &&
                       !absl::StartsWith(fact, "/hot_loop");
    std::cout << (!ranks        ? "changed: "
                  : value > old ? "WORSE:   "
                                : "better:  ")
              << program << fact << " " << old << " -> " << value << "\n";
  }
  return changes;
}

int Compare(const Costs& before, const Costs& now) {
  int changes = 0;
  for (const auto& [program, cost] : now.items()) {
    if (!before.contains(program)) {
      std::cout << "new:     " << program << "\n";
      ++changes;
    } else {
      changes += CountChanges(program, before[program], cost);
    }
  }
  for (const auto& [program, cost] : before.items()) {
    if (now.contains(program)) continue;
    std::cout << "gone:    " << program << "\n";
    ++changes;
  }
  return changes;
}

void Write(const char* folder, const std::string& path,
           const std::string& text) {
  if (folder != nullptr) CHECK_OK(WriteFile(absl::StrCat(folder, path), text));
}

// Counts that anybody can do: a product has a fused multiply-add for each
// vector of terms.
void CheckProduct(const Costs& costs, jit::Isa isa) {
  const int64_t lanes = jit::VectorBytes(isa) / sizeof(float);
  CHECK_EQ(costs["gemm/256x256x256"]["run"]["fma"].get<int64_t>(),
           256 * 256 * 256 / lanes);
}

int Main(bool update) {
  int changes = 0;
  const std::vector<NamedProgram> programs = Programs();
  for (jit::Isa isa : jit::kIsas) {
    const std::string file = absl::StrCat("/", jit::Name(isa), ".json");
    const Costs now = CostsFor(programs, isa);
    CheckProduct(now, isa);
    Write(std::getenv("TEST_UNDECLARED_OUTPUTS_DIR"), file, Text(now));
    if (update) {
      const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
      CHECK(workspace != nullptr) << "run this with bazel run";
      Write(workspace, absl::StrCat("/", kFolder, file), Text(now));
      continue;
    }
    absl::StatusOr<std::string> before = ReadFile(kFolder + file);
    CHECK_OK(before);
    const int of_isa = Compare(Costs::parse(*before), now);
    std::cout << jit::Name(isa) << ": " << now.size() << " programs, " << of_isa
              << " changes\n";
    changes += of_isa;
  }
  if (changes == 0) return 0;
  std::cout
      << "What is meant to change is written by\n"
         "  bazel run //experiments/bench/cost:code_cost_test -- --update\n";
  return 1;
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  const bool update = argc == 2 && absl::string_view(argv[1]) == "--update";
  return ocannl::Main(update);
}
