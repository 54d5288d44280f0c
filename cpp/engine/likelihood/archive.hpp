// Plain values and vectors of them in one run of bytes, and back: vectors as their length and their
// values, all padded to 8 bytes.  Other types name their parts in `each_part(self, archive)`.  For
// the process that wrote them: the bytes say nothing of types or versions.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace crfkit {

// Writes to `to`, or only counts bytes where that is null.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(std::uint8_t* to) : to_(to) {}

  template <class T>
  void operator()(const std::vector<T>& values) {
    const std::uint64_t n = values.size();
    put(&n, sizeof n);
    if constexpr (std::is_trivially_copyable_v<T>) {
      put(values.data(), n * sizeof(T));
    } else {
      for (const T& each : values) (*this)(each);
    }
  }
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      put(&value, sizeof value);
    } else {
      T::each_part(value, *this);
    }
  }
  std::uint64_t bytes() const { return at_; }

 private:
  void put(const void* from, std::uint64_t bytes) {
    const std::uint64_t pad = (8 - bytes % 8) % 8;
    if (to_ && bytes) std::memcpy(to_ + at_, from, bytes);
    if (to_) std::memset(to_ + at_ + bytes, 0, pad);
    at_ += bytes + pad;
  }

  std::uint8_t* to_;
  std::uint64_t at_ = 0;
};

class ArchiveReader {
 public:
  ArchiveReader(const std::uint8_t* from, std::uint64_t bytes) : from_(from), left_(bytes) {}

  template <class T>
  void operator()(std::vector<T>& values) {
    std::uint64_t n = 0;
    take(&n, 1, sizeof n);
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (n > left_ / sizeof(T)) refuse();
      values.resize(n);
      take(values.data(), n, sizeof(T));
    } else {
      if (n > left_ / 8) refuse();
      values.resize(n);
      for (T& each : values) (*this)(each);
    }
  }
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      take(&value, 1, sizeof value);
    } else {
      T::each_part(value, *this);
    }
  }
  std::uint64_t left() const { return left_; }

 private:
  [[noreturn]] static void refuse() { throw std::invalid_argument("the archive is cut short"); }

  void take(void* to, std::uint64_t n, std::uint64_t size) {
    const std::uint64_t bytes = n * size, padded = (bytes + 7) / 8 * 8;
    if (padded > left_) refuse();
    if (bytes) std::memcpy(to, from_, bytes);
    from_ += padded;
    left_ -= padded;
  }

  const std::uint8_t* from_;
  std::uint64_t left_;
};

}  // namespace crfkit
