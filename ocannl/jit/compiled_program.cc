// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/compiled_program.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace ocannl::jit {
namespace {

// A sequence is written as its size in bytes and those.
struct Writer {
  std::string bytes;

  template <class Sequence>
  void operator()(const Sequence& sequence) {
    using Value = typename Sequence::value_type;
    static_assert(std::has_unique_object_representations_v<Value>);
    const uint64_t size = sequence.size() * sizeof(Value);
    bytes.append(reinterpret_cast<const char*>(&size), sizeof(size));
    bytes.append(reinterpret_cast<const char*>(sequence.data()), size);
  }
};

struct Reader {
  absl::string_view bytes;
  bool ok = true;

  template <class Sequence>
  void operator()(Sequence& sequence) {
    using Value = typename Sequence::value_type;
    uint64_t size = 0;
    ok = ok && bytes.size() >= sizeof(size);
    if (!ok) return;
    std::memcpy(&size, bytes.data(), sizeof(size));
    bytes.remove_prefix(sizeof(size));
    ok = size <= bytes.size() && size % sizeof(Value) == 0;
    if (!ok) return;
    sequence.resize(size / sizeof(Value));
    // Of nothing, memcpy would still want addresses.
    std::copy_n(bytes.data(), size, reinterpret_cast<char*>(sequence.data()));
    bytes.remove_prefix(size);
  }
};

template <class Archive, class Image, class Plan>
void TransferSequences(Archive& archive, Image& image, Plan& plan) {
  archive(image.bytes);
  archive(image.sections);
  archive(image.buffers);
  archive(plan.callers);
  archive(plan.temps);
  archive(plan.privates);
}

}  // namespace

std::string ToBytes(const CompiledProgram& compiled) {
  const auto& [image, plan] = compiled;
  Writer writer;
  TransferSequences(writer, image, plan);
  writer(std::vector<int64_t>{image.run_helper, plan.num_buffers, plan.pointers,
                              plan.bytes, plan.is_callers});
  return std::move(writer.bytes);
}

std::optional<CompiledProgram> FromBytes(absl::string_view bytes) {
  CompiledProgram compiled;
  auto& [image, plan] = compiled;
  Reader reader{.bytes = bytes};
  TransferSequences(reader, image, plan);
  std::vector<int64_t> numbers;
  reader(numbers);
  const auto size = static_cast<int64_t>(image.bytes.size());
  if (!reader.ok || !reader.bytes.empty() || numbers.size() != 5 ||
      numbers[0] < -1 ||
      (numbers[0] >= 0 &&
       numbers[0] > size - static_cast<int64_t>(sizeof(void*)))) {
    return std::nullopt;
  }
  image.run_helper = numbers[0];
  plan.num_buffers = numbers[1];
  plan.pointers = numbers[2];
  plan.bytes = numbers[3];
  plan.is_callers = numbers[4] != 0;
  return compiled;
}

}  // namespace ocannl::jit
