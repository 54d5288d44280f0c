// Scaled sums over the segmentations of packed lanes: Sarawagi & Cohen (2004) eq. 5 and its
// gradient, for the training of segments.
//
// With n, b, e, g and l the exponentials of the scores of a position, a beginning, an end, a single
// segment and a length, and t those of the steps, all by label:
//
//   open[r]  = b[r] * (t' close[r - 1])                       mass of what begins at r
//   close[r] = e[r] * sum over d: open[s] n[s] .. n[r] g l[d]  mass of what ends at r; s = r - d +
//   1
//
// The products open[s] n[s] .. n[r] are kept for the last D beginnings and grow by one factor a
// row; on the way back the products of adjoints and n[r] .. n[s] do so for the next D ends.  A
// position costs L^2 + D L, and one exponential for each of its rows.  A position lies in one
// segment, so the largest n of a row is taken out of it; segments may be few or many, so nothing is
// taken out of the other factors, and powers of two of n alone keep the cells in range.
#pragma once

#include "kernels/sweep/packed_rows.hpp"
#include "kernels/sweep/safety.hpp"

namespace crfkit::CRFKIT_ARCH {

// Factors that all positions share, made once for a block.
struct SegmentFactors {
  int longest, n, step;
  double *start, *stop;  // [step]
  double* length;        // [D, step]
  double* keep;          // [D, step] 1 where a label has longer segments, else 0
  bool* shorter;         // [D] whether one has none
  double most = 0.0;     // the largest score that a step and a length can add, or take away
  bool holes;            // something is forbidden, beside what is too long
  const Table& table;
  double step_top;  // what was taken out of the table, as a factor

  SegmentFactors(const Evaluation& e, const Table& table_, Arena& arena)
      : longest(e.segments.longest),
        n(e.problem.labels),
        step(padded(n)),
        start(end_factors(e.start, arena)),
        stop(end_factors(e.stop, arena)),
        length(arena.take<double>(static_cast<std::size_t>(longest) * step, 0.0)),
        keep(arena.take<double>(static_cast<std::size_t>(longest) * step, 0.0)),
        shorter(arena.take<bool>(longest, false)),
        holes(table_.spread.holes),
        table(table_),
        step_top(std::exp(table_.spread.safe_top())) {
    see(table.spread.top);
    see(table.spread.low);
    for (int j = 0; e.start && j < n; ++j) see_end(e.start[j]);
    for (int j = 0; e.stop && j < n; ++j) see_end(e.stop[j]);
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
      bool longer = false;
      for (int d = longest - 1; d >= 0; --d) {
        const double score = e.segments.length[d * n + j];
        keep[d * step + j] = longer ? 1.0 : 0.0;
        shorter[d] |= !longer;
        holes |= longer && score == kZero;
        if (score == kZero) continue;
        longer = true;
        length[d * step + j] = std::exp(score < 700.0 ? score : 700.0);  // more is not exact
        largest = std::fabs(score) > largest ? std::fabs(score) : largest;
      }
    }
    most += largest;
  }

 private:
  double* end_factors(const double* score, Arena& arena) const {
    double* factor = arena.take<double>(step, 0.0);
    for (int j = 0; j < n; ++j) factor[j] = score ? std::exp(score[j]) : 1.0;
    return factor;
  }
  void see(double score) {
    if (std::fabs(score) < kInfinity && std::fabs(score) > most) most = std::fabs(score);
  }
  void see_end(double score) {
    holes |= score == kZero;
    see(score);
  }
};

// The rows of one group: scores, which become factors on the way forward and gradients on the way
// back.
struct SegmentTerms {
  double *node, *begin, *end;               // [positions, step]; begin and end may be null
  double* rows;                             // all of them
  const std::int64_t *begin_ptr, *end_ptr;  // [positions + 1]
  const SegmentRow *by_begin, *by_end;
};

// Sums of gradients of a block, in rows of `step`; `products` and `lengths` are still without the
// factors exp(score).
struct SegmentSums {
  double *start, *stop, *edge, *length;
  double* products;
  double* lengths;  // or null when gradients of lengths are not wanted
};

// `Watched`: some parts are forbidden.
template <bool Watched>
class SegmentSum {
 public:
  static constexpr int kOuterPositions = 64;  // whose outer products are added together

