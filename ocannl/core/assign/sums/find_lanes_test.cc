// SPDX-License-Identifier: Apache-2.0
//
// Which nests get which lanes; tests/schedule/split_reduce_test.cc has the
// values.
#include "ocannl/core/assign/sums/find_lanes.h"

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

// Loops by their letters, in the order of the letters.
using Extents = std::map<char, int64_t>;

// An array by its axes: "bk" is x[b, k] of the loops' extents. "0" is an axis
// of one cell, "2*ok" an axis with the index 2*o + k, and "k^" one of a cell
// more than k has.
struct Array {
  std::vector<Affine> indices;
  std::vector<int64_t> dims;
};

Array ArrayOf(const Extents& extents, const std::string& axes) {
  auto loop = [&](char name) {
    const auto place = std::distance(extents.begin(), extents.find(name));
    return Affine(Iterator({static_cast<int32_t>(place)}));
  };
  Array array;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] == '0') {
      array.indices.push_back(0);
      array.dims.push_back(1);
    } else if (axes[k] == '^') {
      ++array.dims.back();
    } else if (axes[k] == '2') {
      array.indices.push_back(2 * loop(axes[k + 2]) + loop(axes[k + 3]));
      array.dims.push_back(2 * extents.at(axes[k + 2]) +
                           extents.at(axes[k + 3]) - 2);
      k += 3;
    } else {
      array.indices.push_back(loop(axes[k]));
      array.dims.push_back(extents.at(axes[k]));
    }
  }
  return array;
}

// "rows of loop, inner loops", or "chain".
std::string LanesOf(const Extents& extents, const std::string& target,
                    const std::vector<std::string>& loads) {
  std::vector<int64_t> list;
  std::string names;
  for (const auto& [name, extent] : extents) {
    names += name;
    list.push_back(extent);
  }
  std::vector<Array> arrays = {ArrayOf(extents, target)};
  for (const std::string& load : loads) {
    arrays.push_back(ArrayOf(extents, load));
  }
  std::vector<AxisAccess> accesses;
  for (const Array& array : arrays) {
    accesses.push_back({array.indices, array.dims});
  }
  const std::optional<LaneSplit> lanes =
      FindLanes(list, accesses[0], {accesses.begin() + 1, accesses.end()});
  if (!lanes) return "chain";
  std::string text = lanes->chunked
                         ? absl::StrCat(lanes->rows, " of ",
                                        names.substr(*lanes->chunked, 1), ", ")
                         : "";
  for (size_t loop : lanes->inner) text += names[loop];
  return text;
}

TEST(FindLanesTest, OneContiguousLoopOfEveryLength) {
  EXPECT_EQ(LanesOf({{'k', 1}}, "", {"k"}), "chain");
  EXPECT_EQ(LanesOf({{'k', 2}}, "", {"k"}), "k");
  EXPECT_EQ(LanesOf({{'k', 31}}, "", {"k"}), "k");
  EXPECT_EQ(LanesOf({{'k', 32}}, "", {"k"}), "k");
  EXPECT_EQ(LanesOf({{'k', 64}}, "", {"k"}), "k");
  EXPECT_EQ(LanesOf({{'k', 65}}, "", {"k"}), "64 of k, ");
  EXPECT_EQ(LanesOf({{'k', 65}}, "", {"k^"}), "64 of k, ");
  EXPECT_EQ(LanesOf({{'k', 65}}, "", {"k", "0"}), "64 of k, ");
  EXPECT_EQ(LanesOf({{'k', 65}}, "", {"0"}), "chain");
  EXPECT_EQ(LanesOf({{'k', 65}}, "", {}), "chain");
}

TEST(FindLanesTest, ARunOfSeveralLoops) {
  EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}}, "", {"jk"}), "6 of j, k");
  EXPECT_EQ(LanesOf({{'j', 4}, {'k', 10}}, "", {"jk"}), "jk");
  EXPECT_EQ(LanesOf({{'j', 3}, {'k', 100}}, "", {"jk"}), "64 of k, ");
  EXPECT_EQ(LanesOf({{'j', 7}, {'k', 33}}, "", {"jk"}), "k");
  EXPECT_EQ(LanesOf({{'i', 9}, {'j', 2}, {'k', 10}}, "", {"ijk"}),
            "3 of i, jk");
  // A part of an axis is no whole one, so no run reaches across it.
  EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}}, "", {"jk^"}), "k");
  EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}}, "", {"jk", "k"}), "k");
  EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}}, "", {"jk", "j"}), "k");
  EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}}, "", {"jk", "kj"}), "chain");
  EXPECT_EQ(LanesOf({{'j', 1}, {'k', 10}}, "", {"jk"}), "k");
  EXPECT_EQ(LanesOf({{'j', 1}, {'k', 10}}, "", {"jk", "kj"}), "chain");
  // An inner reduced axis of one cell may be anywhere in the run.
  for (const char* axes : {"jkl", "jlk", "ljk", "jk"}) {
    EXPECT_EQ(LanesOf({{'j', 80}, {'k', 10}, {'l', 1}}, "", {axes}),
              "6 of j, k")
        << axes;
  }
}

