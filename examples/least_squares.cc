// Fits y = w x to matrices of Eigen by gradient descent, and by Eigen's QR.
#include <Eigen/QR>
#include <iostream>

#include "ocannl/eigen.h"
#include "ocannl/ocannl.h"

using namespace ocannl;

absl::Status Fit() {
  const Eigen::MatrixXf points = Eigen::MatrixXf::Random(100, 3);
  const Eigen::MatrixXf answers = points * Eigen::MatrixXf::Random(3, 2) +
                                  0.1f * Eigen::MatrixXf::Random(100, 2);
  train::Model model;
  Tensor x = Data(model.graph, "x", eigen::ArrayOf(points),
                  {.rows = {std::nullopt, Dims{3}, Dims{}}});  // batch|3
  Tensor y = Data(model.graph, "y", eigen::ArrayOf(answers),
                  {.rows = {std::nullopt, Dims{2}, Dims{}}});
  Tensor w = Param(model.graph, "w", {}, DType::kF32, DefaultInit);
  Tensor loss = train::MeanSquaredError(w * x, y);

  Device device("host", *FindTier("auto"));
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(
      Routine step, train::StartTraining(model, loss, Number(model.graph, 0.1),
                                         train::Sgd(), Context(&stream)));
  for (int k = 0; k < 1000; ++k) OCANNL_RETURN_IF_ERROR(step.Run());

  const Eigen::MatrixXf best = points.colPivHouseholderQr().solve(answers);
  return eigen::UseMap<eigen::Matrix<float>>(
      step.context(), "w", [&](const auto& fitted) {
        std::cout << "w =\n" << fitted << "\ndifference from QR: "
                  << (fitted - best.transpose()).norm() << "\n";
      });
}

int main() {
  if (absl::Status s = Fit(); !s.ok()) return std::cerr << s << "\n", 1;
}
