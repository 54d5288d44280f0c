#include "engine/linear/observed.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

namespace {

void check_cells(Integers cell, int width) {
  for (std::size_t p = 0; p < cell.size(); ++p)
    if (cell[p] < -1 || cell[p] >= width)
      refuse("label[" + text(static_cast<std::int64_t>(p)) + "] is out of range");
}

}  // namespace

SeenPairs observed(const Transpose& t, Integers cell, const std::optional<KeptReals>& weight,
                   int width, double minimum, const std::optional<KeptPointers>& ptr, int threads) {
  check_threads(threads);
  const std::int64_t A = t.attributes(), block = 1024;
  check_length("cell", cell.size(), t.positions);
  if (weight) check_length("weight", weight->size(), t.positions);
  check_cells(cell, width);
  if (ptr) {
    check_length("ptr", ptr->size(), A + 1);
    check_pointers(*ptr, "ptr", (*ptr)[A]);
  }
  SeenPairs found;
  found.ptr.resize(ptr ? 0 : A + 1);
  found.column.resize(ptr ? (*ptr)[A] : 0);
  parallel_for((A + block - 1) / block, threads, [&](std::int64_t b) {
    std::vector<double> sum(width, 0.0);
    std::vector<char> met(width, 0);
    std::vector<std::int32_t> list;
    for (std::int64_t a = b * block; a < std::min(A, (b + 1) * block); ++a) {
      for (std::int64_t i = t.ptr[a]; i < t.ptr[a + 1]; ++i) {
        const std::int32_t p = t.position[i], c = cell[p];
        if (c < 0) continue;
        if (!met[c]) met[c] = 1, list.push_back(c);
        sum[c] += weight ? (*weight)[p] * (t.value.empty() ? 1.0 : t.value[i]) : 1.0;
      }
      const auto rare = [&](std::int32_t c) { return minimum > 0.0 && !(sum[c] >= minimum); };
      std::int64_t kept = 0;
      if (ptr) std::sort(list.begin(), list.end());
      for (const std::int32_t c : list) {
        if (!rare(c)) {
          if (ptr) found.column[(*ptr)[a] + kept] = c;
          ++kept;
        }
        sum[c] = 0.0, met[c] = 0;
      }
      list.clear();
      if (!ptr) found.ptr[a + 1] = kept;
    }
  });
  for (std::size_t a = 1; a < found.ptr.size(); ++a) found.ptr[a] += found.ptr[a - 1];
  return found;
}

SeenPairs seen_pairs(Pointers ptr, Integers attr, Integers cell, std::int64_t attributes, int width,
                     int threads) {
  check_threads(threads);
  if (width < 1) refuse("width is " + text(width) + ", expected 1 or more");
  if (attributes < 0) refuse("attributes is " + text(attributes) + ", expected 0 or more");
  const std::int64_t positions = static_cast<std::int64_t>(cell.size());
  check_length("ptr", ptr.size(), positions + 1);
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(attr.size()));
  check_cells(cell, width);
  const std::int64_t words = (width + 63) / 64;
  std::vector<std::vector<std::uint64_t>> bits(threads);
  parallel_for(threads, threads, [&](std::int64_t k) {
    bits[k].assign(attributes * words, 0);
    for (std::int64_t p = positions * k / threads; p < positions * (k + 1) / threads; ++p) {
      const std::int32_t c = cell[p];
      if (p % 1024 == 0) worked(1 << 14);
      if (c < 0) continue;
      for (std::int64_t i = ptr[p]; i < ptr[p + 1]; ++i) {
        const std::uint32_t a = static_cast<std::uint32_t>(attr[i]);
        if (a < static_cast<std::uint64_t>(attributes))
          bits[k][a * words + c / 64] |= std::uint64_t{1} << (c % 64);
      }
    }
  });
  std::vector<std::uint64_t>& all = bits[0];
  for (std::size_t k = 1; k < bits.size(); ++k)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= bits[k][i];
  SeenPairs found;
  found.ptr.assign(attributes + 1, 0);
  for (std::int64_t a = 0; a < attributes; ++a) {
    found.ptr[a + 1] = found.ptr[a];
    for (std::int64_t i = a * words; i < (a + 1) * words; ++i)
      found.ptr[a + 1] += std::popcount(all[i]);
  }
  found.column.reserve(found.ptr[attributes]);
  for (std::int64_t i = 0; i < attributes * words; ++i)
    for (std::uint64_t left = all[i]; left; left &= left - 1)
      found.column.push_back(static_cast<std::int32_t>(i % words * 64 + std::countr_zero(left)));
  return found;
}

}  // namespace crfkit