// The lane of each term, where rows of zeros behind the run get other lanes,
// or come after it.
TEST(FindLanesTest, TheOutermostExtentMovesNoTerm) {
  for (int64_t inner : {1, 2, 3, 5, 10, 21, 31, 32, 33, 63, 64, 65, 100}) {
    for (int64_t outer = 2; outer <= 70; ++outer) {
      const std::string lanes =
          LanesOf({{'j', outer}, {'k', inner}}, "", {"jk"});
      const int64_t rows = inner > 1 ? kMaxLanes / inner : kMaxLanes;
      const std::string inner_loops = inner > 1 ? "k" : "";
      const std::string expected =
          inner > kMaxLanes            ? "64 of k, "
          : outer * inner <= kMaxLanes ? absl::StrCat("j", inner_loops)
          : rows > 1 ? absl::StrCat(rows, " of j, ", inner_loops)
                     : inner_loops;
      EXPECT_EQ(lanes, expected) << outer << " of " << inner;
    }
  }
}

struct Form {
  std::string target;
  std::vector<std::string> loads;
  bool is_chain;
};

// b, c, o stay.
TEST(FindLanesTest, TheExtentsOfWhatStaysDoNotMatter) {
  const std::vector<Form> forms = {
      {"b", {"bk"}, false},
      {"bco", {"bcok"}, false},
      {"b", {"bk", "bk"}, false},
      {"b", {"bk", "0k"}, false},
      {"bc", {"bck", "b0k"}, false},
      {"bo", {"bk", "o"}, false},
      {"bo", {"bk", "0o"}, false},
      // Of two operands that share an axis, one has another axis that stays.
      {"b", {"bk", "k"}, true},
      {"bo", {"bk", "ok"}, true},
      {"o", {"k", "ok"}, true},
      {"bo", {"bok", "bk"}, true},
      {"bo", {"bok", "0k"}, true},
      {"bc", {"bck", "0k"}, true},
      {"bo", {"bk", "ko"}, true},
      // In texts without loops of one iteration.
      {"0o", {"0k", "ok"}, true},
      // An axis that stays is behind the reduced one, or in it.
      {"c", {"kc"}, true},
      {"bc", {"bkc"}, true},
      {"b", {"bk0"}, true},
      {"o", {"2*ok"}, true},
  };
  for (const Form& form : forms) {
    for (int64_t b : {1, 2, 64}) {
      for (int64_t c : {1, 3}) {
        for (int64_t o : {1, 2, 33}) {
          for (int64_t k : {2, 3, 31, 32, 33, 64, 65}) {
            Extents extents = {{'b', b}, {'c', c}, {'k', k}, {'o', o}};
            const std::string axes = absl::StrJoin(form.loads, "");
            std::erase_if(extents, [&](const auto& loop) {
              return !absl::StrContains(axes, loop.first);
            });
            EXPECT_EQ(LanesOf(extents, form.target, form.loads) == "chain",
                      form.is_chain)
                << form.target << " of " << absl::StrJoin(form.loads, ", ")
                << " with " << b << ", " << c << ", " << k << ", " << o;
          }
        }
      }
    }
  }
}

// An image of c channels, and between reduced axes one that stays.
TEST(FindLanesTest, AxesBetweenReducedOnes) {
  for (int64_t c : {1, 3}) {
    const Extents extents = {{'b', 2}, {'c', c}, {'h', 7}, {'w', 5}};
    EXPECT_EQ(LanesOf(extents, "bc", {"bchw"}), "hw");
    EXPECT_EQ(LanesOf(extents, "bc", {"bhcw"}), "w");
    EXPECT_EQ(LanesOf(extents, "bc", {"bhwc"}), "chain");
    EXPECT_EQ(LanesOf(extents, "c", {"bchw"}), "hw");
  }
  EXPECT_EQ(LanesOf({{'b', 2}, {'c', 3}, {'h', 7}, {'w', 5}}, "b", {"bchw"}),
            "hw");
}

}  // namespace
}  // namespace ocannl
