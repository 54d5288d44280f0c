// Memory of one call for rows that are read at random: cache-line aligned, in large pages where the
// system gives them (a page of 4 KB for every third row keeps the TLB busier than the adders).
#pragma once

#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "shared/no_memory.hpp"

namespace crfkit {

// Asks for large pages for memory that is not yet touched.
inline void prefer_large_pages(void* begin, std::size_t bytes) {
#if defined(__linux__)
  const std::uintptr_t page = std::uintptr_t{1} << 21;
  const std::uintptr_t first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const std::uintptr_t last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#else
  (void)begin, (void)bytes;
#endif
}

// Room for n values, in large pages.
template <class Vector>
void reserve_large(Vector& values, std::size_t n) {
  values.reserve(n);
  prefer_large_pages(values.data(), n * sizeof(values[0]));
}

template <class Real = double>
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::int64_t size) {
    if (size == 0) return;
    const std::size_t page = std::size_t{1} << 21, n = static_cast<std::size_t>(size);
    if (n > (kMostBytes - page) / sizeof(Real)) no_memory("a table", kMostBytes);
    const std::size_t bytes = n * sizeof(Real), line = bytes < page ? 64 : page;
    check_memory("a table", bytes);
    data_ = static_cast<Real*>(std::aligned_alloc(line, (bytes + line - 1) / line * line));
    if (!data_) no_memory("a table", bytes);
#if defined(__linux__)
    if (bytes >= page) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer() { std::free(data_); }

  Real* data() const { return data_; }

 private:
  Real* data_ = nullptr;
};

}  // namespace crfkit
