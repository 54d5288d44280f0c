// Look-ups of many names at once in a frozen alphabet, with the items that they belong to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/alphabet.hpp"

namespace crfkit {

class LookUps {
 public:
  bool full() const { return asked_.size() >= kTogether; }
  std::size_t capacity() const { return asked_.capacity(); }

  void clear() {
    asked_.clear();
    ends_.clear();
    letters_.clear();
  }

  // Keeps a name until `look_up`: its slot is on the way meanwhile, and so are those of the names
  // that follow.  The letters are copied, as nobody keeps the string.
  void ask(const AlphabetView& names, std::string_view name, double value) {
    const std::uint64_t hash = names.hash(name);
    names.fetch(hash);
    const std::size_t begin = letters_.size();
    asked_.push_back({begin, name.size(), hash, value});
    letters_.insert(letters_.end(), name.begin(), name.end());
  }

  void end_item() { ends_.push_back(asked_.size()); }

  // Calls found(id, value) for every known name and ended() after each item, in order; forgets
  // them.
  template <class Found, class Ended>
  void look_up(const AlphabetView& names, Found found, Ended ended) {
    std::size_t item = 0;
    const auto close = [&](std::size_t entries) {
      for (; item < ends_.size() && ends_[item] == entries; ++item) ended();
    };
    close(0);
    find_many(
        names, asked_.size(),
        [&](std::size_t i) {
          const Asked& one = asked_[i];
          return std::pair(std::string_view(letters_.data() + one.begin, one.size), one.hash);
        },
        [&](std::size_t i, std::int32_t id) {
          if (id >= 0) found(id, asked_[i].value);
          close(i + 1);
        });
    clear();
  }

 private:
  struct Asked {
    std::size_t begin, size;  // in letters_
    std::uint64_t hash;
    double value;
  };
  static constexpr std::size_t kTogether = 256;  // names that are looked up together, at the least
  std::vector<Asked> asked_;
  std::vector<std::size_t> ends_;  // of items, in asked_
  std::vector<char> letters_;
};

}  // namespace crfkit