  // `weight` scales the gradients of each lane.
  SegmentSum(const Packed& s, const SegmentFactors& factors, const double* weight,
             const SegmentTerms& terms, const SegmentSums& sums, Arena& arena)
      : f_(factors),
        n_(factors.n),
        step_(factors.step),
        span_(factors.longest < s.rows() ? factors.longest : s.rows()),
        ring_rows_(kOuterPositions / s.lanes() > 2 ? kOuterPositions / s.lanes() : 2),
        stride_(static_cast<std::ptrdiff_t>(s.lanes()) * step_),
        weight_(weight),
        terms_(terms),
        sums_(sums),
        offsets_(s.lanes(), arena),
        open_(arena.take<double>(static_cast<std::size_t>(stride_) * s.rows())),
        close_(arena.take<double>(static_cast<std::size_t>(stride_) * s.rows())),
        window_(arena.take<double>(static_cast<std::size_t>(stride_) * span_)),
        at_(arena.take<std::ptrdiff_t>(span_)),
        ring_(arena.take<double>(static_cast<std::size_t>(stride_) * ring_rows_)),
        back_(arena.take<double>(static_cast<std::size_t>(stride_))),
        inside_(arena.take<double>(static_cast<std::size_t>(stride_), 0.0)) {}

  // What was not seen to lose anything.  The cells of a row and the masses that may still become
  // cells differ by the ranges of positions and, twice, by what the other factors can add.
  bool exact() {
    const double most = f_.most + max_of(begin_most_) + max_of(end_most_) + max_of(segment_most_);
    safety_.see_table({most, -most, f_.holes || Watched});
    return safety_.exact();
  }

  void pull(const Packed& s, int r) {
    const int lanes = s.reached(r), before = r > 0 ? s.reached(r - 1) : 0;
    double *open = open_ + r * stride_, *close = close_ + r * stride_;
    if (before)
      product<SumProduct>(close - stride_, step_, before, n_, f_.table.matrix(0), n_, open, step_);
    turn_window(r, -1);
    for (int lane = 0; lane < lanes; ++lane) {
      begin_here(s.begin(r) + lane, lane < before, open + lane * step_);
      end_here(s, r, lane);
    }
    for (std::ptrdiff_t c = lanes * step_; c < stride_; c += W) store(close + c, Vec{});
    offsets_.add_tops(lanes);
  }

  // log Z of a lane.
  double value(const Packed& s, int lane) const {
    return std::log(total(s, lane)) + offsets_.at(lane).value();
  }

  void push(const Packed& s, int r) {
    const int lanes = s.reached(r), before = r > 0 ? s.reached(r - 1) : 0;
    const bool last = r == s.rows() - 1;
    if (last) {
      start_reverse(s);
    } else {
      product<SumProduct>(adjoint(r + 1), step_, lanes, n_, f_.table.matrix_transposed(0), n_,
                          back_, step_);
    }
    double* adjoints = adjoint(r);
    turn_window(r, 1);
    for (int lane = 0; lane < lanes; ++lane) {
      double* out = adjoints + lane * step_;
      push_lane(s, r, lane, last ? sums_.stop : nullptr, lane < before ? nullptr : sums_.start,
                out);
      for (int j = 0; lane >= before && j < step_; j += W) store(out + j, Vec{});
    }
    for (std::ptrdiff_t c = lanes * step_; c < stride_; c += W) store(adjoints + c, Vec{});
    if (r > 0 && (r % ring_rows_ == 0 || r == 1)) add_products(s, r);
  }

 private:
  double* adjoint(int r) const { return ring_ + r % ring_rows_ * stride_; }
  // Where the products of the segments lie that began (forward) or end (back) d rows from row r.
  void turn_window(int r, int way) {
    for (int d = 0; d < span_ && r + way * d >= 0; ++d) at_[d] = (r + way * d) % span_ * stride_;
  }
  double* window(int d, int lane) const { return window_ + at_[d] + lane * step_; }

  // A row of scores becomes factors; `most` sees how large they are, and what is above 700 is not
  // exact.
  void make_factors(double* row, Vec* most) const {
    for (int j = 0; j < step_; j += W) {
      const Vec x = load_part(row + j, n_ - j, 0.0);
      *most = max(*most, absolute(x));
      store(row + j, exp(min(x, splat(700.0))));
    }
  }

  void begin_here(std::int64_t p, bool follows, double* open) {
    if (terms_.begin) make_factors(terms_.begin + p * step_, &begin_most_);
    const Vec top = splat(f_.step_top);
    for (int j = 0; j < step_; j += W) {
      Vec x = follows ? load(open + j) * top : load(f_.start + j);
      if (terms_.begin) x *= load(terms_.begin + p * step_ + j);
      if (Watched) safety_.see_cells(x);
      store(open + j, x);
    }
  }

