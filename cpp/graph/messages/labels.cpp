#include "graph/messages/labels.hpp"

namespace crfkit {

void MessageLabels::run(std::int32_t* label, std::uint8_t* found) const {
  std::fill_n(label, p_.variables(), -1);
  std::fill_n(found, f_.graphs, std::uint8_t{1});
  for (std::int64_t n = 0; n < f_.graphs; ++n)
    if (f_.constant[n] == kForbidden) found[n] = 0;
  std::vector<std::uint8_t> seen(p_.variables(), 0);
  std::vector<std::int32_t> first, queue;
  for (std::int32_t start = 0; start < p_.variables(); ++start) {
    if (seen[start]) continue;
    first.assign(1, start);
    for (int tries = 1;; ++tries) {
      const std::int32_t stuck = follow(first, queue, seen, label);
      if (stuck < 0) break;
      if (tries == kTries || stuck == first[0] || p_.acyclic[p_.component[start]]) {
        found[f_.graph[start]] = 0;
        break;
      }
      for (const std::int32_t v : queue) seen[v] = 0, label[v] = -1;
      first.erase(std::remove(first.begin(), first.end(), stuck), first.end());
      first.insert(first.begin(), stuck);
    }
    for (const std::int32_t v : queue) seen[v] = 1;
  }
  for (std::int64_t v = 0; v < p_.variables(); ++v)
    if (!found[f_.graph[v]]) label[v] = -1;
}

std::int32_t MessageLabels::follow(const std::vector<std::int32_t>& first,
                                   std::vector<std::int32_t>& queue,
                                   std::vector<std::uint8_t>& seen, std::int32_t* label) const {
  std::vector<double> score(p_.sizes.widest);
  std::int32_t stuck = -1;
  queue = first;
  for (const std::int32_t v : queue) seen[v] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::int32_t v = queue[i];
    if (stuck < 0 && !choose(v, label, score.data())) stuck = v;
    for (std::int64_t e = p_.place_ptr[v]; e < p_.place_ptr[v + 1]; ++e) {
      const std::int32_t f = p_.factor[e];
      for (std::int64_t k = p_.member_ptr[f]; k < p_.member_ptr[f + 1]; ++k) {
        const std::int32_t u = p_.variable[p_.member[k]];
        if (!seen[u]) queue.push_back(u), seen[u] = 1;
      }
    }
  }
  return stuck;
}

bool MessageLabels::choose(std::int32_t v, std::int32_t* label, double* score) const {
  const std::int64_t n = p_.width[v], stride = row_stride(n);
  const double* row = run_.rows.of(v);
  std::copy_n(row, n, score);
  std::vector<double> given;
  for (std::int64_t e = p_.place_ptr[v]; e < p_.place_ptr[v + 1]; ++e) {
    row += stride;
    const double* message = row;
    if (labeled(static_cast<std::int32_t>(e), label)) {
      given.assign(n, kForbidden);
      condition(static_cast<std::int32_t>(e), label, given.data());
      message = given.data();
    }
    for (std::int64_t i = 0; i < n; ++i) score[i] += message[i];
  }
  const double* best = std::max_element(score, score + n);
  if (*best == kForbidden) return false;
  label[v] = static_cast<std::int32_t>(best - score);
  return true;
}

bool MessageLabels::labeled(std::int32_t place, const std::int32_t* label) const {
  const std::int32_t f = p_.factor[place];
  for (std::int64_t k = p_.member_ptr[f]; k < p_.member_ptr[f + 1]; ++k)
    if (p_.member[k] != place && label[p_.variable[p_.member[k]]] >= 0) return true;
  return false;
}

void MessageLabels::condition(std::int32_t place, const std::int32_t* label, double* out) const {
  const std::int32_t f = p_.factor[place];
  const FactorGroup& group = f_.group[p_.group[f]];
  const double* cell = group.scores(p_.which[f]);
  const double scale = group.scale_of(p_.which[f]);
  if (group.arity == 2) {
    const std::int32_t other = p_.partner[place], y = label[p_.variable[other]];
    const bool last = p_.member[p_.member_ptr[f]] == other;
    for (std::int32_t i = 0; i < p_.width[p_.variable[place]]; ++i)
      out[i] = scale * cell[last ? y * group.shape[1] + i : i * group.shape[1] + y];
    return;
  }
  std::vector<std::vector<double>> q(group.arity);
  int axis = 0;
  for (int a = 0; a < group.arity; ++a) {
    const std::int32_t member = p_.member[p_.member_ptr[f] + a], u = p_.variable[member];
    if (member == place) axis = a;
    if (label[u] >= 0) {
      q[a].assign(group.shape[a], kForbidden);
      q[a][label[u]] = 0.0;
    } else {
      q[a] = told(u, member == place ? -1 : member, member == place);
    }
  }
  for (std::int64_t c = 0; c < group.cells; ++c) {
    double sum = scale * cell[c];
    std::int64_t rest = c;
    std::int64_t at = 0;
    for (int a = group.arity - 1; a >= 0; --a) {
      const std::int64_t x = rest % group.shape[a];
      rest /= group.shape[a];
      sum += q[a][x];
      if (a == axis) at = x;
    }
    out[at] = std::max(out[at], sum);
  }
}

std::vector<double> MessageLabels::told(std::int32_t v, std::int64_t but, bool nothing) const {
  const std::int64_t n = p_.width[v], stride = row_stride(n);
  const double* row = run_.rows.of(v);
  std::vector<double> q(n, 0.0);
  if (nothing) return q;
  std::copy_n(row, n, q.begin());
  for (std::int64_t e = p_.place_ptr[v]; e < p_.place_ptr[v + 1]; ++e) {
    row += stride;
    for (std::int64_t i = 0; e != but && i < n; ++i) q[i] += row[i];
  }
  return q;
}

}  // namespace crfkit
