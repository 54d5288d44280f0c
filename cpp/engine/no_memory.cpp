#include "shared/no_memory.hpp"

#include <atomic>
#include <cstdio>
#include <new>

namespace crfkit {
namespace {

std::atomic<std::size_t> most{kMostBytes};

// A number of bytes as it is read.
struct Size {
  explicit Size(std::size_t bytes) {
    const double GB = static_cast<double>(bytes) / (1 << 30);
    std::snprintf(text, sizeof text, GB >= 0.1 ? "%.1f GB" : "%.1f MB", GB >= 0.1 ? GB : 1024 * GB);
  }
  char text[32];
};

// The text has its place in the exception: there may be no memory for a string.
class NoMemory : public std::bad_alloc {
 public:
  NoMemory(const char* what, std::size_t bytes) {
    constexpr const char* begins = "there is not enough memory: ";
    if (bytes >= kMostBytes)
      std::snprintf(text_, sizeof text_, "%s%s would take more than any machine has", begins, what);
    else if (bytes > most_memory())
      std::snprintf(text_, sizeof text_, "%s%s would take %s, and there are %s in all", begins,
                    what, Size(bytes).text, Size(most_memory()).text);
    else
      std::snprintf(text_, sizeof text_, "%s%s would take %s more", begins, what, Size(bytes).text);
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[240];
};

}  // namespace

void set_most_memory(std::size_t bytes) { most.store(bytes, std::memory_order_relaxed); }
std::size_t most_memory() { return most.load(std::memory_order_relaxed); }

void no_memory(const char* what, std::size_t bytes) { throw NoMemory(what, bytes); }

void check_memory(const char* what, std::size_t bytes) {
  if (bytes > most_memory()) no_memory(what, bytes);
}

}  // namespace crfkit
