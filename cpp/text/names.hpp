// Where strings get their ids: an alphabet that grows, one that is frozen, or their hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "text/alphabet.hpp"

namespace crfkit {

// A fixed number of attributes: a string's id is a part of its hash.  While it grows it remembers
// the strings, so that it can count those that share the id of an earlier one.
class Hasher {
 public:
  explicit Hasher(std::uint32_t size) : size_(size) {}

  std::int32_t id(std::string_view s) {
    const auto id = static_cast<std::int32_t>((hash_bytes(s) >> 32) * size_ >> 32);
    if (!growing_) return id;
    if (used_.empty()) used_.assign(size_, false);  // not before: who looks up needs no memory
    const std::size_t known = seen_.size();
    seen_.add(s);
    if (seen_.size() > known) {
      collisions_ += used_[id];
      used_[id] = true;
    }
    return id;
  }
  void freeze() {
    growing_ = false;
    seen_ = Alphabet();
    used_ = {};
  }
  std::int64_t size() const { return static_cast<std::int64_t>(size_); }
  AlphabetView seen() const { return seen_.view(); }
  std::int64_t collisions() const { return collisions_; }

 private:
  std::uint64_t size_;
  std::int64_t collisions_ = 0;
  bool growing_ = true;
  Alphabet seen_;
  std::vector<bool> used_;
};

// Where strings get their ids; a frozen alphabet answers -1 to unknown ones.
using Names = std::variant<Alphabet*, AlphabetView, Hasher*>;

inline std::int32_t id_of(const Names& names, std::string_view s) {
  if (const auto* frozen = std::get_if<AlphabetView>(&names)) return frozen->find(s);
  if (const auto* growing = std::get_if<Alphabet*>(&names)) return (*growing)->add(s);
  return std::get<Hasher*>(names)->id(s);
}

}  // namespace crfkit