  void end_here(const Packed& s, int r, int lane) {
    const std::int64_t p = s.begin(r) + lane;
    const int begun = r - (s.rows() - s.length(lane)) + 1, depth = begun < span_ ? begun : span_;
    const SegmentRow *first = terms_.by_end + terms_.end_ptr[p],
                     *last = terms_.by_end + terms_.end_ptr[p + 1];
    for (const SegmentRow* k = first; k < last; ++k)
      make_factors(terms_.rows + static_cast<std::ptrdiff_t>(k->row) * step_, &segment_most_);
    if (terms_.end) make_factors(terms_.end + p * step_, &end_most_);
    double *node = terms_.node + p * step_, *cells = close_ + r * stride_ + lane * step_;
    const double top = top_of(node);
    offsets_.see_top(lane, top);
    Vec largest = {};
    for (int j = 0; j < step_; j += W) {
      const Vec d = load_part(node + j, n_ - j, top) - top, w = exp(d);
      Watched ? safety_.see_terms(d) : safety_.see_finite_terms(d);
      store(node + j, w);
      Vec x = first == last ? sum_lengths<false>(r, lane, j, w, depth, first, last, &largest)
                            : sum_lengths<true>(r, lane, j, w, depth, first, last, &largest);
      if (terms_.end) x *= load(terms_.end + p * step_ + j);
      if (Watched) safety_.see_cells(x);
      store(cells + j, x);
      largest = max(largest, x);
    }
    if (any_above(largest, 0x1p-40) && !any_above(largest, 0x1p40)) [[likely]]
      return;
    rescale(lane, depth, node, cells, max_of(largest));
  }

  double top_of(const double* node) const {
    Vec highest = load_part(node, n_, kZero);
    for (int j = W; j < step_; j += W) highest = max(highest, load_part(node + j, n_ - j, kZero));
    const double found = max_of(highest);
    return found == kZero ? 0.0 : found;
  }

  // The mass of the segments that end at r, of labels from j on.
  template <bool Single>
  Vec sum_lengths(int r, int lane, int j, Vec w, int depth, const SegmentRow* k,
                  const SegmentRow* last, Vec* largest) {
    // Stores may alias members, as the compiler sees it: what the loop reads is local.
    const std::ptrdiff_t* at = at_;
    double *window = window_ + lane * step_ + j, *rows = terms_.rows + j;
    const double *length = f_.length + j, *keep = f_.keep + j;
    const bool* shorter = f_.shorter;
    const int step = step_;
    Vec sum = {}, top = *largest;
    for (int d = 0; d < depth; ++d, length += step, keep += step) {
      double* mass = window + at[d];
      const Vec x = (d == 0 ? load(open_ + r * stride_ + lane * step_ + j) : load(mass)) * w;
      Vec term = x * load(length);
      if (Single && k < last && k->length == d + 1)
        term *= load(rows + static_cast<std::ptrdiff_t>(k++->row) * step);
      sum += term;
      const Vec kept = shorter[d] ? x * load(keep) : x;
      store(mass, kept);
      if (Watched) {
        safety_.see_cells(kept);
        top = max(top, kept);
      }
    }
    *largest = top;
    return sum;
  }

  // Brings the largest cell back into [1, 2); the power of two becomes part of the factors of r.
  void rescale(int lane, int depth, double* node, double* cells, double largest) {
    if (!(largest > 1e-300 && largest < 1e300)) return safety_.see_loss(largest != 0.0);
    const double factor = offsets_.rescaled(lane, largest);
    for (int j = 0; j < step_; j += W) {
      store(node + j, load(node + j) * factor);
      store(cells + j, load(cells + j) * factor);
      for (int d = 0; d < depth; ++d) {
        double* mass = window(d, lane) + j;
        store(mass, load(mass) * factor);
      }
    }
  }

  double total(const Packed& s, int lane) const {
    const double* cells = close_ + (s.rows() - 1) * stride_ + lane * step_;
    Vec sum = {};
    for (int j = 0; j < step_; j += W) sum += load(cells + j) * load(f_.stop + j);
    return sum_of(sum);
  }

  void start_reverse(const Packed& s) const {
    for (int lane = 0; lane < s.lanes(); ++lane) {
      const double z = total(s, lane);
      const Vec share = splat(z > 0.0 ? weight_[lane] / z : 0.0);
      for (int j = 0; j < step_; j += W) store(back_ + lane * step_ + j, share * load(f_.stop + j));
    }
  }

