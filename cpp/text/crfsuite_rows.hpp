// The weights of attributes in a model file of CRFsuite, by attribute: its lists of features
// followed, as CRFsuite does when it tags.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/words.hpp"

namespace crfkit {

// Where the features and the lists of features lie, within the bytes of the file.
struct FilePlaces {
  std::uint64_t features, feature_count;  // records of 20 bytes
  std::uint64_t lists, list_bytes;  // a chunk with an offset for each attribute after 12 bytes
};

// Parts of the work may run side by side.  They say no where something is not as CRFsuite writes
// it: a place outside of its chunk, a feature of another attribute, labels that do not rise, a
// weight that is zero or not finite.  Trusts nothing: the file may change meanwhile.
class FileRows {
 public:
  FileRows(std::string_view file, const FilePlaces& places, std::uint32_t labels)
      : file_(file), at_(places), end_(places.lists + places.list_bytes / 4 * 4), labels_(labels) {}

  // Where the rows of the attributes begin, [A + 1].
  std::optional<std::vector<std::int64_t>> pointers(std::uint64_t attributes) const {
    std::vector<std::int64_t> ptr;
    ptr.reserve(attributes + 1);
    std::int64_t total = 0;
    ptr.push_back(0);
    for (std::uint64_t a = 0; a < attributes; ++a) {
      if (const std::uint64_t list = list_of(a)) {
        if (list < at_.lists + 12 || list + 4 > end_ || (list - at_.lists) % 4) return std::nullopt;
        const std::uint64_t count = word(list);
        if (count > (end_ - list - 4) / 4 || count > labels_) return std::nullopt;
        total += static_cast<std::int64_t>(count);
      }
      ptr.push_back(total);
    }
    return ptr;
  }

  bool finite(std::uint64_t first, std::uint64_t last) const {
    bool all = true;
    for (std::uint64_t f = first; f < last; ++f) {
      const std::uint32_t high = little_word(file_.data() + at_.features + kRecord * f + 16);
      all &= (high & 0x7ff00000U) != 0x7ff00000U;
    }
    return all;
  }

  // Labels and weights of the rows first to last - 1.
  bool fill(std::uint64_t first, std::uint64_t last, const std::int64_t* ptr, std::int32_t* column,
            double* weight) const {
    for (std::uint64_t a = first; a < last; ++a) {
      if (ptr[a] == ptr[a + 1]) continue;
      const std::uint64_t ids = list_of(a) + 4;
      if (ids > end_ || static_cast<std::uint64_t>(ptr[a + 1] - ptr[a]) > (end_ - ids) / 4)
        return false;
      std::int64_t before = -1;
      for (std::int64_t k = ptr[a]; k < ptr[a + 1]; ++k) {
        const std::uint64_t id = word(ids + 4 * static_cast<std::uint64_t>(k - ptr[a]));
        if (id >= at_.feature_count) return false;
        const std::uint64_t feature = at_.features + kRecord * id;
        const std::uint32_t label = word(feature + 8);
        const auto w =
            std::bit_cast<double>(word(feature + 12) | std::uint64_t{word(feature + 16)} << 32);
        if (word(feature) != 0 || word(feature + 4) != a || label >= labels_ || label <= before ||
            w == 0.0)
          return false;
        before = label;
        column[k] = static_cast<std::int32_t>(label);
        weight[k] = w;
      }
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kRecord = 20;
  std::string_view file_;
  FilePlaces at_;
  std::uint64_t end_;
  std::uint32_t labels_;

  std::uint32_t word(std::uint64_t offset) const { return little_word(file_.data() + offset); }
  std::uint64_t list_of(std::uint64_t a) const { return word(at_.lists + 12 + 4 * a); }
};

}  // namespace crfkit
