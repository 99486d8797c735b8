// SPDX-License-Identifier: Apache-2.0
//
// Unifier: unification of unknowns that are equal, or differ by a number.
//
//   Unify(a, b, 1);  Unify(b, c, 0)   ->   one class; OffsetOf(a) is
//                                          OffsetOf(c) + 1
//
// Union-find with offsets, united by size, with path compression (Tarjan 1975).
// What is known of a class is its user's: ranks, sizes and bases have one each.
#ifndef OCANNL_CORE_SHAPE_UNIFIER_H_
#define OCANNL_CORE_SHAPE_UNIFIER_H_

#include <utility>
#include <vector>

namespace ocannl {

template <class Class>
class Unifier {
 public:
  // A new unknown, in a class of its own; they are numbered from 0.
  int Add() {
    const int unknown = size();
    nodes_.push_back({.parent = unknown});
    classes_.emplace_back();
    return unknown;
  }

  int size() const { return static_cast<int>(nodes_.size()); }

  // The unknown that stands for the class.
  int Find(int unknown) const {
    Node& node = nodes_[unknown];
    if (node.parent == unknown) return unknown;
    const int root = Find(node.parent);  // shallow: at most log2 of size()
    if (node.parent != root) {
      node.offset += nodes_[node.parent].offset;
      node.parent = root;
    }
    return root;
  }

  // The value of the unknown minus that of Find(unknown).
  int OffsetOf(int unknown) const {
    return Find(unknown), nodes_[unknown].offset;
  }

  // In ascending order.
  std::vector<int> Roots() const {
    std::vector<int> roots;
    for (int unknown = 0; unknown < size(); ++unknown) {
      if (nodes_[unknown].parent == unknown) roots.push_back(unknown);
    }
    return roots;
  }

  // What is known of the class of an unknown.
  Class& operator[](int unknown) { return classes_[Find(unknown)]; }
  const Class& operator[](int unknown) const { return classes_[Find(unknown)]; }

  // a = b + difference. Where they are in two classes, calls
  // merge(to, from, shift): values of `from` are those of `to` plus `shift`.
  // False, and nothing done, if that is false or they differ otherwise.
  template <class Merge>
  bool Unify(int a, int b, int difference, Merge merge) {
    int from = Find(a), to = Find(b);
    int shift = difference + OffsetOf(b) - OffsetOf(a);
    if (from == to) return shift == 0;
    if (nodes_[from].members > nodes_[to].members) {
      std::swap(from, to);
      shift = -shift;
    }
    if (!merge(classes_[to], std::as_const(classes_[from]), shift)) {
      return false;
    }
    nodes_[from].parent = to;
    nodes_[from].offset = shift;
    nodes_[to].members += nodes_[from].members;
    return true;
  }

 private:
  struct Node {
    int parent;
    int offset = 0;   // from the parent; of a root 0
    int members = 1;  // of a root's class
  };

  mutable std::vector<Node> nodes_;
  std::vector<Class> classes_;  // of the roots
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_UNIFIER_H_
