// Hashes of numbers that come from files: nobody can choose numbers whose hashes collide, as the
// hash depends on numbers that this process has drawn.  Nothing that is answered may depend on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace crfkit {

// Drawn once for a process.
inline const std::array<std::uint64_t, 2>& secrets() {
  static const std::array<std::uint64_t, 2> drawn = [] {
    std::random_device source;
    const auto draw = [&] { return static_cast<std::uint64_t>(source()) << 32 | source(); };
    return std::array<std::uint64_t, 2>{draw(), draw()};
  }();
  return drawn;
}

struct SecretHash {
  std::uint64_t first = secrets()[0], second = secrets()[1] | 1;

  std::size_t operator()(std::uint64_t number) const noexcept {
    std::uint64_t h = (number ^ first) * second;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
  }
};

}  // namespace crfkit
