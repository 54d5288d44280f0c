// Makes messages: one at a time, or side by side where they go through one table.
#pragma once

#include "kernels/graph/messages_to_factor.hpp"

namespace crfkit::CRFKIT_ARCH {

inline constexpr int kLanes = 32;  // messages through one table that are made together
inline constexpr int kAhead = 8;   // messages ahead for which memory is fetched

struct Rooms {
  std::int64_t row, degree, members, cells;

  std::int64_t size() const {
    return row * (2 * kLanes + members + degree + 6) + 2 * cells + 2 * W;
  }
};

template <class Op>
class MessagesToVariable : public MessagesToFactor<Op> {
 public:
  MessagesToVariable(const Messages& m, const Rooms& rooms, double* scratch, double* weighed)
      : MessagesToFactor<Op>(m),
        step_(rooms.row),
        rows_(scratch),
        outs_(rows_ + kLanes * step_),
        out_(outs_ + kLanes * step_),
        own_(out_ + 2 * step_),
        members_(own_ + 2 * step_),
        suffix_(members_ + rooms.members * step_),
        weighed_(weighed) {
    room_[0] = suffix_ + (rooms.degree + 2) * step_;
    room_[1] = room_[0] + rooms.cells + W;
  }

  // The message to a place, unless nothing that it is made of has moved.
  void send(std::int32_t place) {
    if (!wanted(place)) return;
    make(place);
  }
  void make(std::int32_t place) {
    const MessagePlace& to = g_.place[place];
    if (to.partner < 0) return make_large(place);
    const std::int32_t from = to.partner;
    if constexpr (Op::kTotals) return make_pair<0>(place, from);  // exponentials take the time
    switch (g_.variable[to.source].width) {
      case 2:
        return make_pair<2>(place, from);
      case 3:
        return make_pair<3>(place, from);
      case 4:
        return make_pair<4>(place, from);
      case 5:
        return make_pair<5>(place, from);
      case 6:
        return make_pair<6>(place, from);
      case 7:
        return make_pair<7>(place, from);
      case 8:
        return make_pair<8>(place, from);
      default:
        return make_pair<0>(place, from);
    }
  }

  // What v tells its factors, by prefix and suffix products; messages to target[place].
  void visit(std::int32_t v, const std::int32_t* target) {
    if constexpr (Op::kTotals) return visit_with<0>(v, target);
    switch (g_.variable[v].width) {
      case 2:
        return visit_with<2>(v, target);
      case 3:
        return visit_with<3>(v, target);
      case 4:
        return visit_with<4>(v, target);
      default:
        return visit_with<0>(v, target);
    }
  }

  // Makes the messages that wait for others with the same table.
  void flush() {
    if (!waiting_) return;
    const MessageTable& t = *waiting_table_;
    const int in = t.shape[1 - waiting_axis_], out = t.shape[waiting_axis_];
    product<typename Op::Dense>(rows_, step_, waiting_, in, t.packed[waiting_axis_], out, outs_,
                                step_);
    const int count = waiting_;
    waiting_ = 0;
    for (int i = 0; i < count; ++i) {
      danger_ = in_danger_[i];
      deliver<0>(lane_[i], outs_ + i * step_, out);
    }
  }

 private:
  using Base = MessagesToFactor<Op>;
  using Base::danger_, Base::g_, Base::m_;
  using Base::still_moves, Base::wanted, Base::watch, Base::weight_of, Base::prefetch;

  template <int L>
  CRFKIT_INLINE void make_pair(std::int32_t place, std::int32_t from) {
    if constexpr (L > 0) {
      double q[L];
      this->template to_factor<L>(from, q);
      offer<L>(place, q);
    } else {
      double* q = seat(place, g_.variable[g_.place[place].source].width);
      this->template to_factor<0>(from, q);
      offer<0>(place, q);
    }
  }

  // Where what is told should be written: among those that wait, or aside.
  double* seat(std::int32_t place, int n) {
    const MessageTable& t = m_.table[m_.factor[g_.place[place].factor].number];
    if (n <= kSmall || !t.packed[0]) return own_;
    const int axis = g_.place[place].axis;
    if (waiting_ && (waiting_ == kLanes || waiting_table_ != &t || waiting_axis_ != axis)) flush();
    waiting_table_ = &t, waiting_axis_ = axis;
    return rows_ + waiting_ * step_;
  }

