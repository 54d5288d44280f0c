// Structures: which rows exist, in which order they are swept, and which edges enter a row.
//
// A row holds one cell per label (order k: `blocks` sub-rows, one per history of k - 1 labels). Its
// value is
//     row[j] = terms[j] (x) combine over its in-edges of message[j],
// where combine is (+) when in-edges are alternatives (chain, segments) and (x) when they are
// conjuncts (tree).  A row without in-edges starts at one.  The last row has one cell, the total.
// Messages:
//     dense:     message[j] = sum over i of source[i] (x) score[i, j]
//     diagonal:  message[j] = source[j] (x) score[j]
//     total:     message    = sum over i of source[i]
// Chain of order k: row t holds the last min(t + 1, k) labels; Sutton & McCallum (2006) eq. 1.29
// for k = 1, label tuples as in Sha & Pereira (2003) section 3 for k > 1, of which only the L
// successors of a tuple are visited. Segments: Sarawagi & Cohen (2004) eq. 3 in two half steps, so
// that the L x L part is done once per boundary and not D times: row 2b - 1 ends a segment at
// boundary b (diagonal, over its length), row 2b begins one there (dense, over the label before).
// Tree: rows from the leaves to the roots, the upward pass of belief propagation, Sutton & McCallum
// (2006) section 1.4.4.
#pragma once

#include "kernels/simd/arena.hpp"
#include "kernels/sweep/trellis.hpp"
#include "shared/problem.hpp"

namespace crfkit::CRFKIT_ARCH {

inline std::int64_t power(std::int64_t base, int exponent) {
  std::int64_t p = 1;
  while (exponent-- > 0) p *= base;
  return p;
}

// Where the parts of a block's pooled sums lie: gradients of start, stop and tables, then for each
// table the sums of outer products that still lack the factor exp(score) (see Scaled).
struct PooledLayout {
  std::int64_t stop, table[kMaxOrder], products[kMaxOrder], size;

  explicit PooledLayout(const Problem& p) {
    stop = padded(p.labels);
    size = 2 * stop;
    lay_out(p, table);
    lay_out(p, products);
  }

 private:
  void lay_out(const Problem& p, std::int64_t* part) {
    for (int h = 1; h <= kMaxOrder; ++h) {
      part[h - 1] = size;
      if (p.shape != Shape::tree && h <= p.order && p.edge_step == 0)
        size += p.pairs ? padded(p.pairs->count) : power(p.labels, h) * padded(p.labels);
    }
  }
};

// Gradients are linear in what a reverse sweep starts with: the weight of its sequence, or 1.
class Weighted {
 public:
  Weighted(const Task& task, std::int64_t sequence)
      : weight_(task.weight ? task.weight[sequence] : 1.0) {}
  double weight() const { return weight_; }

 private:
  double weight_;
};

class Chain : public Weighted {
 public:
  static constexpr bool conjuncts = false, has_diagonals = false;

  Chain(const Problem& problem, const Task& task, double* pooled, std::int64_t sequence, Arena&)
      : Weighted(task, sequence),
        p_(problem),
        gradients_(task.gradients),
        pooled_(pooled),
        layout_(problem),
        begin_(p_.seq_ptr[sequence]),
        length_(static_cast<int>(p_.seq_ptr[sequence + 1] - begin_)),
        step_(padded(p_.labels)) {
    row_work_ = p_.labels;
    for (int r = 0; r < p_.order; ++r) {
      before_[r + 1] = before_[r] + power(p_.labels, r) * step_;
      row_work_ *= p_.labels;
    }
  }

  int rows() const { return length_ + 1; }
  std::int64_t row_work() const { return row_work_; }  // cells, roughly
  int tables() const { return p_.edge_step == 0 ? p_.order : 0; }

  Row row(int r) const {
    if (r == length_) return {first_cell(r), 1, 1, kPad};
    return {first_cell(r), static_cast<int>(histories(r)), p_.labels, step_};
  }

  int in_count(int r) const { return r > 0; }

  InEdge in(int r, int) const {
    if (r == length_) return {Kind::total, r - 1, 0, nullptr, -1, nullptr, nullptr, nullptr, false};
    const int h = r < p_.order ? r : p_.order;
    const std::int64_t position = begin_ + r;
    return {Kind::dense,
            r - 1,
            r < p_.order ? 1 : p_.labels,
            p_.edge[h - 1] + position * p_.edge_step,
            p_.edge_step == 0 ? h - 1 : -1,
            gradients_.edge ? gradients_.edge + position * gradients_.edge_step : nullptr,
            pools() ? pooled_ + layout_.table[h - 1] : nullptr,
            pools() ? pooled_ + layout_.products[h - 1] : nullptr,
            p_.order == 1};
  }

