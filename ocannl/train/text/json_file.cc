// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/text/json_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {

using Json = nlohmann::json;

absl::Status JsonFile::CheckIs(const char* key, const Json& ours) const {
  if (!value.contains(key) || value[key] == ours) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` has the `", key, "` ", value[key].dump(), ", and only ",
      ours.dump(), " is supported; give another model"));
}

absl::StatusOr<JsonFile> ReadJson(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return JsonFile{path, std::move(json)};
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` is not JSON; give the file that belongs to the model"));
}

absl::StatusOr<JsonFile> ReadJsonObjectIfThere(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return JsonFile{path, Json::object()};
  }
  OCANNL_ASSIGN_OR_RETURN(JsonFile json, ReadJson(path));
  if (json.value.is_object()) return json;
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` is not a JSON object; give that of the model, or none"));
}

}  // namespace ocannl::train
