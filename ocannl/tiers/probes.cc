// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers/probes.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_split.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

// Enough chains to hide the latency of four cycles on two ports, and few
// enough for the registers.
using Chains512 = std::make_index_sequence<14>;
using Chains256 = std::make_index_sequence<12>;

template <size_t... k>
__attribute__((target("avx512f"))) float Fma512(int64_t runs,
                                                std::index_sequence<k...>) {
  const __m512 factor = _mm512_set1_ps(0.5f);
  const __m512 term = _mm512_set1_ps(1);
  __m512 sums[] = {_mm512_set1_ps(static_cast<float>(k))...};
  for (; runs > 0; --runs) {
    ((sums[k] = _mm512_fmadd_ps(sums[k], factor, term)), ...);
  }
  __m512 total = term;
  ((total = _mm512_add_ps(total, sums[k])), ...);
  return _mm512_cvtss_f32(total);
}

template <size_t... k>
__attribute__((target("avx2,fma"))) float Fma256(int64_t runs,
                                                 std::index_sequence<k...>) {
  const __m256 factor = _mm256_set1_ps(0.5f);
  const __m256 term = _mm256_set1_ps(1);
  __m256 sums[] = {_mm256_set1_ps(static_cast<float>(k))...};
  for (; runs > 0; --runs) {
    ((sums[k] = _mm256_fmadd_ps(sums[k], factor, term)), ...);
  }
  __m256 total = term;
  ((total = _mm256_add_ps(total, sums[k])), ...);
  return _mm256_cvtss_f32(total);
}

// n is a multiple of 128 in what follows.

// Half registers: what writes much gains nothing from whole ones, and loses
// some of the clock. Stores that go past the caches save the read of the line
// that they overwrite.
template <bool kPastCaches>
__attribute__((target("avx2"))) void Copy(const float* x, int64_t n, float* y) {
  const __m256 factor = _mm256_set1_ps(1.5f);
  for (int64_t i = 0; i < n; i += 32) {
    for (int64_t k = i; k < i + 32; k += 8) {
      __m256 value = _mm256_mul_ps(factor, _mm256_load_ps(x + k));
      if (kPastCaches) {
        _mm256_stream_ps(y + k, value);
      } else {
        _mm256_store_ps(y + k, value);
      }
    }
  }
  if (kPastCaches) _mm_sfence();
}

__attribute__((target("avx512f"))) float Read512(const float* x, int64_t n) {
  __m512 sums[8] = {};
  for (int64_t i = 0; i < n; i += 128) {
    for (int k = 0; k < 8; ++k) {
      sums[k] = _mm512_add_ps(sums[k], _mm512_load_ps(x + i + 16 * k));
    }
  }
  for (int k = 1; k < 8; ++k) sums[0] = _mm512_add_ps(sums[0], sums[k]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2"))) float Read256(const float* x, int64_t n) {
  __m256 sums[8] = {};
  for (int64_t i = 0; i < n; i += 64) {
    for (int k = 0; k < 8; ++k) {
      sums[k] = _mm256_add_ps(sums[k], _mm256_load_ps(x + i + 8 * k));
    }
  }
  for (int k = 1; k < 8; ++k) sums[0] = _mm256_add_ps(sums[0], sums[k]);
  return _mm256_cvtss_f32(sums[0]);
}

bool HasAvx512() { return __builtin_cpu_supports("avx512f"); }

// A multiplication of 64 bits takes three cycles on every x86 since 2008.
int64_t Cycles(int64_t runs) {
  uint64_t value = 3;
  for (int64_t k = 0; k < runs; ++k) {
    asm volatile(
        "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
        "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
        : "+r"(value));
  }
  return runs * 8 * 3;
}

// `runs` multiply-adds in every chain; gives the flops.
double Flops(int64_t runs) {
  volatile float sink;
  if (HasAvx512()) {
    sink = Fma512(runs, Chains512());
  } else {
    sink = Fma256(runs, Chains256());
  }
  (void)sink;
  size_t chains = HasAvx512() ? 16 * Chains512::size() : 8 * Chains256::size();
  return 2. * static_cast<double>(runs) * static_cast<double>(chains);
}

void Read(const float* x, int64_t n) {
  volatile float sink = HasAvx512() ? Read512(x, n) : Read256(x, n);
  (void)sink;
}

bool IsMemory(ProbeKind kind) {
  return kind == ProbeKind::kMemoryCopy || kind == ProbeKind::kMemoryRead;
}

bool IsCopy(ProbeKind kind) {
  return kind == ProbeKind::kL1Copy || kind == ProbeKind::kCacheCopy ||
         kind == ProbeKind::kL3Copy || kind == ProbeKind::kMemoryCopy;
}

}  // namespace

