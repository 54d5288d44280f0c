#include "shared/no_memory.hpp"

#include <cstdio>
#include <new>

namespace crfkit {
namespace {

// The text has its place in the exception: there may be no memory for a string.
class NoMemory : public std::bad_alloc {
 public:
  NoMemory(const char* what, std::size_t bytes) {
    const double GB = static_cast<double>(bytes) / (1 << 30);
    constexpr const char* begins = "there is not enough memory: ";
    if (bytes >= kMostBytes)
      std::snprintf(text_, sizeof text_, "%s%s would take more than any machine has", begins, what);
    else if (GB >= 0.1)
      std::snprintf(text_, sizeof text_, "%s%s would take %.1f GB more", begins, what, GB);
    else
      std::snprintf(text_, sizeof text_, "%s%s would take %.1f MB more", begins, what, 1024 * GB);
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[200];
};

}  // namespace

void no_memory(const char* what, std::size_t bytes) { throw NoMemory(what, bytes); }

}  // namespace crfkit
