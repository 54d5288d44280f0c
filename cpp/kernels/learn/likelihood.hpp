// Loss and gradients by scores of groups of sequences, while a group is in the cache.
//
// The loss of a sequence is weight * (log Z - score of its gold), Sutton & McCallum (2006)
// eq. 1.20; where gold is a set of labels its score is the log of a second sum, over scores with
// -inf outside the set, whose gradients enter with a negative weight.  Scores of start and stop are
// part of the first and last rows.  Of the score of a gold path the start, the stop and the steps,
// edge attributes included, are left to the caller, who knows their sums.
#pragma once

#include "kernels/linear/compose.hpp"
#include "kernels/sweep/group_sum.hpp"

namespace crfkit::CRFKIT_ARCH {

// What a block of groups adds up: gradients of start, stop and of the tables, in rows of `step`, or
// of pairs.
struct BlockSums {
  double *start, *stop, *edge;
  double* products;    // of the edges, still without the factor exp(score)
  EdgeFactors* edges;  // or null when there are no edge attributes

  BlockSums(double* pooled, double* products_, EdgeFactors* edges_, int step)
      : start(pooled),
        stop(pooled + step),
        edge(pooled + 2 * step),
        products(products_),
        edges(edges_) {}
};

class GroupLoss {
 public:
  GroupLoss(const Evaluation& e, const Tables& probabilities, const Tables& scores,
            const Group& group, BlockSums& sums, Arena& arena)
      : e_(e),
        probabilities_(probabilities),
        sums_(sums),
        arena_(arena),
        length_(e.length + group.first_lane),
        weight_(e.weight + group.first_lane),
        value_(e.value + group.first_lane),
        lanes_(group.lanes),
        L_(e.problem.labels),
        step_(padded(L_)),
        first_(group.first_position),
        s_(group, length_, arena),
        sum_(e.problem, probabilities, scores, s_, arena),
        node_(e.node + (first_ - e.first) * step_),
        log_z_(arena.take<double>(lanes_)) {}

  // False when a score is not finite; `impossible` becomes a lane that has no labeling, if any.
  bool run(int* impossible) {
    if (!score_packed(e_, first_, first_ + s_.positions())) return false;
    for (int lane = 0; lane < lanes_; ++lane) value_[lane] = 0.0;
    if (!e_.gold.allowed) subtract_gold_scores();
    add_ends();
    double* clamped = e_.gold.allowed ? clamp_and_sum(impossible) : nullptr;
    finite_ &= sum_.run(node_, weight_, holes_, edges(), log_z_, [&] {
      score_packed(e_, first_, first_ + s_.positions());
      add_ends();
    });
    for (int lane = 0; lane < lanes_; ++lane) {
      if (log_z_[lane] == kZero) *impossible = lane;
      value_[lane] += weight_[lane] * log_z_[lane];
    }
    if (clamped) {
      for (std::int64_t c = 0; c < s_.positions() * step_; c += W)
        store(node_ + c, load(node_ + c) + load(clamped + c));
    } else {
      subtract_gold();
    }
    for (int lane = 0; lane < lanes_; ++lane) {
      add_to(sums_.start, row(node_, lane, 0));
      add_to(sums_.stop, row(node_, lane, length_[lane] - 1));
    }
    return finite_;
  }

 private:
  // Row of position t of a lane.
  double* row(double* rows, int lane, int t) const { return rows + s_.position(lane, t) * step_; }
  EdgeSums edges() const { return {sums_.edge, sums_.products, 0, sums_.edges}; }

  void add_to(double* out, const double* from) const {
    for (int j = 0; j < L_; j += W)
      store(out + j, load(out + j) + load_part(from + j, L_ - j, 0.0));
  }

  void add_ends() {
    holes_ = probabilities_.holes();
    for (int lane = 0; lane < lanes_; ++lane) {
      if (e_.start) add_scores(row(node_, lane, 0), e_.start);
      if (e_.stop) add_scores(row(node_, lane, length_[lane] - 1), e_.stop);
    }
  }
  void add_scores(double* to, const double* scores) {
    for (int j = 0; j < L_; ++j) {
      holes_ |= scores[j] == kZero;
      to[j] += scores[j];
    }
  }

  // f(row of the group, lane, position): all positions.
  template <class F>
  void each_position(F f) const {
    for (int r = 0; r < s_.rows(); ++r)
      for (int lane = 0; lane < s_.reached(r); ++lane)
        f(node_ + (s_.begin(r) + lane) * step_, lane, first_ + s_.begin(r) + lane);
  }

