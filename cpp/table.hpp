// Memory of one call for rows that are read at random: cache-line aligned, in large pages where the
// system gives them (a page of 4 KB for every third row keeps the TLB busier than the adders).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace crfkit {

class Table {
 public:
  explicit Table(std::int64_t doubles) {
    const std::size_t page = std::size_t{1} << 21, bytes = static_cast<std::size_t>(doubles) * 8;
    const std::size_t line = bytes < page ? 64 : page;
    if (doubles == 0) return;
    data_ = static_cast<double*>(std::aligned_alloc(line, (bytes + line - 1) / line * line));
    if (!data_) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes >= page) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() { std::free(data_); }

  double* data() const { return data_; }

 private:
  double* data_ = nullptr;
};

}  // namespace crfkit
