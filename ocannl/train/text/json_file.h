// SPDX-License-Identifier: Apache-2.0
//
// The JSON files of a folder of Hugging Face, and errors that name their keys.
#ifndef OCANNL_TRAIN_TEXT_JSON_FILE_H_
#define OCANNL_TRAIN_TEXT_JSON_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace ocannl::train {

struct JsonFile {
  std::string path;
  nlohmann::json value;

  // Error: the object has another value for the key than `ours`, the only one
  // that there is here. A key that is null or not there is no error.
  absl::Status CheckIs(const char* key, const nlohmann::json& ours) const;
};

// Whether there is a file, a folder or a link, of whatever kind. True if that
// cannot be seen: reading tells why.
bool IsThere(const std::string& path);

// Errors: the system's; the file is longer than ReadText takes, is no JSON, or
// has values in one another more than 64 deep.
absl::StatusOr<JsonFile> ReadJson(const std::string& path);

// The same of a file that a folder need not have: then an empty object. Error:
// the file is there and has no object.
absl::StatusOr<JsonFile> ReadJsonObjectIfThere(const std::string& path);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_TEXT_JSON_FILE_H_
