#include "engine/induction/conjoin.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/checks.hpp"
#include "engine/threads/parallel.hpp"

namespace crfkit {

Conjunctions::Conjunctions(Pointers ptr, Integers right, Integers made)
    : ptr_(ptr.begin(), ptr.end()),
      right_(right.begin(), right.end()),
      made_(made.begin(), made.end()) {
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(right.size()));
  check_length("made", made.size(), static_cast<std::int64_t>(right.size()));
  const auto A = static_cast<std::int64_t>(ptr.size()) - 1;
  is_right_.resize(A), is_made_.resize(A);
  for (std::size_t i = 0; i < right_.size(); ++i) {
    for (const std::int32_t id : {right_[i], made_[i]})
      if (id < 0 || id >= A)
        refuse("attribute " + text(id) + " of a conjunction is not below " + text(A));
    is_right_[right_[i]] = is_made_[made_[i]] = 1;
  }
  for (const std::int32_t id : right_)
    if (is_made_[id]) refuse("attribute " + text(id) + ", on the right, is a conjunction itself");
  std::vector<std::int64_t> left(A, -1);  // of each conjunction
  for (std::int64_t a = 0; a < A; ++a)
    for (std::int64_t i = ptr_[a]; i < ptr_[a + 1]; ++i) {
      if (i > ptr_[a] && right_[i] <= right_[i - 1])
        refuse("the partners of attribute " + text(a) + " do not rise");
      if (left[made_[i]] >= 0) refuse("conjunction " + text(made_[i]) + " is made twice");
      left[made_[i]] = a;
    }
  for (const std::int32_t id : made_) {
    std::int64_t part = id;
    for (int parts = 1; is_made_[part]; part = left[part])
      if (++parts > kMostParts)  // or of itself
        refuse("conjunction " + text(id) + " has more than " + text(kMostParts) + " parts");
  }
}

Conjunctions::Rows Conjunctions::conjoin(Pointers ptr, Integers id, const double* value,
                                         int threads) const {
  check_pointers(ptr, "ptr", static_cast<std::int64_t>(id.size()));
  check_threads(threads);
  constexpr std::int64_t together = 4096;
  const auto rows = static_cast<std::int64_t>(ptr.size()) - 1;
  std::vector<Rows> parts((rows + together - 1) / together);
  parallel_for(static_cast<std::int64_t>(parts.size()), threads, [&](std::int64_t b) {
    parts[b] = block(ptr, id, value, b * together, std::min(rows, (b + 1) * together));
  });
  Rows whole;
  std::size_t size = 0;
  for (const Rows& part : parts) size += part.id.size();
  whole.ptr.reserve(rows + 1), whole.id.reserve(size), whole.value.reserve(value ? size : 0);
  whole.ptr.push_back(0);
  for (Rows& part : parts) {
    const auto before = static_cast<std::int64_t>(whole.id.size());
    for (const std::int64_t end : part.ptr) whole.ptr.push_back(before + end);
    whole.id.insert(whole.id.end(), part.id.begin(), part.id.end());
    whole.value.insert(whole.value.end(), part.value.begin(), part.value.end());
    part = {};
  }
  return whole;
}

Conjunctions::Rows Conjunctions::block(Pointers ptr, Integers id, const double* value,
                                       std::int64_t first, std::int64_t last) const {
  const auto A = static_cast<std::int32_t>(ptr_.size()) - 1;
  Rows out;
  std::vector<std::int64_t> row_of(A, -1);  // the last row that has an attribute on the right
  std::vector<std::int64_t> place(A);       // where in that row
  std::vector<std::int64_t> rights;         // places in `out`
  for (std::int64_t row = first; row < last; ++row) {
    const std::size_t begin = out.id.size();
    rights.clear();
    bool twice = false;
    for (std::int64_t i = ptr[row]; i < ptr[row + 1]; ++i) {
      const std::int32_t a = id[i];
      const bool known = a >= 0 && a < A;
      if (known && is_made_[a]) continue;
      if (known && is_right_[a]) {
        twice = twice || row_of[a] == row;
        row_of[a] = row, place[a] = static_cast<std::int64_t>(out.id.size());
        rights.push_back(place[a]);
      }
      out.id.push_back(a);
      if (value) out.value.push_back(value[i]);
    }
    const auto emit = [&](std::size_t i, std::int64_t j, std::int64_t pair) {
      out.id.push_back(made_[pair]);
      if (value) out.value.push_back(out.value[i] * out.value[j]);
    };
    for (std::size_t i = begin; !rights.empty() && i < out.id.size(); ++i) {
      const std::int32_t a = out.id[i];
      if (a < 0 || a >= A || ptr_[a] == ptr_[a + 1]) continue;
      const auto partners = static_cast<std::size_t>(ptr_[a + 1] - ptr_[a]);
      if (!twice && partners <= 4 * rights.size()) {
        for (std::int64_t pair = ptr_[a]; pair < ptr_[a + 1]; ++pair)
          if (row_of[right_[pair]] == row) emit(i, place[right_[pair]], pair);
        continue;
      }
      const auto from = right_.begin() + ptr_[a], to = right_.begin() + ptr_[a + 1];
      for (const std::int64_t j : rights) {
        const auto found = std::lower_bound(from, to, out.id[j]);
        if (found != to && *found == out.id[j]) emit(i, j, found - right_.begin());
      }
    }
    out.ptr.push_back(static_cast<std::int64_t>(out.id.size()));
  }
  return out;
}

}  // namespace crfkit
