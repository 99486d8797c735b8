// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/bert.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/checkpoint/torch_names.h"

namespace ocannl {
namespace {

constexpr int64_t kMultiple = 16;  // of the lengths of texts

using Json = nlohmann::json;

// Of a file that is no JSON, a null value.
absl::StatusOr<Json> ReadJson(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json();
}

// The same of a file that a folder need not have: an empty object. Error: it is
// no JSON.
absl::StatusOr<Json> ReadJsonIfThere(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Json::object();
  OCANNL_ASSIGN_OR_RETURN(Json json, ReadJson(path));
  if (json.is_object()) return json;
  return absl::InvalidArgumentError(absl::StrCat(
      "`", path, "` is not a JSON object; give that of the model, or none"));
}

// Error: `json`, an object of the file, has another value than `ours`, the only
// one that there is here.
absl::Status CheckIs(const std::string& path, const Json& json, const char* key,
                     const Json& ours) {
  if (!json.contains(key) || json[key] == ours) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("`", path, "` has another `", key, "` than ", ours.dump(),
                   ", the only one that is here; give another model"));
}

// Of a tokenizer_config.json, if there is one.
absl::StatusOr<train::WordPieceOptions> LoadPieceOptions(
    const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Json json, ReadJsonIfThere(path));
  train::WordPieceOptions options;
  options.lower_case = json.value("do_lower_case", Json(true)) != Json(false);
  const Json null, strips = options.lower_case;
  if (json.value("strip_accents", null) != null) {
    OCANNL_RETURN_IF_ERROR(CheckIs(path, json, "strip_accents", strips));
  }
  return options;
}

}  // namespace

absl::StatusOr<BertOptions> LoadBertOptions(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const Json json, ReadJson(path));
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
  OCANNL_RETURN_IF_ERROR(CheckIs(path, json, "model_type", "bert"));
  OCANNL_RETURN_IF_ERROR(CheckIs(path, json, "hidden_act", "gelu"));
  OCANNL_RETURN_IF_ERROR(
      CheckIs(path, json, "position_embedding_type", "absolute"));
  const Json epsilon = json.value("layer_norm_eps", Json(options.epsilon));
  options.epsilon = epsilon.is_number() ? epsilon.get<double>() : 0;
  if (options.epsilon > 0) return options;
  return absl::InvalidArgumentError(
      absl::StrCat("`", path, "` has no number `layer_norm_eps` above 0; give ",
                   "the config.json of a BERT"));
}

Tensor SentenceVectors(const train::ParamScope& scope,
                       const BertOptions& options, Tensor ids, Tensor mask,
                       const train::Training* training) {
  auto vectors = [&](absl::string_view name, int64_t count, Tensor of) {
    const train::Embedding table(scope / name,
                                 {.count = count, .size = options.size});
    return table(of);
  };
  Tensor places = Einsum1("t => t|", Range(*ids.graph, 0, DType::kI32));
  Tensor x = vectors("word", options.vocabulary, ids);
  x = x + vectors("position", options.positions, places);
  x = x + vectors("type", 2, places - places);  // one sentence: type 0
  x = train::LayerNorm(scope / "norm", options.epsilon)(x);
  x = train::Dropout(x, options.dropout, training);
  const train::Encoder encoder(scope / "encoder", options.layers,
                               {.size = options.size,
                                .heads = options.heads,
                                .hidden = options.hidden,
                                .pre_norm = false,
                                .dropout = options.dropout,
                                .norm_epsilon = options.epsilon});
  Tensor seen = Less(0, Einsum1("b, t| => b, 0|t->0", mask));
  x = encoder(x, seen, training);
  // The length of a mean is that of a sum, divided.
  Tensor sum = Einsum("b, t|d; b, t| => b|d", x, mask);
  return sum / Sqrt(Einsum1("b|d => b|0", Square(sum)));
}

train::RestoreOptions BertFile() {
  return {.allow_extra = true,  // the pooler
          .convert = true,
          .layout = train::FileLayout::kPyTorch,
          .rename = train::PyTorchNames(train::BertRules())};
}

absl::StatusOr<SentenceBert> SentenceBert::Load(const std::string& folder,
                                                const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const BertOptions options,
                          LoadBertOptions(folder + "/config.json"));
  OCANNL_ASSIGN_OR_RETURN(const train::WordPieceOptions letters,
                          LoadPieceOptions(folder + "/tokenizer_config.json"));
  OCANNL_ASSIGN_OR_RETURN(
      train::WordPiece pieces,
      train::WordPiece::Load(folder + "/vocab.txt", letters));
  const std::string pooling = folder + "/1_Pooling/config.json";
  OCANNL_ASSIGN_OR_RETURN(const Json pools, ReadJsonIfThere(pooling));
  OCANNL_RETURN_IF_ERROR(
      CheckIs(pooling, pools, "pooling_mode_mean_tokens", true));
  // With the mean, they would make a longer vector.
  for (const char* other :
       {"pooling_mode_cls_token", "pooling_mode_max_tokens",
        "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
        "pooling_mode_lasttoken"}) {
    OCANNL_RETURN_IF_ERROR(CheckIs(pooling, pools, other, false));
  }
  if (pieces.size() > options.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", folder, "/vocab.txt` has ", pieces.size(), " pieces, and the ",
        "model ", options.vocabulary, "; give the one that belongs to it"));
  }
  auto make = [options](train::Model& model, const train::TokenBatch& batch) {
    const ShapeSpec rows = {.rows = {batch.ids.dims(), Dims{}, Dims{}}};
    const Tensor ids = Data(model.graph, "ids", batch.ids, rows);
    const Tensor mask = Data(model.graph, "mask", batch.mask, rows);
    const Tensor vectors =
        SentenceVectors({&model.graph, ""}, options, ids, mask, nullptr);
    return train::NetCode{.outputs = {vectors}, .inputs = {ids, mask}};
  };
  train::Model model;
  const train::NetCode net = make(model, pieces.EncodeBatch({""}));
  OCANNL_RETURN_IF_ERROR(train::RestoreParams(folder + "/model.safetensors",
                                              model, net.outputs[0], context,
                                              BertFile()));
  return SentenceBert(
      std::move(pieces), options.positions,
      train::PredictorTable(
          [make](train::Model& empty, absl::Span<const NdArray> values) {
            return make(empty, {.ids = values[0], .mask = values[1]});
          },
          context));
}

absl::StatusOr<NdArray> SentenceBert::Embed(
    absl::Span<const std::string> texts) {
  if (texts.empty()) {
    return absl::InvalidArgumentError("there is no text; give one or more");
  }
  const train::TokenBatch batch =
      pieces_.EncodeBatch(texts, {.most = positions_, .multiple = kMultiple});
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> vectors,
                          nets_.PredictAll({batch.ids, batch.mask}));
  return std::move(vectors[0]);
}

}  // namespace ocannl
