#include "graph/cuts/solve_binary.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/checks.hpp"

namespace crfkit {

std::int64_t BinarySolver::cut(BinaryEnergy& energy, BinaryAnswer& answer) {
  std::vector<std::uint8_t> flip;
  if (energy.differ) {
    if (find_flips(energy, flip) >= 0) {
      energy.merge();
      const std::int64_t wrong = find_flips(energy, flip);
      if (wrong >= 0) return wrong;
    }
    turn(energy, flip);
  }
  check_size(energy);
  const bool reduced = dominance_.reduce(energy);
  const std::int64_t n = variables(energy);
  flow_.build(n, static_cast<std::int64_t>(energy.pairs.size()), [&](std::int64_t i) -> FlowEdge {
    const BinaryPair& pair = energy.pairs[i];
    return {pair.u, pair.v, pair.p, pair.q};
  });
  forced_ = energy.banned;
  begin(energy, answer);
  run(energy, answer, 1.0);
  for (std::int64_t v = 0; v < n; ++v) answer.label[v] = flow_.side(v) == 1;
  if (reduced) dominance_.extend(answer.label);
  for (std::size_t v = 0; v < flip.size(); ++v) answer.label[v] ^= flip[v];
  return -1;
}

void BinarySolver::roof(const BinaryEnergy& energy, BinaryAnswer& answer) {
  const std::int64_t n = static_cast<std::int64_t>(energy.slope.size());
  check_size(energy);
  flow_.build(2 * n, 2 * static_cast<std::int64_t>(energy.pairs.size()),
              [&](std::int64_t i) -> FlowEdge {
                const BinaryPair& pair = energy.pairs[i >> 1];
                const std::int32_t u = 2 * pair.u, v = pair.v < 0 ? 2 * ~pair.v + 1 : 2 * pair.v;
                if (i & 1) return {v ^ 1, u ^ 1, pair.p, pair.q};
                return {u, v, pair.p, pair.q};
              });
  forced_.resize(2 * n);
  for (std::int64_t v = 0; v < n; ++v) {
    const std::uint8_t b = energy.banned[v];
    forced_[2 * v] = b;
    forced_[2 * v + 1] = static_cast<std::uint8_t>((b >> 1 & 1) + 2 * (b & 1));
  }
  begin(energy, answer);
  run(energy, answer, 0.5);
  for (std::int64_t v = 0; v < n; ++v) {
    const int side = flow_.side(2 * v);
    answer.label[v] =
        static_cast<std::int8_t>(side >= 0 && flow_.side(2 * v + 1) == 1 - side ? side : -1);
  }
}

std::int64_t BinarySolver::find_flips(const BinaryEnergy& energy, std::vector<std::uint8_t>& flip) {
  const std::int64_t n = static_cast<std::int64_t>(energy.slope.size());
  std::vector<std::int32_t> parent(n);
  for (std::int64_t v = 0; v < n; ++v) parent[v] = static_cast<std::int32_t>(v);
  flip.assign(n, 0);  // against the parent
  const auto find = [&](std::int32_t v) {
    std::uint8_t parity = 0;
    std::int32_t top = v;
    for (; parent[top] != top; top = parent[top]) parity ^= flip[top];
    for (std::uint8_t left = parity; parent[v] != top && v != top;) {
      const std::int32_t next = parent[v];
      const std::uint8_t own = flip[v];
      parent[v] = top;
      flip[v] = left;
      left ^= own;
      v = next;
    }
    return std::pair<std::int32_t, std::uint8_t>(top, parity);
  };
  for (std::size_t i = 0; i < energy.pairs.size(); ++i) {
    const BinaryPair& pair = energy.pairs[i];
    const std::uint8_t differ = pair.v < 0;
    const auto [a, of_u] = find(pair.u);
    const auto [b, of_v] = find(differ ? ~pair.v : pair.v);
    if (a == b) {
      if ((of_u ^ of_v) != differ) return static_cast<std::int64_t>(i);
    } else {  // the first variable of a set is its root, and keeps its labels
      const std::int32_t low = std::min(a, b), high = std::max(a, b);
      parent[high] = low;
      flip[high] = of_u ^ of_v ^ differ;
    }
  }
  for (std::int64_t v = 0; v < n; ++v) {
    const auto [top, parity] = find(static_cast<std::int32_t>(v));
    if (top != v) flip[v] = parity;
  }
  return -1;
}

void BinarySolver::turn(BinaryEnergy& energy, const std::vector<std::uint8_t>& flip) {
  for (std::size_t v = 0; v < flip.size(); ++v) {
    if (!flip[v]) continue;
    energy.base[energy.graph[v]] += energy.slope[v];
    energy.slope[v] = -energy.slope[v];
    energy.banned[v] =
        static_cast<std::uint8_t>((energy.banned[v] >> 1 & 1) + 2 * (energy.banned[v] & 1));
  }
  for (BinaryPair& pair : energy.pairs) {
    const bool turned = flip[pair.u];
    if (pair.v < 0) pair.v = ~pair.v;
    if (turned) std::swap(pair.p, pair.q);
  }
  energy.differ = false;
}

void BinarySolver::check_size(const BinaryEnergy& energy) {
  double size = 0.0;
  for (const double slope : energy.slope) size += std::abs(slope);
  for (const BinaryPair& pair : energy.pairs)
    size += (pair.p < infinite ? pair.p : 0.0) + (pair.q < infinite ? pair.q : 0.0);
  if (!(2.0 * size < infinite)) refuse("the scores are too large: their sum is not finite");
}

void BinarySolver::begin(const BinaryEnergy& energy, BinaryAnswer& answer) {
  const std::int64_t n = flow_.nodes(), copies = n / std::max<std::int64_t>(1, variables(energy));
  answer.label.assign(energy.slope.size(), -1);
  answer.impossible.assign(energy.base.size(), 0);
  if (energy.hard) {
    std::vector<std::int32_t> queue;
    for (std::int64_t v = 0; v < n; ++v)
      if (forced_[v] != 0) queue.push_back(static_cast<std::int32_t>(v));
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::int32_t v = queue[i];
      for (const MaxFlow::Arc* a = flow_.begin(v); a != flow_.end(v); ++a) {
        const std::uint8_t more =
            static_cast<std::uint8_t>((forced_[v] & 1 && a->in == infinite ? 1 : 0) |
                                      (forced_[v] & 2 && a->out == infinite ? 2 : 0));
        if ((forced_[a->head] | more) == forced_[a->head]) continue;
        forced_[a->head] |= more;
        queue.push_back(a->head);
      }
    }
  }
  for (std::int64_t v = 0; v < n; ++v)
    if (forced_[v] == 3) answer.impossible[energy.graph[v / copies]] = 1;
}

void BinarySolver::run(const BinaryEnergy& energy, BinaryAnswer& answer, double share) {
  const int copies = flow_.nodes() > variables(energy) ? 2 : 1;
  answer.bound = energy.base;
  for (std::int64_t v = 0, x = 0; x < variables(energy); ++x) {
    const std::int32_t g = energy.graph[x];
    double slope = energy.slope[x];
    answer.bound[g] += forced_[v] == 1 ? slope : forced_[v] == 2 ? 0.0 : std::min(slope, 0.0);
    for (int copy = 0; copy < copies; ++copy, ++v, slope = -slope)
      flow_.excess(v) = answer.impossible[g] ? 0.0
                        : forced_[v] == 1    ? -infinite
                        : forced_[v] == 2    ? infinite
                                             : slope;
  }
  flow_.run(copies == 2 ? MaxFlow::both : MaxFlow::sink, [&](std::int32_t root, double flow) {
    answer.bound[energy.graph[copies == 2 ? root >> 1 : root]] += share * flow;
  });
}

}  // namespace crfkit
