// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/text/bert.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/checkpoint/torch_names.h"
#include "ocannl/train/text/json_file.h"

namespace ocannl::train {

absl::StatusOr<BertOptions> LoadBertOptions(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const JsonFile file, ReadJson(path));
  const nlohmann::json& json = file.value;
  if (json.is_object()) {
    OCANNL_RETURN_IF_ERROR(file.CheckIs("model_type", "bert"));
  }
  BertOptions options{};
  struct Key {
    const char* name;
    int64_t* value;
    int64_t least, most;
  };
  constexpr int64_t kMost = 1 << 24;
  for (const auto& [key, value, least, most] :
       {Key{"vocab_size", &options.vocabulary, 1, kMost},
        {"max_position_embeddings", &options.positions, 2, kMost},
        {"hidden_size", &options.size, 1, kMost},
        {"num_hidden_layers", &options.layers, 1, 1024},
        {"num_attention_heads", &options.heads, 1, kMost},
        {"intermediate_size", &options.hidden, 1, kMost}}) {
    const bool is_there =
        json.is_object() && json.contains(key) && json[key].is_number_integer();
    *value = is_there ? json[key].get<int64_t>() : 0;
    if (*value >= least && *value <= most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("`", path, "` has no whole number `", key, "` from ",
                     least, " to ", most, "; give the config.json of a BERT"));
  }
  if (options.size % options.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", path, "` has a hidden_size of ", options.size,
                     ", which ", options.heads, " num_attention_heads do not ",
                     "divide; give the config.json of a BERT"));
  }
  OCANNL_RETURN_IF_ERROR(file.CheckIs("hidden_act", "gelu"));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("position_embedding_type", "absolute"));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("is_decoder", false));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("type_vocab_size", 2));
  const nlohmann::json epsilon =
      json.value("layer_norm_eps", nlohmann::json(options.epsilon));
  options.epsilon = epsilon.is_number() ? epsilon.get<double>() : 0;
  if (options.epsilon > 0) return options;
  return absl::InvalidArgumentError(
      absl::StrCat("`", path, "` has no number `layer_norm_eps` above 0; give ",
                   "the config.json of a BERT"));
}

Tensor Bert(const ParamScope& scope, const BertOptions& options, Tensor ids,
            Tensor mask, const Training* training) {
  auto vectors = [&](absl::string_view name, int64_t count, Tensor of) {
    const Embedding table(scope / name, {.count = count, .size = options.size});
    return table(of);
  };
  Tensor places = Einsum1("t => t|", Range(*ids.graph, 0, DType::kI32));
  Tensor x = vectors("word", options.vocabulary, ids);
  x = x + vectors("position", options.positions, places);
  x = x + vectors("type", 2, places - places);  // one sentence: type 0
  x = LayerNorm(scope / "norm", options.epsilon)(x);
  x = Dropout(x, options.dropout, training);
  const Encoder encoder(scope / "encoder", options.layers,
                        {.size = options.size,
                         .heads = options.heads,
                         .hidden = options.hidden,
                         .pre_norm = false,
                         .dropout = options.dropout,
                         .norm_epsilon = options.epsilon});
  Tensor seen = Less(0, Einsum1("b, t| => b, 0|t->0", mask));
  return encoder(x, seen, training);
}

absl::StatusOr<RestoreOptions> BertFile(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::vector<ArrayEntry> arrays,
                          ListArrays(path));
  const bool is_part = absl::c_any_of(arrays, [](const ArrayEntry& array) {
    return absl::StartsWith(array.name, "bert.embeddings.");
  });
  return RestoreOptions{
      .allow_extra = true,  // the pooler
      .convert = true,
      .layout = FileLayout::kPyTorch,
      .rename = [names = PyTorchNames(BertRules()),
                 prefix = is_part ? "bert." : ""](absl::string_view name) {
        return absl::StrCat(prefix, names(name));
      }};
}

}  // namespace ocannl::train