  Terms terms(int r) const {
    Terms terms;
    if (r == length_) return terms;
    const std::int64_t at = (begin_ + r) * p_.labels;
    terms.add_own(p_.node + at, gradients_.node ? gradients_.node + at : nullptr);
    if (r == 0) terms.add(p_.start, pooled_);
    if (r == length_ - 1) terms.add(p_.stop, pooled_ ? pooled_ + layout_.stop : nullptr);
    return terms;
  }

  PooledRows pooled_rows() const {
    return {0, 1, 1, pools() && p_.order == 1 && length_ > 1 ? length_ - 1 : 0};
  }

  // Labels of a traced path: cell[r] is the chosen cell of row r, relative to the row.
  void emit(const std::int64_t* cell, std::int32_t* path, std::uint8_t*) const {
    for (int t = 0; t < length_; ++t) path[begin_ + t] = static_cast<std::int32_t>(cell[t] % step_);
  }

 private:
  bool pools() const {
    return pooled_ && !gradients_.edge && !gradients_.no_steps && p_.edge_step == 0;
  }
  std::int64_t histories(int r) const {
    return power(p_.labels, r < p_.order - 1 ? r : p_.order - 1);
  }
  std::int64_t first_cell(int r) const {
    const int k = p_.order > 1 ? p_.order - 1 : 0;
    return r <= k ? before_[r] : before_[k] + (r - k) * (before_[k + 1] - before_[k]);
  }

  const Problem& p_;
  const Gradients& gradients_;
  double* pooled_;
  PooledLayout layout_;
  std::int64_t begin_;
  int length_, step_;
  std::int64_t before_[kMaxOrder + 1] = {};
  std::int64_t row_work_;
};

class Segments : public Weighted {
 public:
  static constexpr bool conjuncts = false, has_diagonals = true;

  Segments(const Problem& problem, const Task& task, double* pooled, std::int64_t sequence, Arena&)
      : Weighted(task, sequence),
        p_(problem),
        gradients_(task.gradients),
        pooled_(pooled),
        layout_(problem),
        begin_(p_.seq_ptr[sequence]) {
    length_ = static_cast<int>(p_.seq_ptr[sequence + 1] - begin_);
    step_ = padded(p_.labels);
  }

  int rows() const { return 2 * length_ + 1; }
  std::int64_t row_work() const {
    return std::int64_t{p_.labels} * (p_.labels > p_.longest ? p_.labels : p_.longest);
  }
  int tables() const { return p_.edge_step == 0 ? 1 : 0; }
  Row row(int r) const {
    const std::int64_t cell = static_cast<std::int64_t>(r) * step_;
    return r == 2 * length_ ? Row{cell, 1, 1, kPad} : Row{cell, 1, p_.labels, step_};
  }

  int in_count(int r) const {
    if (r % 2 == 0) return r > 0;
    const int b = (r + 1) / 2;
    return b < p_.longest ? b : p_.longest;
  }

  InEdge in(int r, int e) const {
    if (r == 2 * length_)
      return {Kind::total, r - 1, 0, nullptr, -1, nullptr, nullptr, nullptr, false};
    if (r % 2 == 0) {
      const std::int64_t position = begin_ + r / 2;
      return {Kind::dense,
              r - 1,
              p_.labels,
              p_.edge[0] + position * p_.edge_step,
              p_.edge_step == 0 ? 0 : -1,
              gradients_.edge ? gradients_.edge + position * gradients_.edge_step : nullptr,
              pools() ? pooled_ + layout_.table[0] : nullptr,
              pools() ? pooled_ + layout_.products[0] : nullptr,
              true};
    }
    const int from = (r + 1) / 2 - (e + 1);
    const std::int64_t at = ((begin_ + from) * p_.longest + e) * p_.labels;
    return {Kind::diagonal,  2 * from, 0,
            p_.segment + at, -1,       gradients_.segment ? gradients_.segment + at : nullptr,
            nullptr,         nullptr,  false};
  }

  Terms terms(int r) const {
    Terms terms;
    if (length_ == 0) return terms;
    if (r == 0) terms.add(p_.start, pooled_);
    if (r == 2 * length_ - 1) terms.add(p_.stop, pooled_ ? pooled_ + layout_.stop : nullptr);
    return terms;
  }

  PooledRows pooled_rows() const { return {1, 2, 2, pools() && length_ > 1 ? length_ - 1 : 0}; }

  void emit(const std::int64_t* cell, std::int32_t* path, std::uint8_t* begin) const {
    for (int b = 0, label = 0; b < length_; ++b) {
      const bool begins = cell[2 * b] >= 0;
      if (begins) label = static_cast<int>(cell[2 * b]);
      path[begin_ + b] = label;
      if (begin) begin[begin_ + b] = begins;
    }
  }

