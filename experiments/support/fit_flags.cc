// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/fit_flags.h"

#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "experiments/support/explain_training.h"
#include "experiments/support/figures.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/graph/params_hash.h"

namespace ocannl {

// Those that ComputeDType makes f32.
constexpr char kNetworkDTypes[] = "f32, bf16, f16, f8e4m3 or f8e5m2";

absl::StatusOr<DType> DTypeOf(const CommandLine& line) {
  const std::string text = line.GetString("dtype");
  const std::optional<DType> dtype = FindDType(text);
  if (dtype && ComputeDType(*dtype) == DType::kF32) return *dtype;
  return absl::InvalidArgumentError(
      absl::StrCat("--dtype=", text, " is no float of 32 bits or fewer; take ",
                   kNetworkDTypes));
}

Flag LogFlag() {
  return {"log", "",
          "a file for the course of training: JSON, a line an epoch"};
}

Flag VerboseFlag(absl::string_view what) {
  return {"verbose", "false", absl::StrCat(what, "; 2: of batches")};
}

absl::StatusOr<int> VerbosityOf(const CommandLine& line) {
  if (line.GetString("verbose") == "2") return 2;
  absl::StatusOr<bool> verbose = line.GetBool("verbose");
  if (verbose.ok()) return *verbose ? 1 : 0;
  return absl::InvalidArgumentError(
      absl::StrCat(verbose.status().message(), ", nor 2"));
}

std::vector<Flag> FitFlags() {
  return {
      {"dtype", "f32", absl::StrCat(kNetworkDTypes, "; parameters are f32")},
      PlotFlag(),
      FlagNamed("explain"),
      {"checkpoints", "", "a directory that keeps the last 3, to go on from"},
      {"checkpoint_every", "",
       "steps, as 100, or a time, as 30s or 5m; else an epoch"},
      {"epochs_now", "0", "of this run; 0: all that are left"},
      {"load", "", ""},  // see save
      LogFlag(),
      {"save", "", ".npz or .safetensors, at the end; --load goes on from it"}};
}

absl::Status SetFitOptions(const CommandLine& line,
                           train::FitOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(options.epochs, line.GetInt("epochs", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(options.epochs_now,
                          line.GetInt("epochs_now", 0, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(options.seed, line.GetInt("seed", 0, 0xfffffffe));
  OCANNL_ASSIGN_OR_RETURN(options.dtype, DTypeOf(line));
  OCANNL_ASSIGN_OR_RETURN(const int verbosity, VerbosityOf(line));
  if (verbosity > 0) options.lines = options.epochs;
  options.batch_lines = verbosity > 1;
  options.checkpoints = UserPath(line.GetString("checkpoints"));
  options.checkpoint_every = line.GetString("checkpoint_every");
  options.load = UserPath(line.GetString("load"));
  options.log = UserPath(line.GetString("log"));
  options.save = UserPath(line.GetString("save"));
  options.prefix = "--";
  return absl::OkStatus();
}

Flag DataLimitFlag() {
  return {"data_limit", "0",
          "MiB that --data may decompress to; 0: by its size"};
}

absl::StatusOr<train::DataLimit> DataLimitOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t mib,
                          line.GetInt("data_limit", 0, int64_t{1} << 20));
  return train::DataLimit{.mib = mib};
}

std::vector<train::FitSetting> SettingsOf(const CommandLine& line,
                                          absl::Span<const std::string> names) {
  std::vector<train::FitSetting> settings;
  for (const std::string& name : names) {
    settings.push_back({.name = name,
                        .value = line.GetString(name),
                        .is_data = name == "data"});
  }
  return settings;
}

absl::Status TellResult(const CommandLine& line,
                        const train::FitOptions& options,
                        const train::Fitted& fitted,
                        const train::Measures& measures) {
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(*fitted.context, fitted.code->parameters));
  nlohmann::ordered_json result = {
      {"experiment", options.name},
      {"tier", std::string(fitted.device.backend().name())},
      {"seed", options.seed},
      {"dtype", std::string(Name(options.dtype))},
      {"epochs", options.epochs},
      {"shards", options.shards},
      {"steps", fitted.history.steps_done},
      {"first_loss", *fitted.history.first_loss},
      {"params_hash", hash}};
  for (const auto& [name, value] : measures) result[name] = value;
  OCANNL_RETURN_IF_ERROR(ExplainTraces(line, fitted.stream));
  std::cout << "RESULT " << result.dump() << std::endl;
  ReportTier(line, fitted.step_stream());
  return absl::OkStatus();
}

}  // namespace ocannl
