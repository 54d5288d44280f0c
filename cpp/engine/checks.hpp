// Input from outside is checked once, where it comes in; an error names what is wrong with it.  In
// Python these are ValueErrors.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace crfkit {

[[noreturn]] inline void refuse(const std::string& message) {
  throw std::invalid_argument(message);
}

inline std::string text(std::int64_t n) { return std::to_string(n); }

inline void check_length(const char* name, std::size_t has, std::int64_t expected) {
  if (static_cast<std::int64_t>(has) != expected)
    refuse(std::string(name) + " has " + text(static_cast<std::int64_t>(has)) +
           " entries, expected " + text(expected));
}

// What is wrong with a score that is not kLargestScore or less.
inline std::string wrong_score(double score) {
  if (!std::isfinite(score))
    return std::string(" is ") + (std::isnan(score) ? "nan" : "inf") +
           "; scores must be finite, or -inf for what is forbidden";
  char shown[32];
  std::snprintf(shown, sizeof shown, "%g", score);
  return std::string(" is ") + shown + ", too large to be added up: scale scores to 1e300 or less";
}

inline void check_threads(int threads) {
  if (threads < 1) refuse("threads is " + text(threads) + ", expected 1 or more");
}

// Non-falling pointers from 0 to `end`.
template <class Array>
void check_pointers(const Array& a, const char* name, std::int64_t end) {
  const std::int64_t n = static_cast<std::int64_t>(a.size());
  const std::int64_t* at = a.data();
  const auto entry = [&](std::int64_t i) { return std::string(name) + "[" + text(i) + "]"; };
  if (n == 0) refuse(std::string(name) + " is empty; it needs a first entry 0");
  if (at[0] != 0) refuse(entry(0) + " is " + text(at[0]) + ", expected 0");
  for (std::int64_t i = 1; i < n; ++i) {
    if (at[i] < at[i - 1])
      refuse(entry(i) + " is " + text(at[i]) + ", below " + entry(i - 1) + " = " + text(at[i - 1]));
    if (at[i] - at[i - 1] >= (std::int64_t{1} << 30))
      refuse(entry(i) + ": a sequence of 2^30 positions or more");
  }
  if (at[n - 1] != end)
    refuse(std::string(name) + " ends at " + text(at[n - 1]) + ", expected " + text(end));
}

}  // namespace crfkit
