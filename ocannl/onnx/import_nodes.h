// SPDX-License-Identifier: Apache-2.0
//
// The nodes of an ONNX graph as nodes of a graph of the engine.
#ifndef OCANNL_ONNX_IMPORT_NODES_H_
#define OCANNL_ONNX_IMPORT_NODES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/onnx/import.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/rules/op_call.h"
#include "ocannl/onnx/rules/value.h"

namespace ocannl::onnx {

// The names that a node of a graph may read: those of its graph and of the
// graphs around it. No value: it depends on an operator that is unsupported.
struct Scope {
  const Scope* outer = nullptr;
  std::map<std::string, std::optional<Value>> values = {};

  const std::optional<Value>* Find(const std::string& name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

// The name of an array of the engine for `name` of a file: with _ in the place
// of characters that texts of the engine do not allow.
std::string ArrayName(absl::string_view name);

class NodeImporter {
 public:
  // All must outlive this.
  NodeImporter(const std::map<std::string, int64_t>& opsets,
               const ImportOptions& options, ImportedModel& net)
      : opsets_(opsets), options_(options), net_(net) {}

  // Adds initialisers and nodes to `scope` and to the model. Unsupported nodes
  // are noted, and have no values. Errors: a node that reads what no earlier
  // node computes; a damaged node.
  absl::Status AddGraph(const OnnxGraph& from, Scope& scope);

  // Notes the nodes outside of branches that no dims would make known.
  void CheckNodes(const OnnxGraph& graph);

  // Unimplemented: there are unsupported nodes, which the message lists.
  absl::Status Unsupported() const;

 private:
  absl::Status AddNode(const Node& node, Scope& scope);
  absl::Status Define(const Node& node, size_t output,
                      std::optional<Value> value, Scope& scope);
  // `widened`: the names of arrays that are to be f32.
  Value AddInitializer(const std::string& name, const NdArray& array,
                       const std::set<std::string>& widened);
  void Freeze(const Node& node, const Scope& scope);
  int64_t OpsetOf(const Node& node) const;
  absl::StatusOr<Outputs> AddBranch(const Node& node, const Value& condition,
                                    const Scope& scope);
  absl::StatusOr<Outputs> BranchOutputs(const Node& node,
                                        const std::string& branch,
                                        const Scope& scope);

  const std::map<std::string, int64_t>& opsets_;
  const ImportOptions& options_;
  ImportedModel& net_;
  std::vector<std::string> unsupported_;
};

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_IMPORT_NODES_H_