  // A message of a pair, of which q is what the other variable tells.
  template <int L>
  CRFKIT_INLINE void offer(std::int32_t place, const double* q) {
    const MessagePlace& to = g_.place[place];
    const MessageFactor& factor = m_.factor[to.factor];
    const MessageTable& t = m_.table[factor.number];
    const double scale = m_.scale ? m_.scale[to.factor] : 1.0;
    if constexpr (L > 0 && !Op::kTotals) {
      if (t.cells == L * L && !t.raw) {
        double out[L];
        if (to.axis == 1) {
          small_pair<Op, L, true>(factor.cell, q, scale, out);
        } else {
          small_pair<Op, L, false>(factor.cell, q, scale, out);
        }
        return deliver<L>(place, out, L);
      }
    }
    if (q >= rows_ && q < outs_) {
      in_danger_[waiting_] = danger_, danger_ = false;
      lane_[waiting_++] = place;
      return;
    }
    const double* rows[2] = {q, q};
    contract_or_same(rows, place);
  }

  void contract_or_same(const double* const* q, std::int32_t place) {
    const MessagePlace& to = g_.place[place];
    const MessageFactor& factor = m_.factor[to.factor];
    const MessageTable& t = m_.table[factor.number];
    const double scale = m_.scale ? m_.scale[to.factor] : 1.0;
    const int axis = to.axis, n = t.shape[axis];
    if (Op::kTotals || !t.same) {
      const double* cell = factor.cell;
      double *rooms[2] = {room_[0], room_[1]}, by = scale;
      if (!Op::kLogs && t.raw) {
        for (std::int64_t i = 0; i < t.cells; i += W) {
          const int left = t.cells - i < W ? static_cast<int>(t.cells - i) : W;
          store_part(room_[0] + i, left, exp(load_part(factor.cell + i, left, kZero) * scale));
        }
        // The first axis to go leaves room_[0], which it reads.
        cell = room_[0], by = 1.0, rooms[0] = room_[1], rooms[1] = room_[0];
      }
      contract<Op>(t, cell, by, axis, q, rooms, out_);
    } else if constexpr (!Op::kTotals) {
      const double* same = t.same;
      double other = t.other;
      if (t.raw) {
        for (int i = 0; i < n; i += W) store(out_ + step_ + i, exp(load(t.same + i) * scale));
        same = out_ + step_, other = std::exp(other * scale);
      }
      same_pair<Op>(same, other, t.rises, n, q[1 - axis], scale, out_);
    }
    deliver<0>(place, out_, n);
  }

  void make_large(std::int32_t place) {
    const std::int64_t f = g_.place[place].factor, first = g_.member_ptr[f];
    const int arity = static_cast<int>(g_.member_ptr[f + 1] - first);
    // Pointers to the rows of the members, and these rows.
    const double** q = reinterpret_cast<const double**>(members_);
    double* rows = members_ + arity;
    const double least = std::pow(kLeast, 2.0 / arity);
    for (int a = 0; a < arity; ++a, rows += step_) {
      const std::int32_t member = g_.member[first + a];
      q[a] = rows;
      if (member == place) continue;
      this->template to_factor<0>(member, rows);
      if (!Op::kLogs && m_.watched) {
        watch(rows, g_.variable[g_.place[member].variable].width, least);
      }
    }
    contract_or_same(q, place);
  }

  // Scales a message, damps it, sees how far it moved, and writes it.
  template <int L>
  CRFKIT_INLINE void deliver(std::int32_t place, double* out, int n) {
    if (weighed_) return weigh(place, out, n);
    const MessagePlace& to = g_.place[place];
    MessageStamp& stamp = m_.stamp[place];
    const MessageVariable& u = g_.variable[to.variable];
    const bool hub = m_.hub && u.hub >= 0;
    double* row = m_.row + to.row;
    double most = out[0];
    if (L > 0 || n <= kSmall) {
      for (int i = 1; i < (L > 0 ? L : n); ++i) most = out[i] > most ? out[i] : most;
    } else {
      for (int i = n; i < padded(n); ++i) out[i] = Op::kNone;
      Vec all = load(out);
      for (int i = W; i < n; i += W) all = max(all, load(out + i));
      most = max_of(all);
    }
    stamp.made = m_.clock;
    if (most == Op::kNone) {
      for (int i = 0; i < n; ++i) row[i] = Op::kNone;
      if (hub) this->template renew_products<L>(u, place), this->moved_into(u, place);
      stamp.change = danger_ ? -2.0f : -1.0f, stamp.moved = m_.clock;
      danger_ = false;
      return;
    }
    const double by = Op::kLogs ? -most : 1.0 / most;
    const double share = m_.damping ? m_.damping[to.variable] : 0.0;
    double change = 0.0;
    if (L > 0 || n <= kSmall) {
      for (int i = 0; i < (L > 0 ? L : n); ++i) {
        double now = Op::times(out[i], by);
        if (share > 0.0) now = damped(now, row[i], share);
        const double far = distance(now, row[i]);
        change = far > change ? far : change;
        row[i] = now;
      }
    } else {
      Vec far = {};
      const Vec factor = splat(by);
      for (int i = 0; i < n; i += W) {
        Vec now = Op::times(load(out + i), factor);
        const Vec old = load(row + i);
        if (share > 0.0) {
          for (int k = 0; k < W; ++k) now[k] = damped(now[k], old[k], share);
        }
        far = max(far, distance(now, old));
        store(row + i, now);
      }
      change = max_of(far);
    }
    if constexpr (!Op::kLogs) {
      if (m_.watched) watch(row, n);
    }
    if (hub) {
      this->template renew_products<L>(u, place);
      if (change > m_.least) this->moved_into(u, place);
    }
    stamp.change = danger_ ? -2.0f : static_cast<float>(change);
    danger_ = false;
    if (change > m_.least) stamp.moved = m_.clock;
  }
  static double damped(double now, double old, double share) {
    if (now == old) return now;
    if (Op::kLogs && (now == kZero || old == kZero)) return now;
    return now == Op::kNone ? now : now + share * (old - now);
  }
  static double distance(double now, double old) {
    if constexpr (Op::kTotals) return std::fabs(std::exp(now) - std::exp(old));
    return now == old ? 0.0 : std::fabs(now - old);
  }
  static Vec distance(Vec now, Vec old) {
    if constexpr (Op::kTotals) return absolute(exp(now) - exp(old));
    return now == old ? Vec{} : absolute(now - old);
  }

