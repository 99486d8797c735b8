// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/text/json_file.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {

using Json = nlohmann::json;

namespace {

// Arrays and objects in one another. The library copies values and prints them
// by recursion.
constexpr int kMostDepth = 64;

bool IsDeep(absl::string_view json) {
  int depth = 0;
  bool is_text = false;
  for (size_t k = 0; k < json.size(); ++k) {
    const char c = json[k];
    if (c == '"') is_text = !is_text;
    if (is_text && c == '\\') ++k;
    if (is_text) continue;
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kMostDepth) return true;
  }
  return false;
}

}  // namespace

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

absl::Status JsonFile::CheckIs(const char* key, const Json& ours) const {
  if (!value.contains(key) || value[key] == ours || value[key].is_null()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` has the `", key, "` ", value[key].dump(), ", and only ",
      ours.dump(), " is supported; give another model"));
}

absl::StatusOr<JsonFile> ReadJson(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Json json = IsDeep(text) ? Json(Json::value_t::discarded)
                           : Json::parse(text, nullptr,
                                         /*allow_exceptions=*/false);
  if (!json.is_discarded()) return JsonFile{path, std::move(json)};
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` is not JSON, or has values in one another more than ",
      kMostDepth, " deep; give the file that belongs to the model"));
}

absl::StatusOr<JsonFile> ReadJsonObjectIfThere(const std::string& path) {
  if (!IsThere(path)) {
    return JsonFile{path, Json::object()};
  }
  OCANNL_ASSIGN_OR_RETURN(JsonFile json, ReadJson(path));
  if (json.value.is_object()) return json;
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` is not a JSON object; give that of the model, or none"));
}

}  // namespace ocannl::train
