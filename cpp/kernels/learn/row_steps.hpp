// Steps of stochastic training for the rows of one kind of attributes (sgd.hpp has the rules).
//
// Rows that a sequence lacks have no gradient: they are clipped, or make up for the proximal steps
// that they have missed (rules.hpp), when they are met again, and at the end of a pass.
#pragma once

#include "kernels/learn/rules.hpp"
#include "shared/learned.hpp"

namespace crfkit::CRFKIT_ARCH {

class RowVisit {
 public:
  RowVisit(const Stochastic& s, const LearnedRows& rows, RowSteps& steps, const Strength& strength)
      : s_(s),
        rows_(rows),
        w_(rows.weight),
        memory_(rows.memory),
        steps_(steps),
        strength_(strength),
        step_(w_.step) {}

  double scale() const { return steps_.scale; }

  // Multiplies all weights.
  void decay(double factor) {
    if (steps_.scale * factor < 1e-30) settle();
    steps_.scale *= factor;
  }

  // Before positions [first, last) are scored.
  void prepare(std::int64_t first, std::int64_t last) const {
    if (s_.rule != Rule::adaptive) return;
    touched(
        first, last, [&](std::int64_t r) { rest_row(r, s_.time); },
        [&](std::int64_t c) { rest_cells(c, s_.time); });
  }

  // Takes the changes of positions, `change(p)` [step], which move weights or add to gradients.
  template <class Change>
  void take(std::int64_t first, std::int64_t last, Change change) const {
    LiveUpdater updater(moved(), 0.0, last);
    for (std::int64_t p = first; p < last; ++p) {
      const double* row = change(p);
      for (int shard = 0; shard < w_.shards; ++shard) updater.position(p * w_.shards + shard, row);
    }
  }
  // Where changes go.
  const Live& moved() const { return s_.rule == Rule::adaptive ? steps_.gradient : w_; }
  // What a change of gold - marginals counts by.
  double gain(double share) const {
    return s_.rule == Rule::adaptive ? -share : s_.rate * share / steps_.scale;
  }

  // After all changes of a sequence.
  void finish(std::int64_t first, std::int64_t last) const {
    if (s_.rule == Rule::adaptive) {
      touched(
          first, last, [&](std::int64_t r) { step_row(r); },
          [&](std::int64_t c) { step_cells(c); });
    } else if (s_.rule == Rule::cumulative) {
      touched(
          first, last, [&](std::int64_t r) { clip_row(r); },
          [&](std::int64_t c) { clip_cells(c); });
    }
  }

  // Every weight gets what is due to it.
  void settle() {
    if (s_.rule == Rule::decayed) {
      for (std::int64_t k = 0; k < rows_.rows * step_; k += W)
        store(w_.table + k, steps_.scale * load(w_.table + k));
      for (std::int64_t c = 0; c < rows_.cells; ++c) w_.cell[c].weight *= steps_.scale;
      steps_.scale = 1.0;
    } else if (s_.rule == Rule::cumulative) {
      for (std::int64_t r = 0; r < rows_.rows; ++r) clip_row(r);
      for (std::int64_t c = 0; c < rows_.cells; ++c) clip_cell(c);
    } else {
      for (std::int64_t r = 0; r < rows_.rows; ++r) {
        rest_row(r, s_.time);
        steps_.row_time[r] = 0;
      }
      for (std::int64_t c = 0; c < rows_.cells; ++c) {
        if (c == 0 || w_.cell[c - 1].last) rest_cells(c, s_.time);
      }
      for (std::int64_t c = 0; c < rows_.cells; ++c) steps_.cell_time[c] = 0;
    }
  }

 private:
  Proximal rule() const { return {s_.rate, strength_.l1, strength_.l2, s_.offset}; }

  // Calls row(r) and cells(c) for the entries of some positions; the same may come up twice.
  template <class OfRow, class OfCells>
  void touched(std::int64_t first, std::int64_t last, OfRow row, OfCells cells) const {
    const std::int64_t end = w_.row_ptr[last * w_.shards];
    for (std::int64_t i = w_.row_ptr[first * w_.shards]; i < end; ++i) {
      fetch_row(w_, i + kAhead, end);
      fetch_row(memory_, i + kAhead, end);
      row(w_.row[i]);
    }
    const std::int64_t short_end = w_.short_ptr[last * w_.shards];
    for (std::int64_t i = w_.short_ptr[first * w_.shards]; i < short_end; ++i) cells(w_.first[i]);
  }

  void clip_row(std::int64_t r) const {
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W) {
      Vec received = load(memory_.table + k);
      store(w_.table + k, clip(load(w_.table + k), received, strength_.due));
      store(memory_.table + k, received);
    }
  }
  void clip_cell(std::int64_t c) const {
    Vec received = splat(memory_.cell[c].weight);
    w_.cell[c].weight = clip(splat(w_.cell[c].weight), received, strength_.due)[0];
    memory_.cell[c].weight = received[0];
  }
  void clip_cells(std::int64_t c) const {
    do clip_cell(c);
    while (!w_.cell[c++].last);
  }

  // Brings a row up to `time`, without gradients.
  void rest_row(std::int64_t r, std::int64_t time) const {
    const Proximal rule = this->rule();
    const double missed = static_cast<double>(time - steps_.row_time[r]);
    steps_.row_time[r] = time;
    if (missed == 0.0 || rule.still()) return;
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W)
      store(w_.table + k, rule.rest(load(w_.table + k), load(memory_.table + k), missed));
  }
  void rest_cells(std::int64_t c, std::int64_t time) const {
    const Proximal rule = this->rule();
    const double missed = static_cast<double>(time - steps_.cell_time[c]);
    steps_.cell_time[c] = time;
    if (missed == 0.0 || rule.still()) return;
    do {
      double& w = w_.cell[c].weight;
      w = rule.rest(splat(w), splat(memory_.cell[c].weight), missed)[0];
    } while (!w_.cell[c++].last);
  }

  // The step of a row that is up to date and has a gradient; a second call does nothing.
  void step_row(std::int64_t r) const {
    if (steps_.row_time[r] > s_.time) return;
    steps_.row_time[r] = s_.time + 1;
    const Proximal rule = this->rule();
    for (std::int64_t k = r * step_; k < (r + 1) * step_; k += W) {
      const Vec g = load(steps_.gradient.table + k), squares = load(memory_.table + k) + g * g;
      store(w_.table + k, rule.step(load(w_.table + k), g, squares));
      store(memory_.table + k, squares);
      store(steps_.gradient.table + k, has_weight(g) ? Vec{} : splat(kNoWeight));
    }
  }
  void step_cells(std::int64_t c) const {
    if (steps_.cell_time[c] > s_.time) return;
    steps_.cell_time[c] = s_.time + 1;
    const Proximal rule = this->rule();
    do {
      double &w = w_.cell[c].weight, &g = steps_.gradient.cell[c].weight;
      double& squares = memory_.cell[c].weight;
      squares += g * g;
      w = rule.step(splat(w), splat(g), splat(squares))[0];
      g = 0.0;
    } while (!w_.cell[c++].last);
  }

  const Stochastic& s_;
  const LearnedRows& rows_;
  const Live &w_, &memory_;
  RowSteps& steps_;
  const Strength& strength_;
  std::int64_t step_;
};

}  // namespace crfkit::CRFKIT_ARCH