absl::string_view Name(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kFma:
      return "fma";
    case ProbeKind::kClock:
      return "clock";
    case ProbeKind::kL1Copy:
      return "copy in L1";
    case ProbeKind::kCacheCopy:
      return "copy in L2";
    case ProbeKind::kCacheRead:
      return "read in L2";
    case ProbeKind::kL3Copy:
      return "copy in L3";
    case ProbeKind::kMemoryCopy:
      return "copy in memory";
    case ProbeKind::kMemoryRead:
      return "read in memory";
  }
  __builtin_unreachable();
}

absl::string_view UnitOf(ProbeKind kind) {
  if (kind == ProbeKind::kFma) return "GF/s";
  return kind == ProbeKind::kClock ? "GHz" : "GB/s";
}

int64_t ProbeBytes(ProbeKind kind) {
  if (kind == ProbeKind::kFma || kind == ProbeKind::kClock) return 0;
  if (IsMemory(kind)) return int64_t{256} << 20;
  // 0: not known.
  if (kind == ProbeKind::kL1Copy) {
    const int64_t cache = sysconf(_SC_LEVEL1_DCACHE_SIZE);
    return std::clamp<int64_t>(cache, 1 << 14, 1 << 17) / 2 / 4096 * 4096;
  }
  if (kind == ProbeKind::kL3Copy) {
    const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return std::clamp<int64_t>(cache / 4, 1 << 21, 1 << 23) / 4096 * 4096;
  }
  const int64_t cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::clamp<int64_t>(cache, 1 << 18, 1 << 22) / 2 / 4096 * 4096;
}

absl::StatusOr<Probes> Probes::Make(int threads) {
  CHECK_GE(threads, 1);
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return absl::UnimplementedError(
        "the probes need a processor with AVX2 and FMA");
  }
  return Probes(threads);
}

std::vector<Probes::Stream>& Probes::StreamsOf(int64_t bytes) {
  auto [it, inserted] = streams_.try_emplace(bytes);
  if (!inserted) return it->second;
  it->second.resize(threads_);
  if (bytes == 0) return it->second;
  for (Stream& stream : it->second) {
    auto memory = DeviceMemory::Allocate(bytes);
    CHECK_OK(memory);
    stream.memory = *std::move(memory);
    // Pages that were never written are all the same page.
    std::memset(stream.memory.address(), 0x3f, stream.memory.size());
  }
  return it->second;
}

double Probes::Move(ProbeKind kind, Stream& stream) {
  int64_t n = ProbeBytes(kind) / static_cast<int64_t>(sizeof(float));
  auto* x = reinterpret_cast<float*>(stream.memory.address());
  float* y = x + n / 2;
  int64_t part = IsMemory(kind) ? n / 64 : n;  // read, or read and written
  if (IsCopy(kind)) {
    auto* copy = IsMemory(kind) ? Copy<true> : Copy<false>;
    copy(x + stream.at / 2, part / 2, y + stream.at / 2);
  } else {
    Read(x + stream.at, part);
  }
  stream.at = (stream.at + part) % n;
  return 4. * static_cast<double>(part);
}

double Probes::RateOfThread(ProbeKind kind, Stream& stream) {
  constexpr double kCacheBytes = 8 << 20;
  const bool in_cache = ProbeBytes(kind) > 0 && !IsMemory(kind);
  // Others have used the cache, and wide registers take some microseconds to
  // wake up.
  if (in_cache) Move(kind, stream);
  if (kind == ProbeKind::kFma) Flops(2'000);
  auto start = std::chrono::steady_clock::now();
  double work = 0;
  if (kind == ProbeKind::kFma) {
    work = Flops(40'000);
  } else if (kind == ProbeKind::kClock) {
    work = static_cast<double>(Cycles(10'000));
  } else {
    do {
      work += Move(kind, stream);
    } while (in_cache && work < kCacheBytes);
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  return work / seconds.count();
}

double Probes::Rate(ProbeKind kind) {
  std::vector<Stream>& streams = StreamsOf(ProbeBytes(kind));
  if (threads_ == 1 || kind == ProbeKind::kClock) {
    return RateOfThread(kind, streams[0]);
  }
  std::vector<double> rates(streams.size());
  std::atomic<size_t> ready = 0;
  auto sample = [&](size_t k) {
    ++ready;
    while (ready < streams.size()) std::this_thread::yield();
    rates[k] = RateOfThread(kind, streams[k]);
  };
  std::vector<std::thread> others;
  for (size_t k = 1; k < streams.size(); ++k) others.emplace_back(sample, k);
  sample(0);
  for (std::thread& other : others) other.join();
  double total = 0;
  for (double rate : rates) total += rate;
  return total;
}

std::string ProcessorName() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/cpuinfo");
  if (!text.ok()) return "unknown";
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    std::vector<std::string> halves = absl::StrSplit(line, ": ");
    if (halves.size() == 2 && line.substr(0, 10) == "model name") {
      return halves[1];
    }
  }
  return "unknown";
}

}  // namespace ocannl
