// SPDX-License-Identifier: Apache-2.0
#include "tests/text/small_bert.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl::train {
namespace {

void Add(const Matrix& y, Matrix& x) {
  for (size_t k = 0; k < x.cells.size(); ++k) x.cells[k] += y.cells[k];
}

}  // namespace

Weights RandomWeights() {
  std::mt19937 random(1);
  Weights weights;
  auto add = [&](const std::string& name, int rows, int columns, double mean) {
    Matrix& m = weights[name] = {rows, columns, {}};
    for (int k = 0; k < rows * columns; ++k) {
      const double uniform = static_cast<double>(random()) / 4294967296.0;
      m.cells.push_back(static_cast<float>(mean + uniform - 0.5));
    }
  };
  auto linear = [&](const std::string& name, int out, int in) {
    add(name + ".weight", out, in, 0);
    add(name + ".bias", out, 1, 0);
  };
  auto norm = [&](const std::string& name) {
    add(name + ".weight", kSize, 1, 1);
    add(name + ".bias", kSize, 1, 0);
  };
  add("embeddings.word_embeddings.weight", kPieces.size(), kSize, 0);
  add("embeddings.position_embeddings.weight", kPlaces, kSize, 0);
  add("embeddings.token_type_embeddings.weight", 2, kSize, 0);
  norm("embeddings.LayerNorm");
  for (int k = 0; k < kLayers; ++k) {
    const std::string layer = absl::StrCat("encoder.layer.", k, ".");
    for (std::string part : {"query", "key", "value"}) {
      linear(layer + "attention.self." + part, kSize, kSize);
    }
    linear(layer + "attention.output.dense", kSize, kSize);
    norm(layer + "attention.output.LayerNorm");
    linear(layer + "intermediate.dense", kHidden, kSize);
    linear(layer + "output.dense", kSize, kHidden);
    norm(layer + "output.LayerNorm");
  }
  linear("pooler.dense", kSize, kSize);
  return weights;
}

std::string Safetensors(const Weights& weights, bool is_f64) {
  std::vector<std::string> entries;
  std::string numbers;
  for (const auto& [name, m] : weights) {
    const size_t begin = numbers.size();
    for (double cell : m.cells) {
      const auto narrow = static_cast<float>(cell);
      numbers.append(is_f64 ? reinterpret_cast<const char*>(&cell)
                            : reinterpret_cast<const char*>(&narrow),
                     is_f64 ? 8 : 4);
    }
    entries.push_back(
        absl::StrCat("\"", name, "\":{\"dtype\":\"", is_f64 ? "F64" : "F32",
                     "\",\"shape\":[", m.rows, m.columns > 1 ? "," : "",
                     m.columns > 1 ? absl::StrCat(m.columns) : "",
                     "],\"data_offsets\":[", begin, ",", numbers.size(), "]}"));
  }
  const std::string header =
      absl::StrCat("{", absl::StrJoin(entries, ","), "}");
  const uint64_t length = header.size();
  return absl::StrCat(
      absl::string_view(reinterpret_cast<const char*>(&length), 8), header,
      numbers);
}

std::vector<double> Reference::Embed(const std::vector<int32_t>& ids) const {
  const int length = static_cast<int>(ids.size());
  Matrix x{length, kSize, std::vector<double>(length * kSize)};
  for (int t = 0; t < length; ++t) {
    for (int d = 0; d < kSize; ++d) {
      x.at(t, d) = W("embeddings.word_embeddings.weight").at(ids[t], d) +
                   W("embeddings.position_embeddings.weight").at(t, d) +
                   W("embeddings.token_type_embeddings.weight").at(0, d);
    }
  }
  Norm("embeddings.LayerNorm", x);
  for (int k = 0; k < kLayers; ++k) {
    const std::string layer = absl::StrCat("encoder.layer.", k, ".");
    Add(Linear(layer + "attention.output.dense", Attention(layer, x)), x);
    Norm(layer + "attention.output.LayerNorm", x);
    Matrix inner = Linear(layer + "intermediate.dense", x);
    for (double& c : inner.cells) c = c / 2 * (1 + std::erf(c / M_SQRT2));
    Add(Linear(layer + "output.dense", inner), x);
    Norm(layer + "output.LayerNorm", x);
  }
  std::vector<double> sum(kSize);
  double squares = 0;
  for (int d = 0; d < kSize; ++d) {
    for (int t = 0; t < length; ++t) sum[d] += x.at(t, d);
    squares += sum[d] * sum[d];
  }
  for (double& c : sum) c /= std::sqrt(squares);
  return sum;
}

