// What variables tell factors: the product of their rows but one; and whether any of these moved.
#pragma once

#include "kernels/graph/factor_steps.hpp"

#define CRFKIT_INLINE __attribute__((always_inline)) inline

namespace crfkit::CRFKIT_ARCH {

inline constexpr int kSmall = kPad;       // most labels of unrolled loops
inline constexpr double kLeast = 1e-150;  // products of two such numbers do not underflow

template <class Op>
class MessagesToFactor {
 public:
  explicit MessagesToFactor(const Messages& m) : m_(m), g_(m.graph) {}

  // Fetches what two messages will need: of the first where it is, of the second the rows.
  void look_ahead(std::int32_t later, std::int32_t soon) const {
    __builtin_prefetch(g_.place + later);
    const MessagePlace& to = g_.place[soon];
    if (to.partner < 0) return;
    const MessageVariable& from = g_.variable[to.source];
    __builtin_prefetch(m_.stamp + from.place);
    fetch(m_.row + from.row, (1 + from.places) * row_stride(from.width));
    prefetch(soon);
  }

  void multiply_all(std::int32_t variable) {
    const MessageVariable& v = g_.variable[variable];
    const std::int32_t leaves = m_.hub[v.hub].leaves;
    for (std::int32_t b = 0; b < leaves; ++b) multiply_leaf<0>(v, b);
    for (std::int32_t k = leaves - 1; k > 0; --k) multiply_node<0>(v, k);
  }
  void tell(std::int32_t variable, std::int32_t place, double* q) {
    hub_to_factor<0>(g_.variable[variable], place, q);
  }

 protected:
  double weight_of(std::int64_t place) const { return m_.weight[g_.place[place].factor]; }

  bool wanted(std::int32_t place) {
    const MessagePlace& to = g_.place[place];
    if (m_.active && !m_.active[to.variable]) return false;
    const std::int32_t made = seen(place);
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
  // The clock of the last messages that the one of a place looked at.  With weights it looks at the
  // one that comes back along its own factor too, which the same pass may have sent after it.
  std::int32_t seen(std::int32_t place) const { return m_.stamp[place].made - (m_.weight ? 1 : 0); }
  // A new message, or a damped one that is on its way.
  bool still_moves(std::int32_t place) const {
    const MessageStamp& stamp = m_.stamp[place];
    return stamp.made < 0 || (m_.damping && stamp.moved >= stamp.made);
  }
  // Whether what the variable of a place tells its factor has moved.
  bool moved_since(std::int32_t place, std::int32_t variable, std::int32_t made) const {
    const MessageVariable& v = g_.variable[variable];
    if (m_.hub && v.hub >= 0) {
      const MessageHub& hub = m_.hub[v.hub];
      return (hub.place == place && !m_.weight ? hub.second : hub.last) > made;
    }
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
  CRFKIT_INLINE void to_factor(std::int32_t place, double* q) {
    const MessageVariable& v = g_.variable[g_.place[place].variable];
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    const double* row = m_.row + v.row;
    if (m_.hub && v.hub >= 0) return hub_to_factor<L>(v, place, q);
    if (L == 0 && n > kSmall && !m_.weight && !(m_.watched && !Op::kLogs)) {
      const std::int32_t skipped = place - v.place + 1;
      for (int i = 0; i < n; i += W) {  // one pass over all rows
        Vec all = load(row + i);
        for (std::int32_t k = 1; k <= v.places; ++k)
          if (k != skipped) all = Op::times(all, load(row + k * stride + i));
        store(q + i, all);
      }
      return;
    }
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

  // The same of a hub, or its belief (-1): the rest of a leaf, and the nodes beside its way up.
  template <int L>
  void hub_to_factor(const MessageVariable& v, std::int32_t place, double* q) {
    const MessageHub& hub = m_.hub[v.hub];
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    const double* row = m_.row + v.row;
    copy<L>(q, row, n);
    if (place < 0) return multiply<L>(q, q, hub.product + stride, n);
    const std::int32_t b = (place - v.place) / kHubPart, first = v.place + b * kHubPart,
                       last = first + kHubPart < v.place + v.places ? first + kHubPart
                                                                    : v.place + v.places;
    for (std::int32_t p = first; p < last; ++p) {
      const double* message = row + (1 + p - v.place) * stride;
      if (p != place) {
        joined<L>(q, q, message, p, n);
      } else if (Op::kLogs && m_.weight && weight_of(p) != 1.0) {
        add_share(q, weight_of(p) - 1.0, message, n);
      }
    }
    for (std::int32_t k = hub.leaves + b; k > 1; k >>= 1)
      multiply<L>(q, q, hub.product + (k ^ 1) * stride, n);
  }

  // The products that a message into a hub is in.
  template <int L>
  void multiply_leaf(const MessageVariable& v, std::int32_t b) {
    const MessageHub& hub = m_.hub[v.hub];
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    const std::int32_t first = b * kHubPart,
                       last = first + kHubPart < v.places ? first + kHubPart : v.places;
    double* to = hub.product + (hub.leaves + b) * stride;
    const double* row = m_.row + v.row + (1 + first) * stride;
    share<L>(to, row, v.place + first, n);
    for (std::int32_t p = first + 1; p < last; ++p)
      joined<L>(to, to, row += stride, v.place + p, n);
  }
  template <int L>
  void multiply_node(const MessageVariable& v, std::int32_t k) {
    const int n = L > 0 ? L : v.width;
    const std::int64_t stride = L > 0 ? L : row_stride(n);
    double* product = m_.hub[v.hub].product;
    multiply<L>(product + k * stride, product + 2 * k * stride, product + (2 * k + 1) * stride, n);
  }
  template <int L>
  void renew_products(const MessageVariable& v, std::int32_t place) {
    const std::int32_t b = (place - v.place) / kHubPart;
    multiply_leaf<L>(v, b);
    for (std::int32_t k = (m_.hub[v.hub].leaves + b) >> 1; k > 0; k >>= 1) multiply_node<L>(v, k);
  }
  void moved_into(const MessageVariable& v, std::int32_t place) {
    MessageHub& hub = m_.hub[v.hub];
    if (hub.place != place) hub.second = hub.last, hub.place = place;
    hub.last = m_.clock;
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

  // A message with its weight, alone or joined with others.
  template <int L>
  CRFKIT_INLINE void share(double* to, const double* message, std::int64_t place, int n) {
    copy<L>(to, message, n);
    if (!Op::kLogs || !m_.weight) return;
    const double w = weight_of(place);
    for (int i = 0; i < n; ++i) to[i] *= w;
  }
  template <int L>
  CRFKIT_INLINE void joined(double* to, const double* from, const double* message,
                            std::int64_t place, int n) {
    if (!Op::kLogs || !m_.weight) return multiply<L>(to, from, message, n);
    if (to != from) copy<L>(to, from, n);
    add_share(to, weight_of(place), message, n);
  }

  // What a message to a place will write.
  void prefetch(std::int32_t place) const {
    if (place < 0) return;
    const MessagePlace& to = g_.place[place];
    __builtin_prefetch(m_.stamp + place, 1);
    fetch(m_.row + to.row, row_stride(g_.variable[to.variable].width));
  }
  static void fetch(const double* row, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += kPad) __builtin_prefetch(row + i);
  }

  const Messages& m_;
  const MessageGraph& g_;
  bool danger_ = false;  // whether something that was told could underflow
};

}  // namespace crfkit::CRFKIT_ARCH
