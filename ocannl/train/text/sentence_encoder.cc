// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/text/sentence_encoder.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/text/bert.h"
#include "ocannl/train/text/json_file.h"

namespace ocannl::train {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMultiple = 16;  // of the lengths of texts

// Of a tokenizer_config.json, if there is one.
absl::StatusOr<WordPieceOptions> PieceOptionsOf(const JsonFile& file) {
  const Json lower_case = file.value.value("do_lower_case", Json(true));
  if (!lower_case.is_boolean()) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", file.path, "` has the `do_lower_case` ",
                     lower_case.dump(), "; give true or false"));
  }
  OCANNL_RETURN_IF_ERROR(file.CheckIs("strip_accents", lower_case));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("tokenize_chinese_chars", true));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("do_basic_tokenize", true));
  if (file.value.value("tokenizer_class", Json()) != "BertTokenizerFast") {
    OCANNL_RETURN_IF_ERROR(file.CheckIs("tokenizer_class", "BertTokenizer"));
  }
  return WordPieceOptions{.lower_case = lower_case.get<bool>()};
}

// Error: the list of modules.json, if there is one, has others than those that
// make a SentenceEncoder.
absl::Status CheckModules(const std::string& path) {
  if (!IsThere(path)) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const JsonFile file, ReadJson(path));
  if (!file.value.is_array() || file.value.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", path, "` is no list of a Transformer and a Pooling; ",
                     "give another model"));
  }
  for (const Json& module : file.value) {
    const Json type =
        module.is_object() ? module.value("type", Json()) : Json();
    const std::string name = type.is_string() ? type.get<std::string>() : "";
    constexpr std::array kTypes = {".Transformer", ".Pooling", ".Normalize"};
    const size_t at = &module - &file.value[0];
    if (at < kTypes.size() && absl::EndsWith(name, kTypes[at])) {
      const JsonFile one{path, module};
      if (at == 0) OCANNL_RETURN_IF_ERROR(one.CheckIs("path", ""));
      if (at == 1) OCANNL_RETURN_IF_ERROR(one.CheckIs("path", "1_Pooling"));
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "`", path, "` has a module of the `type` ", type.dump(), ", and only ",
        "Transformer, Pooling and Normalize, in this order, are supported; "
        "give another model"));
  }
  return absl::OkStatus();
}

// Error: 1_Pooling/config.json asks for other vectors than means of `size`.
absl::Status CheckPooling(const std::string& path, int64_t size) {
  OCANNL_ASSIGN_OR_RETURN(const JsonFile file, ReadJsonObjectIfThere(path));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("pooling_mode", "mean"));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("pooling_mode_mean_tokens", true));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("word_embedding_dimension", size));
  // With the mean, they would make a longer vector.
  for (const char* other :
       {"pooling_mode_cls_token", "pooling_mode_max_tokens",
        "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
        "pooling_mode_lasttoken"}) {
    OCANNL_RETURN_IF_ERROR(file.CheckIs(other, false));
  }
  return absl::OkStatus();
}

// The value of the key, at least 2, or `most` if that is less or there is none.
absl::StatusOr<int64_t> LengthOf(const JsonFile& file, const char* key,
                                 int64_t most) {
  const Json given = file.value.value(key, Json());
  if (given.is_null()) return most;
  // HuggingFace writes 1e30, which no whole number holds, for no limit.
  const double length = given.is_number() ? given.get<double>() : 0;
  if (length >= most) return most;
  if (given.is_number_integer() && length >= 2) return given.get<int64_t>();
  return absl::InvalidArgumentError(
      absl::StrCat("`", file.path, "` has the `", key, "` ", given.dump(),
                   "; give a whole number of 2 or more"));
}

// The length that sentence_bert_config.json gives, or the tokenizer's.
absl::StatusOr<int64_t> LoadMaxLength(const std::string& path,
                                      const JsonFile& tokenizer,
                                      int64_t positions) {
  OCANNL_ASSIGN_OR_RETURN(const JsonFile file, ReadJsonObjectIfThere(path));
  OCANNL_RETURN_IF_ERROR(file.CheckIs("do_lower_case", false));
  if (file.value.value("max_seq_length", Json()).is_null()) {
    return LengthOf(tokenizer, "model_max_length", positions);
  }
  return LengthOf(file, "max_seq_length", positions);
}

// The mean of no token has no direction.
absl::Status CheckMask(const NdArray& mask) {
  const auto cells = mask.values<float>();
  for (int64_t row = 0; row < mask.dims()[0]; ++row) {
    const auto of_row = cells.subspan(row * mask.dims()[1], mask.dims()[1]);
    const bool is_mask = absl::c_all_of(
        of_row, [](float cell) { return cell == 0 || cell == 1; });
    if (is_mask && absl::c_linear_search(of_row, 1)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "row ", row, " of the mask has ", is_mask ? "no 1" : "other cells",
        "; give 1 for each token, of which there is one or more, and else 0"));
  }
  return absl::OkStatus();
}

NetCode MakeNet(Model& model, const BertOptions& options,
                const TokenBatch& batch) {
  const ShapeSpec rows = {.rows = {batch.ids.dims(), Dims{}, Dims{}}};
  const Tensor ids = Data(model.graph, "ids", batch.ids, rows);
  const Tensor mask = Data(model.graph, "mask", batch.mask, rows);
  const Tensor x = Bert({&model.graph, ""}, options, ids, mask, nullptr);
  return {.outputs = {MeanDirection(x, mask)}, .inputs = {ids, mask}};
}

}  // namespace

Tensor MeanDirection(Tensor x, Tensor mask) {
  // The direction of a mean is that of the sum.
  Tensor sum = Einsum("b, t|d; b, t| => b|d", x, mask);
  return sum / Sqrt(Einsum1("b|d => b|0", Square(sum)));
}

