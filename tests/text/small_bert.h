// SPDX-License-Identifier: Apache-2.0
//
// SmallBert: the folder of a tiny BERT with random weights, and its vectors by
// the formulas of the paper.
#ifndef TESTS_TEXT_SMALL_BERT_H_
#define TESTS_TEXT_SMALL_BERT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl::train {

inline constexpr int kSize = 6, kHeads = 2, kHidden = 8, kLayers = 2,
                     kPlaces = 32;
inline const std::vector<std::string> kPieces = {
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

Weights RandomWeights();

// The file as PyTorch's users write it, of f32 or f64.
std::string Safetensors(const Weights& weights, bool is_f64);

// The vectors of the paper's formulas in f64, of texts without padding.
class Reference {
 public:
  explicit Reference(Weights weights) : weights_(std::move(weights)) {}

  std::vector<double> Embed(const std::vector<int32_t>& ids) const;

 private:
  const Matrix& W(const std::string& name) const { return weights_.at(name); }
  Matrix Linear(const std::string& name, const Matrix& x) const;
  void Norm(const std::string& name, Matrix& x) const;
  Matrix Attention(const std::string& layer, const Matrix& x) const;

  Weights weights_;
};

class SmallBert : public testing::Test {
 protected:
  void SetUp() override;  // writes the files
  void Write(const std::string& name, const std::string& bytes);

  // Of this test only.
  std::string folder_ =
      testing::TempDir() + "/bert_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  Weights weights_ = RandomWeights();
};

}  // namespace ocannl::train

#endif  // TESTS_TEXT_SMALL_BERT_H_
