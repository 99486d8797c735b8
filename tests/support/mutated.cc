// SPDX-License-Identifier: Apache-2.0
#include "tests/support/mutated.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ocannl {
namespace {

using Random = std::mt19937_64;

size_t Below(Random& random, size_t n) { return random() % n; }

// Puts another number where one stands.
void ChangeNumber(std::string& text, Random& random) {
  const size_t from = Below(random, text.size() + 1);
  const size_t at = text.find_first_of("0123456789", from);
  if (at == text.npos) return;
  const size_t end =
      std::min(text.find_first_not_of("0123456789", at), text.size());
  static const auto* numbers = new std::vector<std::string>(absl::StrSplit(
      "0 1 2 65 4096 -1 1e30 0.5 nan 1000000000 2147483648 4294967297 "
      "9223372036854775807 18446744073709551616",
      ' '));
  text.replace(at, end - at, (*numbers)[Below(random, numbers->size())]);
}

// A part of `text`: a word, a line, or some bytes.
std::string Part(const std::string& text, Random& random) {
  const size_t at = Below(random, text.size());
  constexpr const char* kEnds[] = {" ", ",", ";", "\n"};
  if (Below(random, 2) == 0) {
    const char* end = kEnds[Below(random, std::size(kEnds))];
    const size_t from = text.rfind(end, at) + 1;
    return text.substr(from, text.find(end, from) - from + 1);
  }
  const size_t most = Below(random, 2) == 0 ? 8 : 200;
  return text.substr(at, 1 + Below(random, most));
}

}  // namespace

std::string Mutated(std::string text, const std::string& other,
                    std::mt19937_64& random) {
  constexpr absl::string_view kEdges("\0\xff\x80\"'[]{}()<>=;:,.#%@$|-*\n", 27);
  const size_t most = Below(random, 2) == 0 ? 1 : 4;
  for (size_t left = 1 + Below(random, most); left > 0; --left) {
    if (text.empty()) text = " ";
    const size_t at = Below(random, text.size());
    switch (Below(random, 8)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = kEdges[Below(random, kEdges.size())];
        break;
      case 2: {
        const std::string part = Part(text, random);
        text.erase(text.find(part), part.size());
        break;
      }
      case 3:
        text.insert(at, Part(text, random));
        break;
      case 4:
        if (!other.empty()) text.insert(at, Part(other, random));
        break;
      case 5: {
        const std::string part = Part(text, random);
        for (size_t k = Below(random, 300); k > 0; --k) text.insert(at, part);
        break;
      }
      default:
        ChangeNumber(text, random);
    }
  }
  return text;
}

}  // namespace ocannl
