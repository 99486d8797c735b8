// SPDX-License-Identifier: Apache-2.0
//
// The table of ONNX operations: one list of rules for each theme.
#ifndef OCANNL_ONNX_RULES_RULES_H_
#define OCANNL_ONNX_RULES_RULES_H_

#include <vector>

#include "ocannl/onnx/rules/op_call.h"

namespace ocannl::onnx {

std::vector<OpRule> ArithmeticRules();     // + mod pow sum clip cast bits
std::vector<OpRule> ComparisonRules();     // less equal and isnan where
std::vector<OpRule> FunctionRules();       // exp atan elu sigmoid softsign
std::vector<OpRule> ReductionRules();      // reduce* argmax cumsum top-k
std::vector<OpRule> ProductRules();        // matmul gemm einsum
std::vector<OpRule> WindowRules();         // conv pool
std::vector<OpRule> NormalisationRules();  // softmax batch norm lrn dropout
std::vector<OpRule> AttentionRules();      // attention, rotary embedding
std::vector<OpRule> MovementRules();       // transpose reshape slice pad
std::vector<OpRule> CreationRules();       // constant shape range window
std::vector<OpRule> IndexingRules();       // gather scatter one-hot
std::vector<OpRule> QuantisedRules();      // u8 cells with a scale
std::vector<OpRule> RecurrentRules();      // rnn gru lstm
std::vector<OpRule> ResizeRules();         // resize upsample
std::vector<OpRule> LossRules();           // nll, cross-entropy
std::vector<OpRule> OptimizerRules();      // adam momentum

// What several rules are made of: MatMul, and Conv with its attributes but no
// bias.
Value MatrixProduct(const Value& a, const Value& b);
Value Convolution(const OpCall& call, const Value& x, const Value& w);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_RULES_H_
