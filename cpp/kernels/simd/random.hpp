// Random numbers by counter: the same for any number of threads.
#pragma once

#include <cstdint>

namespace crfkit::CRFKIT_ARCH {

// splitmix64: Steele, Lea & Flood (2014).
inline std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Below 1, at least 0.
inline double uniform_of(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace crfkit::CRFKIT_ARCH