Matrix Reference::Linear(const std::string& name, const Matrix& x) const {
  const Matrix& w = W(name + ".weight");
  Matrix y{x.rows, w.rows, std::vector<double>(x.rows * w.rows)};
  for (int t = 0; t < x.rows; ++t) {
    for (int o = 0; o < w.rows; ++o) {
      y.at(t, o) = W(name + ".bias").at(o, 0);
      for (int i = 0; i < w.columns; ++i) y.at(t, o) += w.at(o, i) * x.at(t, i);
    }
  }
  return y;
}

void Reference::Norm(const std::string& name, Matrix& x) const {
  for (int t = 0; t < x.rows; ++t) {
    double mean = 0, variance = 0;
    for (int d = 0; d < kSize; ++d) mean += x.at(t, d) / kSize;
    for (int d = 0; d < kSize; ++d) {
      variance += (x.at(t, d) - mean) * (x.at(t, d) - mean) / kSize;
    }
    for (int d = 0; d < kSize; ++d) {
      x.at(t, d) = (x.at(t, d) - mean) / std::sqrt(variance + 1e-12) *
                       W(name + ".weight").at(d, 0) +
                   W(name + ".bias").at(d, 0);
    }
  }
}

Matrix Reference::Attention(const std::string& layer, const Matrix& x) const {
  const Matrix q = Linear(layer + "attention.self.query", x);
  const Matrix k = Linear(layer + "attention.self.key", x);
  const Matrix v = Linear(layer + "attention.self.value", x);
  constexpr int kKey = kSize / kHeads;
  Matrix found{x.rows, kSize, std::vector<double>(x.rows * kSize)};
  for (int h = 0; h < kHeads; ++h) {
    for (int s = 0; s < x.rows; ++s) {
      double sum = 0;
      std::vector<double> e(x.rows);
      for (int t = 0; t < x.rows; ++t) {
        double score = 0;
        for (int d = h * kKey; d < (h + 1) * kKey; ++d) {
          score += q.at(s, d) * k.at(t, d);
        }
        sum += e[t] = std::exp(score / std::sqrt(kKey));
      }
      for (int t = 0; t < x.rows; ++t) {
        for (int d = h * kKey; d < (h + 1) * kKey; ++d) {
          found.at(s, d) += e[t] / sum * v.at(t, d);
        }
      }
    }
  }
  return found;
}

void SmallBert::SetUp() {
  CHECK_OK(MakeDirectory(folder_));
  Write("vocab.txt", absl::StrJoin(kPieces, "\n") + "\n");
  Write("config.json", absl::StrCat("{\"vocab_size\": ", kPieces.size(),
                                    ", \"max_position_embeddings\": ", kPlaces,
                                    ", \"hidden_size\": ", kSize,
                                    ", \"num_hidden_layers\": ", kLayers,
                                    ", \"num_attention_heads\": ", kHeads,
                                    ", \"intermediate_size\": ", kHidden,
                                    ", \"layer_norm_eps\": 1e-12}"));
  Write("model.safetensors", Safetensors(weights_, false));
}

void SmallBert::Write(const std::string& name, const std::string& bytes) {
  CHECK_OK(WriteFile(absl::StrCat(folder_, "/", name), bytes));
}

}  // namespace ocannl::train
