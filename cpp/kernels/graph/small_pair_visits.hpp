// Pairs of few labels: the labels of a row are the lanes of a small vector.
#pragma once

#include <cstring>

#include "kernels/graph/messages_to_factor.hpp"

namespace crfkit::CRFKIT_ARCH {

template <class Op, int L, bool Watched>
class SmallPairVisits {
 public:
  SmallPairVisits(const SmallPairMessages& m, double* scratch) : m_(m), suffix_(scratch) {}

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      look_ahead(i, last);
      const SmallPairVisit& v = m_.visit[i];
      if (m_.active[v.variable]) visit(v);
    }
  }

 private:
  static constexpr int P = small_pair_lanes(L), S = P < W ? P : W, N = P / S;
  static constexpr int kFar = 16, kNear = 8;      // visits ahead
  static constexpr int kMany = 32, kWithin = 12;  // rows of a visit that is too long to be fetched
  typedef double Part __attribute__((vector_size(8 * S)));
  struct Row {
    Part part[N];
    double at(int i) const { return part[i / S][i % S]; }
  };

  static CRFKIT_INLINE Row read(const double* from) {
    Row r;  // part by part: a copy of the whole would go through smaller vectors
    for (int n = 0; n < N; ++n) std::memcpy(&r.part[n], from + n * S, sizeof(Part));
    return r;
  }
  static CRFKIT_INLINE void write(double* to, const Row& r) {
    for (int n = 0; n < N; ++n) std::memcpy(to + n * S, &r.part[n], sizeof(Part));
  }
  double* row(std::int64_t r) const { return m_.row + r * P; }

  CRFKIT_INLINE void join(Row& a, const Row& b) {
    for (int n = 0; n < N; ++n) {
      if constexpr (Op::kLogs) {
        a.part[n] += b.part[n];
      } else {
        a.part[n] *= b.part[n];
      }
    }
    watch(a);
  }
  CRFKIT_INLINE void watch(const Row& a) {
    if constexpr (Watched) {
      for (int i = 0; i < P; ++i) danger_ |= a.at(i) > 0.0 && a.at(i) < kLeast;
    }
  }

  void look_ahead(std::int64_t i, std::int64_t last) const {
    if (i + kFar < last) {
      const SmallPairVisit& far = m_.visit[i + kFar];
      __builtin_prefetch(m_.to + far.begin);
      __builtin_prefetch(m_.table + far.begin);
      if (far.last - far.row <= kMany)
        for (std::int32_t r = far.row; r < far.last; r += 8 / P) __builtin_prefetch(row(r));
    }
    if (i + kNear < last) {
      const SmallPairVisit& near = m_.visit[i + kNear];
      if (near.last - near.row <= kMany)
        for (std::int32_t r = near.begin; r < near.end; ++r) __builtin_prefetch(row(m_.to[r]), 1);
    }
  }

  CRFKIT_INLINE void visit(const SmallPairVisit& v) {
    danger_ = false;
    Row told = read(row(v.row));
    for (std::int32_t r = v.row + 1; r < v.begin; ++r) join(told, read(row(r)));
    for (std::int32_t r = v.end; r < v.last; ++r) join(told, read(row(r)));
    const std::int32_t count = v.end - v.begin;
    if (count > 1) {  // suffix_[k]: the product of the messages from the k-th on
      Row after = read(row(v.end - 1));
      write(suffix_ + (count - 1) * P, after);
      for (std::int32_t k = count - 2; k > 0; --k) {
        join(after, read(row(v.begin + k)));
        write(suffix_ + k * P, after);
      }
    }
    const double share = m_.damping ? m_.damping[v.variable] : 0.0;
    Row change = {};
    bool dead = false;
    for (std::int32_t k = 0; k < count; ++k) {
      const std::int32_t r = v.begin + k;
      if (k + kWithin < count) __builtin_prefetch(row(m_.to[r + kWithin]), 1);
      Row q = told;
      if (k + 1 < count) {
        join(q, read(suffix_ + (k + 1) * P));
        join(told, read(row(r)));
      }
      Row own = {};
      dead |= !send(r, q, share, own);
      if (m_.moved) {
        float& moved = m_.moved[r];
        moved = 0.0f;
        for (int i = 0; i < P; ++i)
          moved = own.at(i) > moved ? static_cast<float>(own.at(i)) : moved;
      }
      for (int n = 0; n < N; ++n)
        change.part[n] = own.part[n] > change.part[n] ? own.part[n] : change.part[n];
    }
    float most = 0.0f;
    for (int i = 0; i < P; ++i) {
      const float far = static_cast<float>(change.at(i));
      most = far > most ? far : most;
    }
    float& kept = m_.change[v.variable];
    if (danger_) {  // what underflows may look dead
      kept = -2.0f;
    } else if (dead && kept != -2.0f) {
      kept = -1.0f;
    } else if (kept >= 0.0f) {
      kept = most > kept ? most : kept;
    }
  }

  // The message from a row, of which q is what the variable tells; whether a label is left.
  CRFKIT_INLINE bool send(std::int32_t r, const Row& q, double share, Row& change) {
    const double* cell = m_.cell + static_cast<std::int64_t>(m_.table[r]) * L * P;
    double* to = row(m_.to[r]);
    const Row old = read(to);
    Row out;
    for (int n = 0; n < N; ++n) out.part[n] = Part{} + Op::kNone;
    for (int i = 0; i < L; ++i) {
      const Row c = read(cell + i * P);
      for (int n = 0; n < N; ++n) {
        if constexpr (Op::kLogs) {
          const Part term = c.part[n] + q.at(i);
          out.part[n] = term > out.part[n] ? term : out.part[n];
        } else {
          out.part[n] += c.part[n] * q.at(i);
        }
      }
    }
    double most = out.at(0);
    for (int i = 1; i < L; ++i) most = out.at(i) > most ? out.at(i) : most;
    if (most == Op::kNone) {
      write(to, out);
      return false;
    }
    const double by = Op::kLogs ? -most : 1.0 / most;
    for (int n = 0; n < N; ++n) {
      const Part before = old.part[n];
      Part now = out.part[n];
      if constexpr (Op::kLogs) {
        now += by;
      } else {
        now *= by;
      }
      if (share > 0.0) {  // what is forbidden is not damped
        const Part damped = now + share * (before - now);
        const Part kept = now == before || now == Op::kNone ? now : damped;
        now = Op::kLogs && before == kZero ? now : kept;
      }
      const Part step = before - now, far = step < 0.0 ? -step : step;
      const Part moved = now == before ? Part{} : far;
      change.part[n] = moved > change.part[n] ? moved : change.part[n];
      out.part[n] = now;
    }
    watch(out);
    write(to, out);
    return true;
  }

  const SmallPairMessages& m_;
  double* suffix_;
  bool danger_ = false;
};

}  // namespace crfkit::CRFKIT_ARCH
