// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

struct Case {
  const char* spec;
  const char* a;
  const char* b;  // empty: one operand
};

constexpr Case kContractions[] = {
    // Plain and transposed products.
    {"mk; kn => mn", "128,128", "128,128"},
    {"mk; nk => mn", "128,128", "128,128"},
    {"km; kn => mn", "128,128", "128,128"},
    {"km; nk => mn", "128,128", "128,128"},
    {"mk; kn => nm", "128,128", "128,128"},
    {"mk; kn => mn", "33,250", "250,129"},
    // Batched, with the batch in front, in the middle and at the end.
    {"bmk; bkn => bmn", "8,64,64", "8,64,64"},
    {"bmk; bnk => bmn", "8,64,64", "8,64,64"},
    {"bkm; bkn => bmn", "8,64,64", "8,64,64"},
    {"bkm; bnk => bmn", "8,64,64", "8,64,64"},
    {"mbk; kbn => bmn", "64,8,64", "64,8,64"},
    {"mbk; bkn => mbn", "64,8,64", "8,64,64"},
    {"mkb; knb => mnb", "48,48,16", "48,48,16"},
    {"abmk; abkn => abmn", "4,4,48,48", "4,4,48,48"},
    {"bqhd; bkhd => bhqk", "2,64,4,32", "2,64,4,32"},
    {"bhqk; bkhd => bqhd", "2,4,64,64", "2,64,4,32"},
    // Several axes contracted, or kept.
    {"mkl; kln => mn", "100,16,16", "16,16,80"},
    {"mkl; lkn => mn", "100,16,16", "16,16,80"},
    {"kml; lnk => mn", "16,100,16", "16,80,16"},
    {"aij; bij => ab", "100,16,16", "80,16,16"},
    {"mk; knp => mnp", "64,128", "128,16,16"},
    {"mnk; kp => mnp", "16,16,128", "128,64"},
    {"mnk; kp => pmn", "16,16,128", "128,64"},
    {"ikl; jlm => ijkm", "12,14,64", "13,64,15"},
    // Rows of the three kinds, as models write them.
    {"b|i->h; b|h->o => b|i->o", "8|64->64", "8|64->64"},
    {"b|i->h; b|h->o => i->o", "8|64->64", "8|64->64"},
    {"a|i->h; b|h->o => ab|i->o", "4|64->64", "4|64->64"},
    {"i->o; b|i => b|o", "128->128", "128|128"},
    {"i->o; bt|i => bt|o", "64->64", "8,32|64"},
    {"b|i->h; h->o => b|i->o", "8|64->64", "64->64"},
    // Fixed indices and diagonals.
    {"m1k; kn => mn", "128,4,128", "128,128"},
    {"mk1; kn => mn", "128,128,2", "128,128"},
    {"iik; kn => in", "64,64,64", "64,64"},
    {"kkm; kn => mn", "64,64,64", "64,64"},
    // Heads and their groups; many axes in batches, contracted, very short.
    {"bqhd; bkhd => bqhk", "2,64,4,32", "2,64,4,32"},
    {"bghqd; bhkd => bghqk", "2,4,2,64,32", "2,2,64,32"},
    {"abcmk; abckn => abcmn", "2,3,4,48,48", "2,3,4,48,48"},
    {"kim; kin => mn", "16,16,96", "16,16,96"},
    {"mki; kin => mn", "100,64,3", "64,3,100"},
    {"mk; kni => mni", "128,128", "128,43,3"},
};

constexpr Case kMoves[] = {
    {"mk; k => m", "512,512", "512"},
    {"mk; m => k", "512,512", "512"},
    {"bmk; bk => bm", "16,128,128", "16,128"},
    {"m; n => mn", "512", "512"},
    {"bm; bn => bmn", "16,128", "16,128"},
    {"mn; mn => mn", "256,256", "256,256"},
    {"mn; mn => 0", "512,256", "512,256"},
    {"bm; bm => b", "512,256", "512,256"},
    {"ij => ji", "384,384", ""},
    {"ijk => kji", "48,48,48", ""},
    {"abcd => cbad", "16,18,20,22", ""},
    {"ii => i", "384,384", ""},
    {"bii => b", "16,96,96", ""},
    {"ijk => ik", "48,64,48", ""},
};

std::string NameOf(absl::string_view group, const Case& c) {
  return absl::StrCat(group, "/", absl::StrReplaceAll(c.spec, {{" ", ""}}), "@",
                      c.a, c.b[0] == 0 ? "" : ";", c.b);
}

absl::StatusOr<LoopProgram> ProgramOf(const Case& c) {
  if (c.b[0] == 0) {
    return ExpressionProgram({{"a", c.a}},
                             {{"y", absl::StrCat("a ++ \"", c.spec, "\"")}});
  }
  return ExpressionProgram({{"a", c.a}, {"b", c.b}},
                           {{"y", absl::StrCat("a +* \"", c.spec, "\" b")}});
}

// The fastest tier's time for as many flops in a square product.
absl::Status AddSquareGemm(const Setting& setting, double flops,
                           Workload& workload) {
  auto n = 16 * std::lround(std::cbrt(flops / 2) / 16);
  std::string dims = absl::StrCat(n, ",", n);
  OCANNL_ASSIGN_OR_RETURN(
      LoopProgram program,
      ExpressionProgram({{"a", dims}, {"b", dims}},
                        {{"y", "a +* \"mk; kn => mn\" b"}}));
  Setting fastest = setting;
  fastest.tiers = {setting.tiers.back()};
  Workload square;
  OCANNL_RETURN_IF_ERROR(AddProgram(fastest, {.program = program}, square));
  double scale = flops / (2. * static_cast<double>(n * n * n));
  for (const Contender& contender : square.contenders) {
    workload.contenders.push_back(
        {.name = absl::StrCat("gemm ", n),
         .time = [=](int64_t runs) { return contender.time(runs) * scale; }});
  }
  return absl::OkStatus();
}

absl::StatusOr<Workload> MakeContraction(const Case& c,
                                         const Setting& setting) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, ProgramOf(c));
  double flops = 2 * AssignmentRuns(program);  // multiply-adds all
  Workload workload{
      .name = NameOf("einsum", c), .probe = ProbeKind::kFma, .work = flops};
  OCANNL_RETURN_IF_ERROR(AddProgram(setting, {.program = program}, workload));
  OCANNL_RETURN_IF_ERROR(AddSquareGemm(setting, flops, workload));
  return workload;
}

absl::StatusOr<Workload> MakeMove(const Case& c, const Setting& setting) {
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, ProgramOf(c));
  double bytes = 0;
  for (const Buffer& buffer : program.buffers) {
    bytes += static_cast<double>(NumElements(buffer.dims) * 4);
  }
  Workload workload{
      .name = NameOf("move", c), .probe = ProbeKind::kCacheCopy, .work = bytes};
  OCANNL_RETURN_IF_ERROR(
      AddProgram(setting, {.program = program, .gcc = {"-O3"}}, workload));
  return workload;
}

}  // namespace

std::vector<WorkloadMaker> EinsumWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (const Case& c : kContractions) {
    makers.push_back(
        {.name = NameOf("einsum", c),
         .brief = c.spec == absl::string_view("bhqk; bkhd => bqhd"),
         .make = [c](const Setting& setting) {
           return MakeContraction(c, setting);
         }});
  }
  for (const Case& c : kMoves) {
    makers.push_back(
        {.name = NameOf("move", c),
         .brief = c.spec == absl::string_view("ijk => kji"),
         .make = [c](const Setting& setting) { return MakeMove(c, setting); }});
  }
  return makers;
}

}  // namespace ocannl
