// SPDX-License-Identifier: Apache-2.0
//
// A tiny BERT, made here with random weights, from its files to its vectors and
// to a training that goes on.
#include "experiments/nets/bert.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kSize = 6, kHeads = 2, kHidden = 8, kLayers = 2, kPlaces = 32;
const std::vector<std::string> kPieces = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat",  "dog",
    "##s",   "sleep", "run",   ".",     "a",   "##ing"};

// A matrix, or a vector of one column, in f64.
struct Matrix {
  int rows, columns;
  std::vector<double> cells;

  double& at(int i, int j) { return cells[i * columns + j]; }
  double at(int i, int j) const { return cells[i * columns + j]; }
};

using Weights = std::map<std::string, Matrix>;

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

// The file as PyTorch's users write it, of f32 or f64.
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

// The vectors of the paper's formulas in f64, of texts without padding.
class Reference {
 public:
  explicit Reference(Weights weights) : weights_(std::move(weights)) {}

  std::vector<double> Embed(const std::vector<int32_t>& ids) const {
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

 private:
  const Matrix& W(const std::string& name) const { return weights_.at(name); }

  static void Add(const Matrix& y, Matrix& x) {
    for (size_t k = 0; k < x.cells.size(); ++k) x.cells[k] += y.cells[k];
  }

  Matrix Linear(const std::string& name, const Matrix& x) const {
    const Matrix& w = W(name + ".weight");
    Matrix y{x.rows, w.rows, std::vector<double>(x.rows * w.rows)};
    for (int t = 0; t < x.rows; ++t) {
      for (int o = 0; o < w.rows; ++o) {
        y.at(t, o) = W(name + ".bias").at(o, 0);
        for (int i = 0; i < w.columns; ++i)
          y.at(t, o) += w.at(o, i) * x.at(t, i);
      }
    }
    return y;
  }

  void Norm(const std::string& name, Matrix& x) const {
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

  Matrix Attention(const std::string& layer, const Matrix& x) const {
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

  Weights weights_;
};

class BertTest : public testing::Test {
 protected:
  void SetUp() override {
    CHECK_OK(MakeDirectory(folder_));
    Write("vocab.txt", absl::StrJoin(kPieces, "\n") + "\n");
    Write("config.json", absl::StrCat("{\"vocab_size\": ", kPieces.size(),
                                      ", \"max_position_embeddings\": ",
                                      kPlaces, ", \"hidden_size\": ", kSize,
                                      ", \"num_hidden_layers\": ", kLayers,
                                      ", \"num_attention_heads\": ", kHeads,
                                      ", \"intermediate_size\": ", kHidden,
                                      ", \"layer_norm_eps\": 1e-12}"));
    Write("model.safetensors", Safetensors(weights_, false));
  }

  void Write(const std::string& name, const std::string& bytes) {
    CHECK_OK(WriteFile(absl::StrCat(folder_, "/", name), bytes));
  }

  // Of this test only.
  std::string folder_ = absl::StrCat(
      testing::TempDir(), "/bert_",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  Weights weights_ = RandomWeights();
};

TEST_F(BertTest, VectorsOfTheFormulasOnAllTiers) {
  const std::vector<std::string> texts = {"The cats sleep.", "A dog running",
                                          "the", ""};
  const Reference reference(weights_);
  std::vector<std::string> bits;
  for (std::string tier : {"interp", "x86-avx2", "x86-avx512"}) {
    const auto backend = FindTier(tier);
    if (!backend.ok()) continue;
    TestDevice host(*backend);
    auto bert = SentenceBert::Load(folder_, host.context);
    ASSERT_THAT(bert, IsOk());
    const auto rows = bert->Embed(texts);
    ASSERT_THAT(rows, IsOk());
    bits.emplace_back(rows->AsString());
    for (size_t k = 0; k < texts.size(); ++k) {
      std::vector<int32_t> ids = bert->pieces().Encode(texts[k]);
      ids.insert(ids.begin(), 2);
      ids.push_back(3);
      const std::vector<double> expected = reference.Embed(ids);
      for (int d = 0; d < kSize; ++d) {
        EXPECT_NEAR(rows->AsDouble(k * kSize + d), expected[d], 5e-6)
            << texts[k] << ", " << d << ", " << tier;
      }
    }
    // A network for another shape has the same parameters.
    const auto alone = bert->Embed({texts[1]});
    ASSERT_THAT(alone, IsOk());
    EXPECT_EQ(alone->AsString(), rows->AsString().substr(kSize * 4, kSize * 4));
    EXPECT_EQ(bert->Embed(texts)->AsString(), bits.back());
  }
  for (const std::string& each : bits) EXPECT_TRUE(each == bits[0]);
}

TEST_F(BertTest, FilesThatDoNotFit) {
  const TestDevice host;
  auto error = [&] {
    return std::string(
        SentenceBert::Load(folder_, host.context).status().message());
  };
  Write("model.safetensors", Safetensors(weights_, true));  // converted
  EXPECT_EQ(error(), "");
  Weights other = weights_;
  other.erase("encoder.layer.1.output.dense.bias");
  other["embeddings.LayerNorm.weight"].rows = 3;
  other["embeddings.LayerNorm.weight"].cells.resize(3);
  Write("model.safetensors", Safetensors(other, false));
  EXPECT_THAT(error(),
              AllOf(HasSubstr("2 arrays do not fit, and 35 do:"),
                    HasSubstr("`norm_scale`: `embeddings.LayerNorm.weight` is "
                              "f32[3], not f32[6]"),
                    HasSubstr("it has no `encoder.layer.1.output.dense.bias` "
                              "for `encoder_block2_out_b`")));
  Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n");
  EXPECT_THAT(error(), HasSubstr("there is no piece [SEP]"));
  Write("config.json", "{\"vocab_size\": -1}");
  EXPECT_THAT(error(), HasSubstr("no whole number `vocab_size` from 1 to"));
  for (const std::string text : {"", "[]", "{", "\xff", "{}"}) {
    Write("config.json", text);
    EXPECT_THAT(error(), HasSubstr("no whole number `vocab_size`")) << text;
  }
}

TEST_F(BertTest, LettersAsTheModelHasThem) {
  const TestDevice host;
  auto ids = [&] {
    auto bert = SentenceBert::Load(folder_, host.context);
    CHECK_OK(bert);
    EXPECT_THAT(bert->Embed({}).status().message(), HasSubstr("no text"));
    return bert->pieces().Encode("The cat");
  };
  EXPECT_THAT(ids(), testing::ElementsAre(4, 5));
  Write("tokenizer_config.json", "{\"do_lower_case\": false}");
  EXPECT_THAT(ids(), testing::ElementsAre(1, 5));
  Write("tokenizer_config.json",
        "{\"do_lower_case\": true, \"strip_accents\": false}");
  EXPECT_THAT(SentenceBert::Load(folder_, host.context).status().message(),
              HasSubstr("another `strip_accents` than true"));
}

// Learns from the pre-trained weights which of two texts speak of an animal.
struct FineTuning {
  explicit FineTuning(const std::string& folder) {
    const auto pieces = *train::WordPiece::Load(folder + "/vocab.txt");
    const auto options = *LoadBertOptions(folder + "/config.json");
    const std::vector<std::string> texts = {"the cat sleeps", "a dog runs.",
                                            "sleeping", "the run"};
    const train::TokenBatch batch = pieces.EncodeBatch(texts);
    Graph& graph = model.graph;
    auto data = [&](const char* name, const NdArray& array) {
      return Data(graph, name, array, {.rows = {array.dims(), Dims{}, Dims{}}});
    };
    const Tensor vectors =
        SentenceVectors({&graph, ""}, options, data("ids", batch.ids),
                        data("mask", batch.mask), nullptr);
    encoder = vectors;
    const Tensor score =
        train::Linear({&graph, "head"}, {.outputs = Dims{1}})(vectors);
    const Tensor wanted = Einsum1(
        "b| => b|0", data("wanted", NdArray::Of<float>({4}, {1, 1, -1, -1})));
    loss = Named(train::MeanSquaredError(score, wanted), "loss");
    step = *train::StartTraining(model, *loss, Number(graph, 0.02),
                                 train::AdamW(), host.context);
    state = *train::StateArrays(model, *loss, {&step->program()});
  }

  double Train(int steps) {
    for (int k = 0; k < steps; ++k) CHECK_OK(step->Run());
    return Loss();
  }
  double Loss() const { return step->context().Read("loss")->AsDouble(0); }
  std::string Hash() {
    return *train::ParamsHash(step->context(),
                              train::AllParameters(model, *loss));
  }

  train::Model model;
  TestDevice host;
  std::optional<Tensor> encoder, loss;
  std::optional<Routine> step;
  std::vector<Array> state;
};

TEST_F(BertTest, FineTuningGoesOnAfterACheckpoint) {
  const std::string weights = folder_ + "/model.safetensors";
  const std::string checkpoint = testing::TempDir() + "/tuned.npz";
  FineTuning whole(folder_);
  // The head is new; all else is in the file.
  ASSERT_THAT(train::RestoreParams(weights, whole.model, *whole.encoder,
                                   whole.step->context(), BertFile()),
              IsOk());
  const double first = whole.Train(1);
  whole.Train(14);
  CHECK_OK(train::SaveParams(checkpoint, whole.state, whole.step->context()));
  EXPECT_LT(whole.Train(15), first / 4);

  FineTuning rest(folder_);
  ASSERT_THAT(
      train::RestoreParams(checkpoint, rest.state, rest.step->context()),
      IsOk());
  rest.Train(15);
  EXPECT_EQ(rest.Hash(), whole.Hash());
  EXPECT_EQ(rest.Loss(), whole.Loss());
}

}  // namespace
}  // namespace ocannl
