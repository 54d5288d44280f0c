// The weights of attributes in a model file of CRFsuite, by attribute: its lists of features
// followed, as CRFsuite does when it tags.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "text/cqdb.hpp"

namespace crfkit {

struct FileRows {
  std::vector<std::int64_t> ptr;     // [A + 1]
  std::vector<std::int32_t> column;  // labels, rising within a row
  std::vector<double> weight;
};

// Where the features and the lists of features lie, within the bytes of the file.
struct FilePlaces {
  std::uint64_t features, feature_count;  // records of 20 bytes
  std::uint64_t lists, list_bytes;  // a chunk with an offset for each attribute after 12 bytes
};

// Nothing where something is not as CRFsuite writes it: a place outside of its chunk, a feature of
// another attribute, labels that do not rise, a weight that is zero or not finite.
inline std::optional<FileRows> file_rows(std::string_view data, const FilePlaces& at,
                                         std::uint64_t attributes, std::uint32_t labels) {
  constexpr std::uint64_t record = 20;
  const auto word = [&](std::uint64_t offset) { return little_word(data.data() + offset); };
  const auto weight_of = [&](std::uint64_t feature) {
    std::uint64_t bits = word(feature + 12) | std::uint64_t{word(feature + 16)} << 32;
    return std::bit_cast<double>(bits);
  };
  for (std::uint64_t f = 0; f < at.feature_count; ++f)
    if (!std::isfinite(weight_of(at.features + record * f))) return std::nullopt;
  FileRows made;
  made.ptr.reserve(attributes + 1);
  made.column.reserve(at.feature_count);
  made.weight.reserve(at.feature_count);
  made.ptr.push_back(0);
  const std::uint64_t end = at.lists + at.list_bytes / 4 * 4;
  for (std::uint64_t a = 0; a < attributes; ++a) {
    const std::uint64_t list = word(at.lists + 12 + 4 * a);
    if (list) {
      if (list < at.lists + 12 || list + 4 > end || (list - at.lists) % 4) return std::nullopt;
      const std::uint64_t count = word(list);
      if (count > (end - list - 4) / 4) return std::nullopt;
      std::int64_t before = -1;
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t id = word(list + 4 + 4 * k);
        if (id >= at.feature_count) return std::nullopt;
        const std::uint64_t feature = at.features + record * id;
        const std::uint32_t label = word(feature + 8);
        const double weight = weight_of(feature);
        if (word(feature) != 0 || word(feature + 4) != a || label >= labels || label <= before ||
            weight == 0.0)
          return std::nullopt;
        before = label;
        made.column.push_back(static_cast<std::int32_t>(label));
        made.weight.push_back(weight);
      }
    }
    made.ptr.push_back(static_cast<std::int64_t>(made.column.size()));
  }
  return made;
}

}  // namespace crfkit
