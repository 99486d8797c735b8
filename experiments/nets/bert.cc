// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/bert.h"

#include <algorithm>
#include <optional>

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

// The ids and the mask of texts, as inputs of a network.
struct TokenInputs {
  TokenInputs(Graph& graph, const train::TokenBatch& batch)
      : ids(Data(graph, "ids", batch.ids, Rows(batch))),
        mask(Data(graph, "mask", batch.mask, Rows(batch))) {}

  static ShapeSpec Rows(const train::TokenBatch& batch) {
    return {.rows = {batch.ids.dims(), Dims{}, Dims{}}};
  }

  Tensor ids, mask;
};

}  // namespace

absl::StatusOr<BertOptions> LoadBertOptions(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const auto json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  BertOptions options{};
  for (const auto& [key, value] :
       {std::pair("vocab_size", &options.vocabulary),
        {"max_position_embeddings", &options.positions},
        {"hidden_size", &options.size},
        {"num_hidden_layers", &options.layers},
        {"num_attention_heads", &options.heads},
        {"intermediate_size", &options.hidden}}) {
    const bool is_there =
        json.is_object() && json.contains(key) && json[key].is_number_integer();
    *value = is_there ? json[key].get<int64_t>() : 0;
    if (*value >= 1 && *value <= 1 << 24) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("`", path, "` has no whole number `", key,
                     "` above 0; give the config.json of a BERT"));
  }
  if (json.contains("layer_norm_eps") && json["layer_norm_eps"].is_number()) {
    options.epsilon = json["layer_norm_eps"].get<double>();
  }
  return options;
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
          .rename = train::PyTorchNames(
              {{"encoder_block{n}", "encoder.layer.{n-1}"},
               {"self_norm", "attention.output.LayerNorm"},
               {"self_out", "attention.output.dense"},
               {"self", "attention.self"},
               {"in", "intermediate.dense"},
               {"out", "output.dense"},
               {"mlp_norm", "output.LayerNorm"},
               {"norm", "embeddings.LayerNorm"},
               {"word", "embeddings.word_embeddings"},
               {"position", "embeddings.position_embeddings"},
               {"type", "embeddings.token_type_embeddings"}})};
}

absl::StatusOr<SentenceBert> SentenceBert::Load(const std::string& folder,
                                                const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const BertOptions options,
                          LoadBertOptions(folder + "/config.json"));
  OCANNL_ASSIGN_OR_RETURN(train::WordPiece pieces,
                          train::WordPiece::Load(folder + "/vocab.txt"));
  if (pieces.size() > options.vocabulary) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`", folder, "/vocab.txt` has ", pieces.size(), " pieces, and the ",
        "model ", options.vocabulary, "; give the one that belongs to it"));
  }
  auto make = [options](train::Model& model, const train::TokenBatch& batch) {
    const TokenInputs inputs(model.graph, batch);
    const Tensor vectors = SentenceVectors({&model.graph, ""}, options,
                                           inputs.ids, inputs.mask, nullptr);
    return train::NetCode{.outputs = {vectors},
                          .inputs = {inputs.ids, inputs.mask}};
  };
  train::Model model;
  const train::NetCode net = make(model, pieces.EncodeBatch({""}, 2));
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
  const int64_t length = std::min(
      (pieces_.LengthOf(texts) + kMultiple - 1) / kMultiple * kMultiple,
      positions_);
  const train::TokenBatch batch = pieces_.EncodeBatch(texts, length);
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> vectors,
                          nets_.PredictAll({batch.ids, batch.mask}));
  return std::move(vectors[0]);
}

}  // namespace ocannl
