// Learns the digits of a .npz (make_digits.py): images [n, 64], labels [n].
#include <iostream>

#include "ocannl/ocannl.h"
using namespace ocannl;

absl::Status Learn(const char* path) {
  OCANNL_ASSIGN_OR_RETURN(
      auto data, train::LoadArrays(path, {"images", "labels", "unseen"}));
  train::Model model;
  const ShapeSpec pictures = {.rows = {std::nullopt, Dims{64}, Dims{}}};
  const ShapeSpec numbers = {.rows = {std::nullopt, Dims{}, Dims{}}};
  int32_t batch = model.graph.AddStatic("batch", data[1].size() / 50);
  Tensor x = Slice(Data(model.graph, "images", data[0], pictures), batch);
  Tensor y = Slice(Data(model.graph, "labels", data[1], numbers), batch);
  train::Mlp net({&model.graph, "net"}, {.sizes = {32, 10}});
  Tensor loss = train::CrossEntropy(net(x), OneHot(y, 10, DType::kF32));
  Device device("host", *FindTier("auto"));
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(
      Routine step, train::StartTraining(model, loss, Number(model.graph, 0.05),
                                         train::Sgd(), Context(&stream)));
  for (int epoch = 0; epoch < 20; ++epoch) {
    OCANNL_RETURN_IF_ERROR(
        train::SequentialLoop(step.statics(), [&] { return step.Run(); }));
  }
  Tensor unseen = Data(model.graph, "unseen", data[2], pictures);
  OCANNL_ASSIGN_OR_RETURN(
      auto predictor,
      train::Predictor::Make(model, ArgMax("...|i", net(unseen)), {unseen},
                             step.context()));
  OCANNL_ASSIGN_OR_RETURN(NdArray answers, predictor.Predict({data[2]}));
  std::cout << PrintValues(answers);
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  absl::Status status = Learn(argc > 1 ? argv[1] : "digits.npz");
  if (!status.ok()) return std::cerr << status << "\n", 1;
}