  void subtract_gold_scores() {
    const Gold& gold = e_.gold;
    each_position([&](const double* scores, int lane, std::int64_t p) {
      if (gold.label) {
        value_[lane] -= weight_[lane] * scores[gold.label[p]];
      } else {
        const double* q = gold.soft + static_cast<std::int64_t>(gold.source[p]) * L_;
        for (int j = 0; j < L_; ++j)
          if (q[j] > 0.0) value_[lane] -= weight_[lane] * q[j] * scores[j];
      }
    });
  }

  void subtract_gold() {
    const Gold& gold = e_.gold;
    each_position([&](double* gradient, int lane, std::int64_t p) {
      if (gold.label) {
        gradient[gold.label[p]] -= weight_[lane];
      } else {
        const double* q = gold.soft + static_cast<std::int64_t>(gold.source[p]) * L_;
        for (int j = 0; j < L_; ++j) gradient[j] -= weight_[lane] * q[j];
      }
    });
  }

  // The sum over the labelings in the set; its gradients are returned.
  double* clamp_and_sum(int* impossible) {
    double* clamped = arena_.take<double>(s_.positions() * step_, 0.0);
    double* negative = arena_.take<double>(lanes_);
    for (int lane = 0; lane < lanes_; ++lane) negative[lane] = -weight_[lane];
    const auto fill = [&] {
      each_position([&](const double* scores, int, std::int64_t p) {
        const std::uint8_t* allowed =
            e_.gold.allowed + static_cast<std::int64_t>(e_.gold.source[p]) * L_;
        for (int j = 0; j < L_; ++j)
          clamped[(p - first_) * step_ + j] = allowed[j] ? scores[j] : kZero;
      });
    };
    fill();
    finite_ &= sum_.run(clamped, negative, true, edges(), log_z_, fill);
    for (int lane = 0; lane < lanes_; ++lane) {
      if (log_z_[lane] == kZero) *impossible = lane;
      value_[lane] -= weight_[lane] * log_z_[lane];
    }
    return clamped;
  }

  const Evaluation& e_;
  const Tables& probabilities_;
  BlockSums& sums_;
  Arena& arena_;
  const std::int32_t* length_;  // [lanes]
  const double* weight_;        // [lanes]
  double* value_;               // [lanes]
  int lanes_, L_, step_;
  std::int64_t first_;
  Packed s_;
  GroupSum sum_;
  double* node_;   // [positions, step]
  double* log_z_;  // [lanes]
  bool holes_ = false, finite_ = true;
};

// Memory that a thread keeps between blocks and evaluations.
struct Workspace {
  Arena block, group;
};

// Losses and gradients of block b; its sums are added to `pooled`: start, stop and tables in rows
// of `step`.  `impossible` becomes a lane without a labeling, if there is one.  False when a score
// is not finite.
inline bool evaluate_block(const Evaluation& e, const Tables& probabilities, const Tables& scores,
                           std::int64_t b, Workspace& workspace, double* pooled,
                           std::int64_t* impossible) {
  const int L = e.problem.labels, step = padded(L);
  const Block &from = e.block[b], &to = e.block[b + 1];
  workspace.block.reset();
  const PooledLayout layout(e.problem);
  const Table& table = probabilities.table[0];
  double* shared = workspace.block.take<double>(
      e.edges.ptr ? L * step : 0);  // the probabilities of the table, unpacked
  for (int i = 0; e.edges.ptr && i < L; ++i)
    for (int j = 0; j < step; j += W)
      store(shared + i * step + j, load(table.matrix(0) + packed_index(L, L, i, j)));
  EdgeFactors edges(e.edges, shared, L, workspace.block);
  BlockSums sums(pooled, workspace.block.take<double>(layout.size - layout.products[0], 0.0),
                 e.edges.ptr ? &edges : nullptr, step);
  for (std::int64_t g = from.group; g < to.group; ++g) {
    workspace.group.reset();
    int lane = -1;
    GroupLoss loss(e, probabilities, scores, e.group[g], sums, workspace.group);
    if (!loss.run(&lane)) return false;
    if (lane >= 0 && *impossible < 0) *impossible = e.group[g].first_lane + lane;
  }
  add_partials(e.partials, from.partial, to.partial, step, e.partial_row, e.node);
  gather_loose(e.rows, e.loose, e.node, from.loose, to.loose, e.gradient);
  for (int h = 0; h < probabilities.count; ++h)
    for (int m = 0; m < probabilities.table[h].blocks; ++m)
      add_gradients(probabilities.table[h], m, sums.products + layout.table[h] - layout.table[0],
                    sums.edge + layout.table[h] - layout.table[0]);
  return true;
}

}  // namespace crfkit::CRFKIT_ARCH