  // Gradients of position r and of the segments that begin there; `out`: the adjoint of the step
  // into r.  The share of the segments around a position is that of the next one, plus what ends
  // here, less what begins there.
  void push_lane(const Packed& s, int r, int lane, double* stop, double* start, double* out) {
    const std::int64_t p = s.begin(r) + lane;
    const int rest = s.rows() - r, depth = rest < span_ ? rest : span_;
    const SegmentRow *first = terms_.by_begin + terms_.begin_ptr[p],
                     *last = terms_.by_begin + terms_.begin_ptr[p + 1];
    const std::ptrdiff_t at = lane * step_;
    double* node = terms_.node + p * step_;
    for (int j = 0; j < step_; j += W) {
      const Vec close = load(close_ + r * stride_ + at + j),
                open = load(open_ + r * stride_ + at + j);
      const VecInt ends = close > 0.0, begins = open > 0.0;
      Vec back = load(back_ + at + j);
      const Vec ended = ends ? close * back : Vec{};
      if (terms_.end) {
        back *= load(terms_.end + p * step_ + j);
        store(terms_.end + p * step_ + j, ended);
      }
      store(window(0, lane) + j, ends ? back : Vec{});
      const Vec found = sums_.lengths
                            ? share<true>(lane, j, load(node + j), open, depth, first, last)
                            : share<false>(lane, j, load(node + j), open, depth, first, last);
      const Vec begun = begins ? open * found : Vec{}, around = load(inside_ + at + j) + ended;
      Vec adjoint = begins ? found * f_.step_top : Vec{};
      if (terms_.begin) {
        adjoint *= load(terms_.begin + p * step_ + j);
        store(terms_.begin + p * step_ + j, begun);
      }
      store(node + j, around);
      store(inside_ + at + j, around - begun);
      store(out + j, adjoint);
      if (stop) store(stop + j, load(stop + j) + ended);
      if (start) store(start + j, load(start + j) + begun);
    }
  }

  // The adjoint of what begins at r, of labels from j on; gradients of lengths and single segments.
  template <bool Lengths>
  Vec share(int lane, int j, Vec w, Vec open, int depth, const SegmentRow* k,
            const SegmentRow* last) {
    const VecInt begins = open > 0.0;
    const std::ptrdiff_t* at = at_;
    double *window = window_ + lane * step_ + j, *rows = terms_.rows + j;
    double* gradient = Lengths ? sums_.lengths + j : nullptr;
    const double *length = f_.length + j, *keep = f_.keep + j;
    const bool* shorter = f_.shorter;
    const int step = step_;
    Vec sum = {};
    for (int d = 0; d < depth; ++d, length += step, keep += step) {
      double* mass = window + at[d];
      const Vec x = load(mass) * w, of_length = load(length);
      store(mass, shorter[d] ? x * load(keep) : x);
      Vec term = Watched ? (begins ? x : Vec{}) : x;
      if (k < last && k->length == d + 1) {
        double* row = rows + static_cast<std::ptrdiff_t>(k++->row) * step;
        term *= load(row);
        store(row, open * term * of_length);
      }
      sum += term * of_length;
      if (Lengths) {
        store(gradient, load(gradient) + open * term);
        gradient += step;
      }
    }
    return sum;
  }

  // Outer products of the rows from r on whose adjoints are in the ring.
  void add_products(const Packed& s, int r) const {
    const int left = ring_rows_ - r % ring_rows_, rest = s.rows() - r;
    const int rows = left < rest ? left : rest;
    add_outer_products(close_ + (r - 1) * stride_, step_, adjoint(r), step_,
                       static_cast<std::ptrdiff_t>(rows) * s.lanes(), n_, n_, sums_.products,
                       step_);
  }

  Safety safety_;
  const SegmentFactors& f_;
  int n_, step_, span_, ring_rows_;
  std::ptrdiff_t stride_;  // cells of a row
  const double* weight_;   // [lanes]
  SegmentTerms terms_;
  SegmentSums sums_;
  LaneOffsets offsets_;
  double *open_, *close_;  // [rows, lanes, step]
  double* window_;         // [span, lanes, step] growing products
  std::ptrdiff_t* at_;     // [span] where the window has the row that is d away
  double* ring_;           // [ring rows, lanes, step] adjoints of steps
  double* back_;           // [lanes, step] adjoints of what ends
  double* inside_;  // [lanes, step] shares of segments that reach back beyond the next position
  Vec begin_most_ = {}, end_most_ = {}, segment_most_ = {};
};

}  // namespace crfkit::CRFKIT_ARCH
