// Runs a torch.nn.Sequential of two linear layers from a .safetensors file.
#include <iostream>

#include "ocannl/ocannl.h"

using namespace ocannl;

absl::Status Use(const char* path) {
  OCANNL_ASSIGN_OR_RETURN(auto entries, train::ListArrays(path));
  for (const train::ArrayEntry& entry : entries) {
    std::cout << ToString(entry) << "\n";
  }
  train::Model model;
  Tensor x = Data(model.graph, "x", NdArray(DType::kF32, {2}),
                  {.rows = {Dims{}, Dims{2}, Dims{}}});
  Tensor y = train::Mlp({&model.graph, "net"}, {.sizes = {2, 1}})(x);

  Device device("host", *FindTier("auto"));
  Stream stream(&device);
  Context context(&stream);
  OCANNL_RETURN_IF_ERROR(train::RestoreParams(
      path, model, y, context,
      {.allow_extra = true,
       .layout = train::FileLayout::kPyTorch,
       .rename = train::PyTorchNames({{"layer{n}", "{2n-2}"}})}));
  OCANNL_ASSIGN_OR_RETURN(auto net,
                          train::Predictor::Make(model, y, {x}, context));
  OCANNL_ASSIGN_OR_RETURN(NdArray answer,
                          net.Predict({NdArray::Of<float>({2}, {0, 1})}));
  std::cout << "net(0, 1) =" << PrintValues(answer);
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  absl::Status status = Use(argc > 1 ? argv[1] : "model.safetensors");
  if (!status.ok()) return std::cerr << status << "\n", 1;
}
