// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/post_orders.h"

#include <variant>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl::jit {
namespace {

// The fewest operations of a long arm, which take some 8 cycles. A branch takes
// 2, or 20 if it is predicted wrongly. Measured by
// `bazel run //experiments:bench -- --filter=function/`.
constexpr int kLongArm = 16;

// Finds selects of two long arms, outer ones first, and what only one of the
// arms needs. Where one arm is short, the other one is what is usually taken.
class SkippedArms {
 public:
  explicit SkippedArms(std::vector<PostOrderNode>& nodes)
      : nodes_(nodes), users_(nodes.size()) {}

  void Find() {
    for (const PostOrderNode& node : nodes_) {
      for (int arg : node.args) ++users_[arg];
    }
    for (int k = static_cast<int>(nodes_.size()); k-- > 0;) {
      const Apply* apply = std::get_if<Apply>(&nodes_[k].expr);
      if (apply == nullptr || apply->op != Op::kSelect ||
          apply->dtype == DType::kBool || nodes_[k].needed_by >= 0) {
        continue;
      }
      for (int arm : {1, 2}) {
        if (nodes_[k].skipped_arm == 0) Skip(k, arm);
      }
    }
  }

 private:
  bool IsApply(int k) const {
    return std::holds_alternative<Apply>(nodes_[k].expr);
  }

  // Whether `root` needs as many operations.
  bool IsLong(int root) const {
    std::vector<bool> is_needed(root + 1);
    is_needed[root] = true;
    int operations = 0;
    for (int k = root; k >= 0 && operations < kLongArm; --k) {
      if (!is_needed[k]) continue;
      operations += IsApply(k);
      for (int arg : nodes_[k].args) is_needed[arg] = true;
    }
    return operations >= kLongArm;
  }

  void Skip(int select, int arm) {
    const int root = nodes_[select].args[arm];
    if (!IsLong(nodes_[select].args[3 - arm])) return;
    std::vector<int> users(root + 1, 0);  // those that only the arm needs
    users[root] = 1;
    std::vector<int> only;
    int operations = 0;
    for (int k = root; k >= 0; --k) {
      if (users[k] == 0 || users[k] != users_[k] || IsDrawNode(k)) continue;
      only.push_back(k);
      operations += IsApply(k);
      for (int arg : nodes_[k].args) ++users[arg];
    }
    if (operations < kLongArm) return;
    nodes_[select].skipped_arm = arm;
    for (int k : only) nodes_[k].needed_by = select;
  }

  // Draws keep what they have computed for later cells.
  bool IsDrawNode(int k) const {
    const Apply* apply = std::get_if<Apply>(&nodes_[k].expr);
    return apply != nullptr && IsDraw(apply->op);
  }

  std::vector<PostOrderNode>& nodes_;
  std::vector<int> users_;  // how many, by node
};

}  // namespace

const std::vector<PostOrderNode>& PostOrders::Of(ExprId root) {
  auto [it, inserted] = orders_.try_emplace(root);
  std::vector<PostOrderNode>& nodes = it->second;
  if (!inserted) return nodes;
  absl::flat_hash_map<ExprId, int> numbers;
  Rewrite(exprs_, ExpandToDraws(exprs_, root), [&](ExprId id) {
    numbers[id] = static_cast<int>(nodes.size());
    PostOrderNode& node = nodes.emplace_back(PostOrderNode{exprs_[id]});
    if (const Apply* apply = std::get_if<Apply>(&node.expr)) {
      for (ExprId arg : apply->args) node.args.push_back(numbers.at(arg));
    }
    return id;
  });
  if (nodes.size() > 2 * kLongArm) SkippedArms(nodes).Find();
  return nodes;
}

}  // namespace ocannl::jit
