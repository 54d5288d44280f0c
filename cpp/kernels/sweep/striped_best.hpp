// The best labelings of chains of few labels: vectors run over sequences, so that no label is
// padding.
//
// The recursion, its order of additions and its ties are those of LaneBest; cells are [label,
// lane]. A lane that is at its end has cells of -inf from there on.  The way back chooses for a
// vector of lanes at a time.
#pragma once

#include "kernels/sweep/call.hpp"
#include "kernels/sweep/packed_rows.hpp"

namespace crfkit::CRFKIT_ARCH {

// V vectors of lanes.
template <int V>
class StripedBest {
 public:
  static constexpr int kLanes = V * W;

  // `sequences` in order of falling length, at most kLanes.
  StripedBest(const Call& call, const std::int64_t* sequences, int lanes)
      : call_(call),
        p_(call.problem),
        sequences_(sequences),
        L_(p_.labels),
        lanes_(lanes),
        stride_(static_cast<std::ptrdiff_t>(L_) * kLanes),
        offsets_(kLanes, call.arena) {
    nothing_ = call.arena.take<double>(L_, kZero);
    for (int b = 0; b < kLanes; ++b) {
      begin_[b] = b < lanes ? p_.seq_ptr[sequences[b]] : 0;
      length_[b] = b < lanes ? static_cast<int>(p_.seq_ptr[sequences[b] + 1] - begin_[b]) : 0;
    }
    cell_ = call.arena.take<double>(static_cast<std::size_t>(stride_) * length_[0]);
  }

  void run() {
    const RowCount count(stride_);
    for (int t = 0, counted = 0; t < length_[0]; ++t) {
      if (t == counted) counted += count.next(length_[0] - t);
      double* cells = cell_ + t * stride_;
      if (t > 0) pull_all(cells - stride_, cells);
      weigh(t, cells);
    }
    for (int b = 0; b < lanes_; b += W) trace(b);
  }

 private:
  // cells[j] = max over i of x[i] + e[i, j].
  void pull_all(const double* x, double* cells) const {
    int j = 0;
    for (; j + 4 <= L_; j += 4) pull<4>(x, j, cells);
    switch (L_ - j) {
      case 3:
        return pull<3>(x, j, cells);
      case 2:
        return pull<2>(x, j, cells);
      case 1:
        return pull<1>(x, j, cells);
      default:
        return;
    }
  }

  template <int J>
  void pull(const double* x, int j, double* cells) const {
    const double* score = p_.edge[0] + j;
    Vec top[J][V];
    for (int k = 0; k < J; ++k)
      for (int v = 0; v < V; ++v) top[k][v] = splat(kZero);
    for (int i = 0; i < L_; ++i, x += kLanes, score += L_) {
      Vec from[V];
      for (int v = 0; v < V; ++v) from[v] = load(x + v * W);
      for (int k = 0; k < J; ++k) {
        const Vec e = splat(score[k]);
        for (int v = 0; v < V; ++v) top[k][v] = max(top[k][v], from[v] + e);
      }
    }
    for (int k = 0; k < J; ++k)
      for (int v = 0; v < V; ++v) store(cells + (j + k) * kLanes + v * W, top[k][v]);
  }

  // Row t of the lanes of vector v: number j of each.
  static Vec gather(const double* const* row, int j) {
    Vec v;
    for (int b = 0; b < W; ++b) v[b] = row[b][j];
    return v;
  }

  void weigh(int t, double* cells) {
    const double* node[kLanes];
    for (int b = 0; b < kLanes; ++b)
      node[b] = t < length_[b] ? p_.node + (begin_[b] + t) * L_ : nothing_;
    Vec top[V];
    for (int v = 0; v < V; ++v) top[v] = splat(kZero);
    alignas(64) double stops[kLanes];  // whether a lane ends here
    bool stopping = false;
    for (int b = 0; p_.stop && b < kLanes; ++b) {
      stops[b] = t == length_[b] - 1;
      stopping |= t == length_[b] - 1;
    }
    for (int j = 0; j < L_; ++j) {
      for (int v = 0; v < V; ++v) {
        double* cell = cells + j * kLanes + v * W;
        Vec x = gather(node + v * W, j);
        if (t > 0) x += load(cell);
        if (t == 0 && p_.start) x += splat(p_.start[j]);
        if (stopping) x += load(stops + v * W) > 0.0 ? splat(p_.stop[j]) : Vec{};
        store(cell, x);
        top[v] = max(top[v], x);
      }
    }
    for (int v = 0; v < V; ++v) {
      top[v] = top[v] == kZero ? Vec{} : top[v];
      offsets_.add(v * W, top[v]);
    }
    for (int j = 0; j < L_; ++j)
      for (int v = 0; v < V; ++v) {
        double* cell = cells + j * kLanes + v * W;
        store(cell, load(cell) - top[v]);
      }
  }

  // Lanes [first, first + W): the last label is chosen by a step of score 0 (row L of `into`).
  void trace(int first) const {
    const BestSteps& steps = call_.prepared.best;
    const double* into[W];
    for (int b = 0; b < W; ++b) into[b] = steps.into(L_);
    for (int b = 0; b < W && first + b < lanes_; ++b) call_.task.value[sequences_[first + b]] = 0.0;
    for (int t = length_[first] - 1; t >= 0; --t) {
      const double* cells = cell_ + t * stride_ + first;
      Vec best = splat(kZero), label = {};
      for (int i = 0; i < L_; ++i) {
        const Vec x = load(cells + i * kLanes) + gather(into, i);
        label = x > best ? splat(i) : label;
        best = max(best, x);
      }
      for (int b = 0; b < W; ++b) {
        const int lane = first + b;
        if (t >= length_[lane]) break;
        const int y = static_cast<int>(label[b]);
        into[b] = steps.into(y);
        call_.task.path[begin_[lane] + t] = y;
        if (t == length_[lane] - 1)
          call_.task.value[sequences_[lane]] = best[b] + offsets_.at(lane).value();
      }
    }
    for (int b = first; b < lanes_ && b < first + W; ++b)
      if (call_.task.value[sequences_[b]] == kZero) call_.no_path(sequences_[b], 0);
  }

  const Call& call_;
  const Problem& p_;
  const std::int64_t* sequences_;
  int L_, lanes_;
  std::ptrdiff_t stride_;  // cells of a row
  LaneOffsets offsets_;
  std::int64_t begin_[kLanes];  // the first position
  int length_[kLanes];
  double* nothing_;  // [L] scores of a lane beyond its end
  double* cell_;     // [rows, L, lanes]; all lanes begin in the first row
};

}  // namespace crfkit::CRFKIT_ARCH
