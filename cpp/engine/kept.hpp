// Arrays that somebody else owns.  What is needed during a call is a std::span; what an object
// refers to afterwards is Kept, which holds its owner as well, whoever that is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace crfkit {

template <class T>
class Kept : public std::span<const T> {
 public:
  Kept() = default;
  Kept(std::span<const T> values, std::shared_ptr<const void> owner)
      : std::span<const T>(values), owner_(std::move(owner)) {}

 private:
  std::shared_ptr<const void> owner_;
};

// Arguments of functions.
using Pointers = std::span<const std::int64_t>;
using Integers = std::span<const std::int32_t>;
using Reals = std::span<const double>;
using Written = std::span<double>;

using KeptPointers = Kept<std::int64_t>;
using KeptIntegers = Kept<std::int32_t>;
using KeptReals = Kept<double>;

// The values, or null where there are none.
template <class T>
const T* data_or_null(const std::optional<Kept<T>>& values) {
  return values ? values->data() : nullptr;
}

}  // namespace crfkit