  void weigh(std::int32_t place, const double* out, int n) {
    double* q = out_ + step_;
    this->template to_factor<0>(place, q);
    double most = kZero, sum = 0.0;
    if constexpr (Op::kLogs) {
      for (int i = 0; i < n; ++i) most = q[i] + out[i] > most ? q[i] + out[i] : most;
      if (most > kZero)
        for (int i = 0; i < n; ++i) sum += std::exp(q[i] + out[i] - most);
    } else {
      for (int i = 0; i < n; ++i) sum += q[i] * out[i];
      most = 0.0;
    }
    weighed_[g_.place[place].factor] = sum > 0.0 ? most + std::log(sum) : kZero;
  }

  template <int L>
  void visit_with(std::int32_t variable, const std::int32_t* target) {
    const MessageVariable& v = g_.variable[variable];
    const std::int32_t begin = v.place, end = v.place + v.places;
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    if (begin == end || (m_.active && !m_.active[variable])) return;
    std::int32_t first = -1, second = -1;  // the last two clocks at which something moved
    for (std::int32_t p = begin; p < end; ++p) {
      const std::int32_t moved = m_.stamp[p].moved;
      second = moved > first ? first : moved > second ? moved : second;
      first = moved > first ? moved : first;
    }
    const double* row = m_.row + v.row;
    double few[2][L > 0 ? L : 1];  // few labels are kept in registers
    double* before = L > 0 ? few[0] : own_ + step_;
    double* suffix = suffix_;  // suffix_ + k * stride: the product of the last k + 1 messages
    for (std::int32_t p = end - 1, k = 0; p > begin; --p, ++k) {
      const double* message = row + (1 + p - begin) * stride;
      if (k == 0) {
        this->template share<L>(before, message, p, n);
      } else {
        this->template joined<L>(before, before, message, p, n);
      }
      this->template copy<L>(suffix + k * stride, before, n);
    }
    this->template copy<L>(before, row, n);
    for (std::int32_t p = begin; p < end; ++p) {
      if (p + kAhead < end) prefetch(target[p + kAhead]);
      const std::int32_t to = target[p];
      if (to >= 0 && g_.place[p].partner < 0) {
        send(to);
      } else if (to >= 0) {
        const std::int32_t last = m_.stamp[p].moved == first && !m_.weight ? second : first;
        if (last <= this->seen(to) && !still_moves(to)) {
          m_.stamp[to].change = 0.0f;
        } else {
          double* q = L > 0 ? few[1] : seat(to, n);
          if (p + 1 < end) {
            this->template multiply<L>(q, before, suffix + (end - 2 - p) * stride, n);
          } else {
            this->template copy<L>(q, before, n);
          }
          if (Op::kLogs && m_.weight) {
            const double w = weight_of(p) - 1.0;
            if (w != 0.0) this->add_share(q, w, row + (1 + p - begin) * stride, n);
          }
          offer<L>(to, q);
        }
      }
      if (p + 1 < end)
        this->template joined<L>(before, before, row + (1 + p - begin) * stride, p, n);
    }
  }
  std::int64_t step_;
  double *rows_, *outs_, *out_, *own_, *members_, *suffix_, *room_[2];
  double* weighed_;
  const MessageTable* waiting_table_ = nullptr;
  int waiting_ = 0, waiting_axis_ = 0;
  std::int32_t lane_[kLanes];
  bool in_danger_[kLanes];
};

}  // namespace crfkit::CRFKIT_ARCH
