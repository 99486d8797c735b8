// SPDX-License-Identifier: Apache-2.0
//
// A pre-trained BERT in a training that goes on after a checkpoint. A second.
#include "ocannl/train/text/bert.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/data/word_piece.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/graph/params_hash.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/text/sentence_encoder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"
#include "tests/text/small_bert.h"

namespace ocannl::train {
namespace {

using BertTest = SmallBert;

// Learns from the pre-trained weights which of two texts speak of an animal.
struct FineTuning {
  explicit FineTuning(const std::string& folder) {
    const auto pieces = *WordPiece::Load(folder + "/vocab.txt");
    const auto options = *LoadBertOptions(folder + "/config.json");
    const std::vector<std::string> texts = {"the cat sleeps", "a dog runs.",
                                            "sleeping", "the run"};
    const TokenBatch batch = pieces.EncodeBatch(texts);
    Graph& graph = model.graph;
    auto data = [&](const char* name, const NdArray& array) {
      return Data(graph, name, array, {.rows = {array.dims(), Dims{}, Dims{}}});
    };
    const Tensor mask = data("mask", batch.mask);
    const Tensor x =
        Bert({&graph, ""}, options, data("ids", batch.ids), mask, nullptr);
    const Tensor vectors = MeanDirection(x, mask);
    encoder = vectors;
    const Tensor score =
        Linear({&graph, "head"}, {.outputs = Dims{1}})(vectors);
    const Tensor wanted = Einsum1(
        "b| => b|0", data("wanted", NdArray::Of<float>({4}, {1, 1, -1, -1})));
    loss = Named(MeanSquaredError(score, wanted), "loss");
    step = *StartTraining(model, *loss, Number(graph, 0.02), AdamW(),
                          host.context);
    state = *StateArrays(model, *loss, {&step->program()});
  }

  double Train(int steps) {
    for (int k = 0; k < steps; ++k) CHECK_OK(step->Run());
    return Loss();
  }
  double Loss() const { return step->context().Read("loss")->AsDouble(0); }
  std::string Hash() {
    return *ParamsHash(step->context(), AllParameters(model, *loss));
  }

  Model model;
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
  ASSERT_THAT(RestoreParams(weights, whole.model, *whole.encoder,
                            whole.step->context(), *BertFile(weights)),
              IsOk());
  const double first = whole.Train(1);
  whole.Train(14);
  CHECK_OK(SaveParams(checkpoint, whole.state, whole.step->context()));
  EXPECT_LT(whole.Train(15), first / 4);

  FineTuning rest(folder_);
  ASSERT_THAT(RestoreParams(checkpoint, rest.state, rest.step->context()),
              IsOk());
  rest.Train(15);
  EXPECT_EQ(rest.Hash(), whole.Hash());
  EXPECT_EQ(rest.Loss(), whole.Loss());
}

}  // namespace
}  // namespace ocannl::train
