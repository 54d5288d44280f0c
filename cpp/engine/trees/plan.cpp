#include "engine/trees/plan.hpp"

#include <algorithm>

#include "engine/checks.hpp"
#include "shared/no_memory.hpp"

namespace crfkit {
namespace {
constexpr std::int64_t kMostRows = 1 << 14;  // places are counted in 31 bits
}

void ChartPlan::resize(std::int64_t places) {
  check_memory("the chart of a sentence", 24 * static_cast<std::size_t>(places));
  row_of.assign(places, -1);
  part.assign(places, -1);
}

void ChartPlan::leaf(std::int32_t place, std::int64_t number) {
  leaves.push_back({place, static_cast<std::int32_t>(number)});
  part[place] = static_cast<std::int32_t>(number);
}

void ChartPlan::row(std::int32_t place, std::int32_t lanes) {
  std::fill_n(row_of.begin() + place, lanes, static_cast<std::int32_t>(rows.size()));
  rows.push_back({place, lanes, static_cast<std::int32_t>(terms.size()), 0});
}

void ChartPlan::pair(std::int32_t left, std::int32_t right) {
  terms.push_back({left, right});
  ++rows.back().count;
}

bool ChartPlan::make(TreeShape shape, std::int64_t n, std::int64_t m, std::int64_t stride) {
  if (shape == shape_ && n == height_ && m == width_ && stride == stride_) return false;
  if (n >= kMostRows || m >= kMostRows || (n + 1) * (stride + 1) >= (std::int64_t{1} << 28))
    refuse("a chart of " + text(n) + " x " + text(stride) +
           " is too large: 2^28 cells are the most");
  shape_ = shape, height_ = n, width_ = m, stride_ = stride;
  rows.clear(), terms.clear(), leaves.clear(), ones.clear();
  const auto words = static_cast<std::int32_t>(n);
  if (shape == TreeShape::binary)
    binary(words);
  else if (shape == TreeShape::alignment)
    alignment(words, static_cast<std::int32_t>(m));
  else
    projective(words, shape == TreeShape::projective_single_root);
  return true;
}

// Eisner (1996).  Spans of i to i + w whose head is i ("right") or i + w ("left"), complete or with
// the arc between their ends as the last.  Position 0 is the root, words are 1 to n; nothing is the
// head of the root, whose leaves stay 0.
void ChartPlan::projective(std::int32_t n, bool single_root) {
  const std::int32_t m = n + 1, plane = m * m;
  enum { right, left, open_right, open_left, joined, to_right, to_left, planes };
  const auto at = [&](int which, std::int32_t w, std::int32_t i) {
    return which * plane + w * m + i;
  };
  resize(planes * static_cast<std::int64_t>(plane));
  goal = at(right, n, 0);
  for (std::int32_t i = 0; i < m; ++i) {
    ones.push_back(at(right, 0, i));
    ones.push_back(at(left, 0, i));
  }
  for (std::int32_t w = 1; w < m; ++w) {
    leaf(at(to_right, w, 0), (w - 1) * (stride_ + 1));
    for (std::int32_t i = 1; i + w < m; ++i) {
      leaf(at(to_right, w, i), (i - 1) * stride_ + i + w - 1);
      leaf(at(to_left, w, i), (i + w - 1) * stride_ + i - 1);
    }
  }
  const auto complete = [&](std::int32_t w, std::int32_t first, std::int32_t lanes) {
    row(at(right, w, first), lanes);
    for (std::int32_t k = 1; k <= w; ++k)
      pair(at(open_right, k, first), at(right, w - k, first + k));
  };
  const std::int32_t first = single_root ? 1 : 0;
  for (std::int32_t w = 1; w + first < m; ++w) {
    const std::int32_t lanes = m - w - first;
    row(at(joined, w, first), lanes);
    for (std::int32_t k = 0; k < w; ++k)
      pair(at(right, k, first), at(left, w - 1 - k, first + k + 1));
    row(at(open_right, w, first), lanes);
    pair(at(joined, w, first), at(to_right, w, first));
    row(at(open_left, w, first), lanes);
    pair(at(joined, w, first), at(to_left, w, first));
    complete(w, first, lanes);
    row(at(left, w, first), lanes);
    for (std::int32_t k = 0; k < w; ++k) pair(at(left, k, first), at(open_left, w - k, first + k));
  }
  if (!single_root || n == 0) return;
  for (std::int32_t k = 1; k < m; ++k) {
    row(at(open_right, k, 0), 1);
    pair(at(left, k - 1, 1), at(to_right, k, 0));
  }
  complete(n, 0, 1);
}

// Spans of i to i + w.
void ChartPlan::binary(std::int32_t n) {
  enum { span, joined, label, planes };
  const std::int32_t plane = n * n, one = planes * plane;
  const auto at = [&](int which, std::int32_t w, std::int32_t i) {
    return which * plane + w * n + i;
  };
  resize(one + 1);
  ones.push_back(one);
  goal = n ? at(span, n - 1, 0) : one;
  for (std::int32_t w = 0; w < n; ++w) {
    for (std::int32_t i = 0; i + w < n; ++i) leaf(at(w ? label : span, w, i), i * stride_ + i + w);
    if (w == 0) continue;
    row(at(joined, w, 0), n - w);
    for (std::int32_t k = 0; k < w; ++k) pair(at(span, k, 0), at(span, w - 1 - k, k + 1));
    row(at(span, w, 0), n - w);
    pair(at(joined, w, 0), at(label, w, 0));
  }
}

// Cells (i, d - i) of each diagonal d, with one place before the first row that stays 0; leaves are
// steps into them.
void ChartPlan::alignment(std::int32_t n, std::int32_t m) {
  const std::int32_t width = n + 1, diagonals = n + m, plane = width * diagonals, one = 4 * plane;
  const auto at = [&](int which, std::int32_t d, std::int32_t i) {
    return which * plane + d * width + 1 + i;
  };
  resize(one + 1);
  ones.push_back(one);
  goal = n && m ? at(3, n + m - 2, n - 1) : one;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < m; ++j) {
      const std::int64_t part = 3 * (i * stride_ + j);
      if (j) leaf(at(0, i + j, i), part);
      if (i && j) leaf(at(1, i + j, i), part + 1);
      if (!i && !j) leaf(at(3, 0, 0), part + 1);
      if (i) leaf(at(2, i + j, i), part + 2);
    }
  for (std::int32_t d = 1; d + 1 < n + m; ++d) {
    const std::int32_t i = std::max(0, d - m + 1), last = std::min(n - 1, d);
    row(at(3, d, i), last - i + 1);
    pair(at(3, d - 1, i), at(0, d, i));
    if (d > 1) pair(at(3, d - 2, i - 1), at(1, d, i));
    pair(at(3, d - 1, i - 1), at(2, d, i));
  }
}

}  // namespace crfkit
