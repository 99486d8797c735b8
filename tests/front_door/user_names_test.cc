// SPDX-License-Identifier: Apache-2.0
//
// A user's file that has all of the library at hand and names of its own, which
// are common words. That it compiles is the test.
#include <cstdio>

#define CHECK(condition) ((condition) ? 0 : std::puts(#condition))
#define LOG(level) std::printf("%s\n", #level)

#include "ocannl/ocannl.h"
#ifdef CHECK_EQ
#error "the library defines CHECK_EQ"
#endif

using namespace ocannl;

// Where the library had these names, each use below would be ambiguous.
struct Set {
  int size = 1;
};
struct For {};
struct Block {};
struct Stmt {};
struct Local {};
struct Access {};
struct Lookup {};
struct Comment {};
struct Scatter {};
struct Assign {};
struct Source {};
struct Record {
  Set set;
  For loop;
  Block block;
  Stmt stmt;
  Local local;
  Access access;
  Lookup lookup;
  Comment comment;
  Scatter scatter;
  Assign assign;
  Source source;
};
struct Token {};
struct Lexer {
  Token next;
};
struct Flag {};
struct CommandLine {
  Flag first;
};

int main() {
  Record input;
  Lexer lexer;
  CommandLine line;
  static_cast<void>(lexer);
  static_cast<void>(line);
  train::Model model;
  Tensor two = Number(model.graph, 1) + input.set.size;
  LOG(INFO);
  return CHECK(two.graph == &model.graph);
}