std::vector<Neighbour> NearestRows(const NdArray& rows, const NdArray& query,
                                   int64_t most) {
  const auto wanted = query.values<float>();
  const auto cells = rows.values<float>();
  CHECK(rows.dims().size() == 2 && rows.dims()[1] == query.size())
      << DescribeArray(rows.dtype(), rows.dims()) << " are no rows of "
      << query.size();
  std::vector<Neighbour> found;
  for (size_t at = 0; at < cells.size(); at += wanted.size()) {
    found.push_back({.row = static_cast<int64_t>(found.size()),
                     .score = absl::c_inner_product(
                         wanted, cells.subspan(at, wanted.size()), 0.0f)});
  }
  absl::c_stable_sort(found, [](const Neighbour& a, const Neighbour& b) {
    return a.score > b.score;
  });
  if (most < rows.dims()[0]) found.resize(most);
  return found;
}

absl::StatusOr<SentenceEncoder> SentenceEncoder::Load(const std::string& folder,
                                                      const Context& context) {
  OCANNL_ASSIGN_OR_RETURN(const BertOptions options,
                          LoadBertOptions(folder + "/config.json"));
  OCANNL_ASSIGN_OR_RETURN(
      const JsonFile tokenizer,
      ReadJsonObjectIfThere(folder + "/tokenizer_config.json"));
  OCANNL_ASSIGN_OR_RETURN(const WordPieceOptions letters,
                          PieceOptionsOf(tokenizer));
  OCANNL_ASSIGN_OR_RETURN(WordPiece pieces,
                          WordPiece::Load(folder + "/vocab.txt", letters));
  if (pieces.size() > options.vocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("`", folder, "/vocab.txt` has ", pieces.size(),
                     " pieces, and the ", "`vocab_size` of config.json is ",
                     options.vocabulary, "; give the ", "files of one model"));
  }
  OCANNL_RETURN_IF_ERROR(CheckModules(folder + "/modules.json"));
  OCANNL_RETURN_IF_ERROR(
      CheckPooling(folder + "/1_Pooling/config.json", options.size));
  OCANNL_ASSIGN_OR_RETURN(const int64_t max_length,
                          LoadMaxLength(folder + "/sentence_bert_config.json",
                                        tokenizer, options.positions));
  const std::string weights = folder + "/model.safetensors";
  OCANNL_ASSIGN_OR_RETURN(const RestoreOptions file, BertFile(weights));
  Model model;
  const NetCode net = MakeNet(model, options, pieces.EncodeBatch({""}));
  OCANNL_RETURN_IF_ERROR(
      RestoreParams(weights, model, net.outputs[0], context, file));
  return SentenceEncoder(
      std::move(pieces), options, max_length,
      PredictorTable(
          [options](Model& empty, absl::Span<const NdArray> values) {
            return MakeNet(empty, options,
                           {.ids = values[0], .mask = values[1]});
          },
          context,
          // Full batches of each length, and some that are not full.
          16 + max_length / kMultiple));
}

absl::StatusOr<NdArray> SentenceEncoder::Embed(
    absl::Span<const std::string> texts, int64_t batch) {
  if (texts.empty() || batch < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        texts.size(), " texts in batches of ", batch, "; give 1 or more"));
  }
  std::vector<std::vector<int32_t>> encoded;
  for (const std::string& text : texts) {
    OCANNL_RETURN_IF_ERROR(CheckNotCancelled());
    encoded.push_back(pieces_.Encode(text));
  }
  std::vector<size_t> order(texts.size());
  absl::c_iota(order, 0);
  // The longest ones first: memory for all is there from the beginning.
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return encoded[a].size() > encoded[b].size();
  });
  NdArray rows(DType::kF32, {static_cast<int64_t>(texts.size()), size()});
  float* const row = rows.values<float>().data();
  for (size_t k = 0; k < order.size(); k += batch) {
    const auto some = absl::MakeConstSpan(order).subspan(k, batch);
    std::vector<std::vector<int32_t>> tokens;
    for (size_t text : some) tokens.push_back(std::move(encoded[text]));
    OCANNL_ASSIGN_OR_RETURN(
        const NdArray vectors,
        EmbedTokens(pieces_.Batch(
            tokens, {.most = max_length_, .multiple = kMultiple})));
    const float* vector = vectors.values<float>().data();
    for (size_t text : some) {
      std::copy_n(vector, size(), row + text * size());
      vector += size();
    }
  }
  return rows;
}

absl::StatusOr<NdArray> SentenceEncoder::EmbedTokens(const TokenBatch& tokens) {
  const auto& [ids, mask] = tokens;
  if (ids.dtype() != DType::kI32 || mask.dtype() != DType::kF32 ||
      ids.dims() != mask.dims() || ids.dims().size() != 2 ||
      ids.dims()[1] > options_.positions) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ids are ", DescribeArray(ids.dtype(), ids.dims()), " and the mask is ",
        DescribeArray(mask.dtype(), mask.dims()),
        "; give i32 and f32 [texts, length], and a length of at most ",
        options_.positions));
  }
  for (int32_t id : ids.values<int32_t>()) {
    if (id >= 0 && id < options_.vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("there is no piece ", id,
                                                   "; the last one is ",
                                                   options_.vocabulary - 1));
  }
  OCANNL_RETURN_IF_ERROR(CheckMask(mask));
  OCANNL_ASSIGN_OR_RETURN(std::vector<NdArray> vectors,
                          nets_.PredictAll({ids, mask}));
  return std::move(vectors[0]);
}

}  // namespace ocannl::train
