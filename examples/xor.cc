// Learns XOR and tells what it makes of each pair of bits.
#include <iostream>

#include "ocannl/ocannl.h"

using namespace ocannl;

absl::Status Learn() {
  train::Model model;
  NdArray pairs = NdArray::Of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  Tensor x = Data(model.graph, "x", pairs,
                  {.rows = {std::nullopt, Dims{2}, Dims{}}});  // batch|2
  Tensor y = Data(model.graph, "y", NdArray::Of<float>({4}, {0, 1, 1, 0}),
                  {.rows = {std::nullopt, Dims{1}, Dims{}}});
  train::Mlp net({&model.graph, "net"}, {.sizes = {8, 1}});
  Tensor loss = train::MeanSquaredError(net(x), y);

  Device device("host", *FindTier("auto"));
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(
      Routine step, train::StartTraining(model, loss, Number(model.graph, 0.1),
                                         train::Sgd(), Context(&stream)));
  for (int k = 0; k < 1000; ++k) OCANNL_RETURN_IF_ERROR(step.Run());

  Tensor one = Data(model.graph, "one", NdArray(DType::kF32, {2}),
                    {.rows = {Dims{}, Dims{2}, Dims{}}});
  OCANNL_ASSIGN_OR_RETURN(
      auto predictor,
      train::Predictor::Make(model, net(one), {one}, step.context()));
  for (auto in : {std::vector<float>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    OCANNL_ASSIGN_OR_RETURN(NdArray c,
                            predictor.Predict({NdArray::Of<float>({2}, in)}));
    std::cout << in[0] << " xor " << in[1] << " = " << PrintValues(c);
  }
  return absl::OkStatus();
}

int main() {
  if (absl::Status s = Learn(); !s.ok()) return std::cerr << s << "\n", 1;
}