 private:
  bool pools() const {
    return pooled_ && !gradients_.edge && !gradients_.no_steps && p_.edge_step == 0;
  }

  const Problem& p_;
  const Gradients& gradients_;
  double* pooled_;
  PooledLayout layout_;
  std::int64_t begin_;
  int length_, step_;
};

class Tree : public Weighted {
 public:
  static constexpr bool conjuncts = true, has_diagonals = false;

  Tree(const Problem& problem, const Task& task, double*, std::int64_t sequence, Arena& arena)
      : Weighted(task, sequence),
        p_(problem),
        gradients_(task.gradients),
        begin_(p_.seq_ptr[sequence]) {
    size_ = static_cast<int>(p_.seq_ptr[sequence + 1] - begin_);
    const std::int32_t* parent = p_.parent + begin_;
    variable_ = arena.take<std::int32_t>(size_);
    row_of_ = arena.take<std::int32_t>(size_);
    child_ptr_ = arena.take<std::int32_t>(size_ + 2, 0);
    child_ = arena.take<std::int32_t>(size_);
    first_cell_ = arena.take<std::int64_t>(size_ + 1);
    // Children by parent, roots last: a counting sort.
    const auto slot = [&](int v) { return parent[v] < 0 ? size_ : parent[v]; };
    for (int v = 0; v < size_; ++v) ++child_ptr_[slot(v) + 1];
    for (int v = 0; v <= size_; ++v) child_ptr_[v + 1] += child_ptr_[v];
    std::int32_t* fill = arena.take<std::int32_t>(size_ + 1);
    for (int v = 0; v <= size_; ++v) fill[v] = child_ptr_[v];
    for (int v = 0; v < size_; ++v) child_[fill[slot(v)]++] = v;
    // Breadth first from the roots, read backwards: children before parents.
    int found = 0;
    for (int c = child_ptr_[size_]; c < child_ptr_[size_ + 1]; ++c)
      variable_[size_ - 1 - found++] = child_[c];
    for (int done = 0; done < found; ++done) {
      const int v = variable_[size_ - 1 - done];
      row_of_[v] = size_ - 1 - done;
      for (int c = child_ptr_[v]; c < child_ptr_[v + 1]; ++c)
        variable_[size_ - 1 - found++] = child_[c];
    }
    first_cell_[0] = 0;
    for (int r = 0; r < size_; ++r)
      first_cell_[r + 1] = first_cell_[r] + padded(width(variable_[r]));
  }

  int rows() const { return size_ + 1; }
  std::int64_t row_work() const { return std::int64_t{p_.labels} * p_.labels; }
  int tables() const { return 0; }
  Row row(int r) const {
    if (r == size_) return {first_cell_[r], 1, 1, kPad};
    const int n = width(variable_[r]);
    return {first_cell_[r], 1, n, padded(n)};
  }

  int in_count(int r) const {
    const int v = r == size_ ? size_ : variable_[r];
    return child_ptr_[v + 1] - child_ptr_[v];
  }

  InEdge in(int r, int e) const {
    const int child = child_[child_ptr_[r == size_ ? size_ : variable_[r]] + e];
    if (r == size_)
      return {Kind::total, row_of_[child], 0, nullptr, -1, nullptr, nullptr, nullptr, false};
    const std::int64_t at = p_.edge_ptr[begin_ + child];
    return {Kind::dense,  row_of_[child],
            width(child), p_.edge[0] + at,
            -1,           gradients_.edge ? gradients_.edge + at : nullptr,
            nullptr,      nullptr,
            false};
  }

  Terms terms(int r) const {
    Terms terms;
    if (r == size_) return terms;
    const std::int64_t at = p_.node_ptr[begin_ + variable_[r]];
    terms.add_own(p_.node + at, gradients_.node ? gradients_.node + at : nullptr);
    return terms;
  }

  PooledRows pooled_rows() const { return {0, 0, 0, 0}; }

  void emit(const std::int64_t* cell, std::int32_t* path, std::uint8_t*) const {
    for (int r = 0; r < size_; ++r)
      path[begin_ + variable_[r]] = static_cast<std::int32_t>(cell[r]);
  }

 private:
  int width(int v) const { return p_.width[begin_ + v]; }

  const Problem& p_;
  const Gradients& gradients_;
  std::int64_t begin_;
  int size_;
  std::int32_t *variable_, *row_of_, *child_ptr_, *child_;
  std::int64_t* first_cell_;
};

}  // namespace crfkit::CRFKIT_ARCH
