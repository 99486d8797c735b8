// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/fit/metrics_log.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {
namespace {

using Json = nlohmann::ordered_json;

// The lines of `text` that tell of the first `epochs`. One that a killed
// process has not ended is none.
std::string LinesOf(absl::string_view text, int64_t epochs) {
  std::string kept;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("epoch")) continue;
    const Json& epoch = json["epoch"];
    if (epoch.is_number_integer() && epoch.get<int64_t>() <= epochs) {
      absl::StrAppend(&kept, line, "\n");
    }
  }
  return kept;
}

}  // namespace

absl::StatusOr<MetricsLog> MetricsLog::Open(const std::string& path,
                                            int64_t epochs,
                                            absl::string_view option) {
  const bool goes_on =
      epochs > 0 &&
      CheckOrdinaryFile(path, absl::StrCat("the file of ", option)).ok();
  if (goes_on) {
    OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    OCANNL_RETURN_IF_ERROR(ReplaceFile(path, [&](const std::string& other) {
      return WriteFile(other, LinesOf(text, epochs));
    }));
  }
  OCANNL_ASSIGN_OR_RETURN(
      OpenFile file,
      OpenFile::OpenOutput(path, O_APPEND | (goes_on ? 0 : O_TRUNC)));
  return MetricsLog(std::move(file));
}

absl::Status MetricsLog::Write(const EpochMetrics& metrics) const {
  Json json = {{"epoch", metrics.epoch},
               {"step", metrics.step},
               {"loss", metrics.loss},
               {"rate", metrics.rate},
               {"seconds", metrics.seconds}};
  for (const auto& [name, value] : metrics.measures) json[name] = value;
  return file_.Write(json.dump() + "\n");
}

}  // namespace ocannl::train
