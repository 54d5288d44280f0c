#include "engine/trees/plan.hpp"

#include "engine/checks.hpp"

namespace crfkit {
namespace {
constexpr std::int64_t kMostRows = 1 << 14;  // places are counted in 31 bits
}

void ChartPlan::add(ChartCell cell) {
  const auto number = static_cast<std::int32_t>(cells.size());
  owner[cell.place] = number;
  if (cell.twin >= 0) owner[cell.twin] = number;
  cells.push_back(cell);
}

void ChartPlan::make(TreeShape of, std::int64_t n, std::int64_t m, std::int64_t step) {
  if (of == shape && n == rows && m == columns && step == stride) return;
  if (n >= kMostRows || m >= kMostRows || (n + 1) * (step + 1) >= (std::int64_t{1} << 28))
    refuse("a chart of " + text(n) + " x " + text(step) + " is too large: 2^28 cells are the most");
  shape = of, rows = n, columns = m, stride = step;
  cells.clear(), owner.clear(), ones.clear();
  const auto words = static_cast<std::int32_t>(n);
  if (of == TreeShape::binary)
    binary(words);
  else if (of == TreeShape::alignment)
    alignment(words, static_cast<std::int32_t>(m));
  else
    projective(words, of == TreeShape::projective_single_root);
}

// Eisner (1996): spans i..j whose head is i ("right") or j ("left"), complete or with the arc
// between i and j as their last.  Place 0 of a sentence is the root; the words are 1 to n.
void ChartPlan::projective(std::int32_t n, bool single_root) {
  const std::int32_t m = n + 1, plane = m * m, one = 7 * plane;
  enum { complete_right, right_by_end, complete_left, left_by_end, open_right, open_left, joined };
  const auto at = [&](int which, std::int32_t i, std::int32_t j) {
    return which * plane + i * m + j;
  };
  const auto arc = [&](std::int32_t head, std::int32_t word) {  // roots lie on the diagonal
    return static_cast<std::int32_t>((head ? head - 1 : word - 1) * stride + word - 1);
  };
  owner.assign(one + 1, -1);
  ones.push_back(one);
  for (std::int32_t i = 0; i < m; ++i)
    for (int which : {complete_right, right_by_end, complete_left, left_by_end})
      ones.push_back(at(which, i, i));
  goal = at(complete_right, 0, n);
  const auto complete = [&](std::int32_t i, std::int32_t j) {
    add({at(open_right, i, i + 1), at(right_by_end, j, i + 1), j - i, at(complete_right, i, j),
         at(right_by_end, j, i), -1});
  };
  for (std::int32_t width = 1; width < m; ++width)
    for (std::int32_t i = single_root ? 1 : 0; i + width < m; ++i) {
      const std::int32_t j = i + width;
      add({at(complete_right, i, i), at(left_by_end, j, i + 1), width, at(joined, i, j), -1, -1});
      add({at(joined, i, j), one, 1, at(open_right, i, j), -1, arc(i, j)});
      if (i) {  // the root depends on nothing
        add({at(joined, i, j), one, 1, at(open_left, j, i), -1, arc(j, i)});
        add({at(complete_left, i, i), at(open_left, j, i), width, at(complete_left, i, j),
             at(left_by_end, j, i), -1});
      }
      complete(i, j);
    }
  if (!single_root || n == 0) return;
  for (std::int32_t k = 1; k < m; ++k)
    add({at(complete_left, 1, k), one, 1, at(open_right, 0, k), -1, arc(0, k)});
  complete(0, n);
}

void ChartPlan::binary(std::int32_t n) {
  enum { span, span_by_end, joined };
  const std::int32_t plane = n * n, one = 3 * plane;
  const auto at = [&](int which, std::int32_t i, std::int32_t j) {
    return which * plane + i * n + j;
  };
  owner.assign(one + 1, -1);
  ones.push_back(one);
  goal = n ? at(span, 0, n - 1) : one;
  for (std::int32_t width = 0; width < n; ++width)
    for (std::int32_t i = 0; i + width < n; ++i) {
      const std::int32_t j = i + width, inside = width ? at(joined, i, j) : one;
      if (width) add({at(span, i, i), at(span_by_end, j, i + 1), width, inside, -1, -1});
      add({inside, one, 1, at(span, i, j), at(span_by_end, j, i),
           static_cast<std::int32_t>(i * stride + j)});
    }
}

// Cell 3 of each four is what leads to (i, j); before it, by kind, the last step and what leads to
// its start.
void ChartPlan::alignment(std::int32_t n, std::int32_t m) {
  const auto at = [&](std::int32_t i, std::int32_t j, int kind) { return 4 * (i * m + j) + kind; };
  const std::int32_t one = 4 * n * m;
  owner.assign(one + 3, -1);
  ones = {one, one + 1, one + 2};
  goal = n && m ? at(n - 1, m - 1, 3) : one;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < m; ++j) {
      const auto step = [&](int kind, std::int32_t from) {
        add({from, one, 1, at(i, j, kind), -1,
             static_cast<std::int32_t>(3 * (i * stride + j) + kind)});
      };
      if (j) step(0, at(i, j - 1, 3));
      if (i && j) step(1, at(i - 1, j - 1, 3));
      if (!i && !j) step(1, one);
      if (i) step(2, at(i - 1, j, 3));
      const int first = j ? 0 : i ? 2 : 1, count = i && j ? 3 : 1;
      add({at(i, j, first), one, count, at(i, j, 3), -1, -1});
    }
}

}  // namespace crfkit
