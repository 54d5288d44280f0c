// Compiled once per instruction set: messages along paths, trees and orders of variables.
#include "shared/path_messages.hpp"

#include "kernels/graph/factor_steps.hpp"

#define CRFKIT_INLINE __attribute__((always_inline)) inline

namespace crfkit::CRFKIT_ARCH {
namespace {

inline constexpr int kLanes = 32;         // messages through one table that are made together
inline constexpr int kSmall = kPad;       // most labels of unrolled loops
inline constexpr int kAhead = 8;          // messages ahead for which memory is fetched
inline constexpr double kLeast = 1e-150;  // products of two such numbers do not underflow

struct Rooms {
  std::int64_t row, degree, members, cells;

  std::int64_t size() const {
    return row * (2 * kLanes + members + degree + 6) + 2 * cells + 2 * W;
  }
};

template <class Op>
class Sender {
 public:
  Sender(const Messages& m, const Rooms& rooms, double* scratch, double* weighed)
      : m_(m),
        g_(m.graph),
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

  // Fetches what two messages will need: of the first where it is, of the second the rows.
  void look_ahead(std::int32_t later, std::int32_t soon) const {
    __builtin_prefetch(g_.place + later);
    const MessagePlace& to = g_.place[soon];
    if (to.partner < 0) return;
    const MessageVariable& from = g_.variable[to.source];
    prefetch(soon);
    __builtin_prefetch(m_.row + from.row);
    __builtin_prefetch(m_.stamp + from.place);
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
  double weight_of(std::int64_t place) const { return m_.weight[g_.place[place].factor]; }

  bool wanted(std::int32_t place) {
    const MessagePlace& to = g_.place[place];
    if (m_.active && !m_.active[to.variable]) return false;
    const std::int32_t made = m_.stamp[place].made;
    bool stale = false;
    if (to.partner >= 0) {
      stale = moved_since(to.partner, to.source, made);
    } else {
      for (std::int64_t i = g_.member_ptr[to.factor]; i < g_.member_ptr[to.factor + 1] && !stale;
           ++i) {
        // Visits of one level may have changed what others of that level looked at: the same clock
        // counts as later.
        const std::int32_t p = g_.member[i];
        if (p != place) stale = moved_since(p, g_.place[p].variable, made - 1);
      }
    }
    if (stale || still_moves(place)) return true;
    m_.stamp[place].change = 0.0f;
    return false;
  }
  // A new message, or a damped one that is on its way.
  bool still_moves(std::int32_t place) const {
    const MessageStamp& stamp = m_.stamp[place];
    return stamp.made < 0 || (m_.damping && stamp.moved >= stamp.made);
  }
  // Whether what the variable of a place tells its factor has moved.
  bool moved_since(std::int32_t place, std::int32_t variable, std::int32_t made) const {
    const MessageVariable& v = g_.variable[variable];
    std::int32_t last = -1;
    for (std::int32_t p = v.place; p < v.place + v.places; ++p)
      if ((p != place || m_.weight) && m_.stamp[p].moved > last) last = m_.stamp[p].moved;
    return last > made;
  }

  // q = a times b, L labels (0: n of them, in whole vectors); watched: sees what may underflow.
  template <int L>
  CRFKIT_INLINE void multiply(double* q, const double* a, const double* b, int n) {
    if constexpr (L > 0) {
      for (int i = 0; i < L; ++i) q[i] = Op::times(a[i], b[i]);
    } else if (n <= kSmall) {
      for (int i = 0; i < n; ++i) q[i] = Op::times(a[i], b[i]);
    } else {
      for (int i = 0; i < n; i += W) store(q + i, Op::times(load(a + i), load(b + i)));
    }
    if constexpr (!Op::kLogs) {
      if (m_.watched) watch(q, L > 0 ? L : n);
    }
  }
  void watch(const double* q, int n, double least = kLeast) {
    for (int i = 0; i < n; ++i) danger_ |= q[i] > 0.0 && q[i] < least;
  }
  // q += w * row, of logarithms; -inf stays where it is.
  void add_share(double* q, double w, const double* row, int n) const {
    for (int i = 0; i < n; ++i) q[i] = row[i] == kZero ? kZero : q[i] + w * row[i];
  }

  // What the variable of a place tells the factor there.
  template <int L>
  CRFKIT_INLINE void tell(std::int32_t place, double* q) {
    const MessageVariable& v = g_.variable[g_.place[place].variable];
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    const double* row = m_.row + v.row;
    copy<L>(q, row, n);
    for (std::int32_t p = v.place; p < v.place + v.places; ++p) {
      row += stride;
      if (Op::kLogs && m_.weight) {
        const double w = weight_of(p) - (p == place ? 1.0 : 0.0);
        if (w != 0.0) add_share(q, w, row, n);
      } else if (p != place) {
        multiply<L>(q, q, row, n);
      }
    }
  }
  template <int L>
  static void copy(double* to, const double* from, int n) {
    if constexpr (L > 0) {
      for (int i = 0; i < L; ++i) to[i] = from[i];
    } else if (n <= kSmall) {
      for (int i = 0; i < n; ++i) to[i] = from[i];
    } else {
      for (int i = 0; i < n; i += W) store(to + i, load(from + i));
    }
  }

  template <int L>
  CRFKIT_INLINE void make_pair(std::int32_t place, std::int32_t from) {
    if constexpr (L > 0) {
      double q[L];
      tell<L>(from, q);
      offer<L>(place, q);
    } else {
      double* q = seat(place, g_.variable[g_.place[place].source].width);
      tell<0>(from, q);
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
    if constexpr (!Op::kTotals) {
      if (t.same) {
        const double* same = t.same;
        double other = t.other;
        if (t.raw) {
          for (int i = 0; i < n; i += W) {
            store(out_ + step_ + i, exp(load_part(t.same + i, n - i, kZero) * scale));
          }
          same = out_ + step_, other = std::exp(other * scale);
        }
        same_pair(Op{}, same, other, n, q[1 - axis], scale, out_);
        return deliver<0>(place, out_, n);
      }
    }
    if (!Op::kLogs && t.raw) {
      for (std::int64_t i = 0; i < t.cells; i += W) {
        const int left = t.cells - i < W ? static_cast<int>(t.cells - i) : W;
        store_part(room_[0] + i, left, exp(load_part(factor.cell + i, left, kZero) * scale));
      }
      // The first axis to go leaves room_[0], which it reads.
      double* const rooms[2] = {room_[1], room_[0]};
      contract<Op>(t, room_[0], 1.0, axis, q, rooms, out_);
    } else {
      contract<Op>(t, factor.cell, scale, axis, q, room_, out_);
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
      tell<0>(member, rows);
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
    double* row = m_.row + to.row;
    double most = out[0];
    if (L > 0 || n <= kSmall) {
      for (int i = 1; i < (L > 0 ? L : n); ++i) most = out[i] > most ? out[i] : most;
    } else {
      Vec all = load_part(out, n, Op::kNone);
      for (int i = W; i < n; i += W) all = max(all, load_part(out + i, n - i, Op::kNone));
      most = max_of(all);
    }
    stamp.made = m_.clock;
    if (most == Op::kNone) {
      for (int i = 0; i < n; ++i) row[i] = Op::kNone;
      stamp.change = -1.0f, stamp.moved = m_.clock;
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
        Vec now = Op::times(load_part(out + i, n - i, Op::kNone), factor);
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
    tell<0>(place, q);
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
        share<L>(before, message, p, n);
      } else {
        joined<L>(before, before, message, p, n);
      }
      copy<L>(suffix + k * stride, before, n);
    }
    copy<L>(before, row, n);
    for (std::int32_t p = begin; p < end; ++p) {
      if (p + kAhead < end) prefetch(target[p + kAhead]);
      const std::int32_t to = target[p];
      if (to >= 0 && g_.place[p].partner < 0) {
        send(to);
      } else if (to >= 0) {
        const std::int32_t last = m_.stamp[p].moved == first && !m_.weight ? second : first;
        if (last <= m_.stamp[to].made && !still_moves(to)) {
          m_.stamp[to].change = 0.0f;
        } else {
          double* q = L > 0 ? few[1] : seat(to, n);
          if (p + 1 < end) {
            multiply<L>(q, before, suffix + (end - 2 - p) * stride, n);
          } else {
            copy<L>(q, before, n);
          }
          if (Op::kLogs && m_.weight) {
            const double w = weight_of(p) - 1.0;
            if (w != 0.0) add_share(q, w, row + (1 + p - begin) * stride, n);
          }
          offer<L>(to, q);
        }
      }
      if (p + 1 < end) joined<L>(before, before, row + (1 + p - begin) * stride, p, n);
    }
  }
  // What a message to a place will write.
  void prefetch(std::int32_t place) const {
    if (place < 0) return;
    __builtin_prefetch(m_.stamp + place, 1);
    __builtin_prefetch(m_.row + g_.place[place].row, 1);
  }

  // A message with its weight, alone or joined with others.
  template <int L>
  CRFKIT_INLINE void share(double* to, const double* message, std::int64_t place, int n) {
    copy<L>(to, message, n);
    if (!Op::kLogs || !m_.weight) return;
    const double w = weight_of(place);
    for (int i = 0; i < n; ++i) to[i] *= w;
  }
  template <int L>
  CRFKIT_INLINE void joined(double* to, const double* from, const double* message, std::int64_t place, int n) {
    if (!Op::kLogs || !m_.weight) return multiply<L>(to, from, message, n);
    if (to != from) copy<L>(to, from, n);
    add_share(to, weight_of(place), message, n);
  }

  const Messages& m_;
  const MessageGraph& g_;
  std::int64_t step_;
  double *rows_, *outs_, *out_, *own_, *members_, *suffix_, *room_[2];
  double* weighed_;
  const MessageTable* waiting_table_ = nullptr;
  int waiting_ = 0, waiting_axis_ = 0;
  std::int32_t lane_[kLanes];
  bool in_danger_[kLanes];
  bool danger_ = false;
};

template <class Use>
void with_rule(const Messages& m, const Rooms& rooms, double* scratch, double* weighed, Use use) {
  switch (m.rule) {
    case MessageRule::sums: {
      Sender<Sums> sender(m, rooms, scratch, weighed);
      return use(sender);
    }
    case MessageRule::maxima: {
      Sender<Maxima> sender(m, rooms, scratch, weighed);
      return use(sender);
    }
    default: {
      Sender<LogSums> sender(m, rooms, scratch, weighed);
      return use(sender);
    }
  }
}

Rooms rooms_of(const MessageSizes& s) {
  return {padded(s.widest), s.degree, s.members + s.members / padded(s.widest) + 1,
          padded(s.cells)};
}

std::int64_t scratch_size(const MessageSizes& sizes) { return rooms_of(sizes).size(); }

void send(const Messages& m, const std::int32_t* place, const std::int64_t* stage_ptr,
          std::int64_t stages, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, nullptr, [&](auto& sender) {
    for (std::int64_t s = 0; s < stages; ++s) {
      const std::int64_t end = stage_ptr[s + 1];
      for (std::int64_t i = stage_ptr[s]; i < end; ++i) {
        if (i + 2 * kAhead < end) sender.look_ahead(place[i + 2 * kAhead], place[i + kAhead]);
        sender.send(place[i]);
      }
      sender.flush();
    }
  });
}

void visit(const Messages& m, const std::int32_t* variable, std::int64_t count,
           const std::int32_t* target, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, nullptr, [&](auto& sender) {
    for (std::int64_t i = 0; i < count; ++i) sender.visit(variable[i], target);
    sender.flush();
  });
}

void weigh(const Messages& m, std::int64_t first, std::int64_t last, double* out, double* scratch) {
  with_rule(m, rooms_of(m.sizes), scratch, out, [&](auto& sender) {
    for (std::int64_t f = first; f < last; ++f) {
      const std::int32_t place = m.graph.member[m.graph.member_ptr[f]];
      if (!m.active || m.active[m.graph.place[place].variable]) sender.make(place);
    }
    sender.flush();
  });
}

void exponentiate(const double* score, std::int64_t count, double scale, double shift,
                  double* out) {
  for (std::int64_t i = 0; i < count; i += W) {
    const int left = count - i < W ? static_cast<int>(count - i) : W;
    store_part(out + i, left, exp((load_part(score + i, left, 0.0) - shift) * scale));
  }
}

std::int64_t packed_cells(int rows, int columns) {
  return static_cast<std::int64_t>(packed_size(rows, columns));
}

void pack_table(const double* cell, int rows, int columns, bool transposed, double fill,
                double* out) {
  const auto same = [](Vec v) { return v; };
  if (transposed) {
    pack(cell, 1, columns, columns, rows, fill, out, same);
  } else {
    pack(cell, columns, 1, rows, columns, fill, out, same);
  }
}

}  // namespace

const PathKernels path_messages = {scratch_size, send,         visit,     weigh,
                                   exponentiate, packed_cells, pack_table};

}  // namespace crfkit::CRFKIT_ARCH
