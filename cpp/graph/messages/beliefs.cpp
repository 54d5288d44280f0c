#include "graph/messages/beliefs.hpp"

namespace crfkit {

void Beliefs::sum(double* value, double* node) {
  const std::int64_t V = p_.variables();
  std::fill_n(value, f_.graphs, 0.0);
  std::vector<double> each(V);
  for_variables(V, run_.options.threads, [&](std::int64_t v) {
    double* to = node + f_.label_ptr[v];
    each[v] = kForbidden;
    if (state(v) == MessageRun::State::dead) return;
    double shares = 0.0;
    for (std::int64_t p = p_.place_ptr[v]; p < p_.place_ptr[v + 1]; ++p) shares += weight(p);
    const double log_z = told(v, -1, to).log();
    if (log_z > kForbidden) each[v] = run_.rows.most[v] + (1.0 - shares) * log_z;
    double total = 0.0;
    for (std::int32_t i = 0; i < p_.width[v]; ++i) total += to[i];
    for (std::int32_t i = 0; total > 0.0 && i < p_.width[v]; ++i) to[i] /= total;
  });
  for (std::int64_t v = 0; v < V; ++v) value[f_.graph[v]] += each[v];
  add_factors(value);
  for (std::int64_t n = 0; n < f_.graphs; ++n) value[n] += f_.constant[n];
  for (std::int64_t v = 0; v < V; ++v)
    if (value[f_.graph[v]] == kForbidden) std::fill_n(node + f_.label_ptr[v], p_.width[v], 0.0);
}

void Beliefs::clique(std::int64_t g, const double* node, double* out) const {
  const FactorGroup& group = f_.group[g];
  if (group.arity == 1) {
    for (std::int64_t m = 0; m < group.count; ++m)
      std::copy_n(node + f_.label_ptr[group.scope[m]], group.cells, out + m * group.cells);
    return;
  }
  const std::int64_t first = first_of(g), part = std::max<std::int64_t>(1, (1 << 16) / group.cells);
  parallel_for((group.count + part - 1) / part, run_.options.threads, [&](std::int64_t b) {
    std::vector<double> q(group.arity * p_.sizes.widest);
    const std::int64_t last = std::min(group.count, (b + 1) * part);
    for (std::int64_t m = b * part; m < last; ++m)
      factor(first + m, node, q, out + m * group.cells);
  });
}

void Beliefs::counts(std::int64_t g, const double* node, const double* each, double* out) const {
  const FactorGroup& group = f_.group[g];
  if (group.arity == 1) {
    for (std::int64_t m = 0; m < group.count; ++m) {
      const double* from = node + f_.label_ptr[group.scope[m]];
      double* to = out + group.table_of(m) * group.cells;
      for (std::int64_t c = 0; c < group.cells; ++c) to[c] += each[m] * from[c];
    }
    return;
  }
  const std::int64_t first = first_of(g), size = group.tables * group.cells;
  const bool apart = !group.which && group.tables == group.count;  // a table for each factor
  const std::int64_t part = std::max({(1 << 16) / group.cells + 1, group.count / 32 + 1,
                                      apart ? std::int64_t{0} : group.tables}),
                     parts = (group.count + part - 1) / part;
  std::vector<double> sums(apart || parts == 0 ? 0 : (parts - 1) * size, 0.0);
  parallel_for(parts, run_.options.threads, [&](std::int64_t b) {
    std::vector<double> q(group.arity * p_.sizes.widest), cell(group.cells);
    double* to = apart || b == 0 ? out : sums.data() + (b - 1) * size;
    const std::int64_t last = std::min(group.count, (b + 1) * part);
    for (std::int64_t m = b * part; m < last; ++m) {
      double* table = to + group.table_of(m) * group.cells;
      if (add_pair(first + m, each[m], q, table)) continue;
      factor(first + m, node, q, cell.data());
      for (std::int64_t c = 0; c < group.cells; ++c) table[c] += each[m] * cell[c];
    }
  });
  for (std::size_t i = 0; i < sums.size(); ++i) out[i % size] += sums[i];
}

void Beliefs::slack(const double* node, double* out) const {
  std::vector<double> each(p_.factors(), 0.0);
  const std::int64_t part = 256, parts = (p_.factors() + part - 1) / part;
  parallel_for(parts, run_.options.threads, [&](std::int64_t b) {
    std::vector<double> q(p_.sizes.members * p_.sizes.widest), cell(p_.sizes.cells);
    const std::int64_t last = std::min(p_.factors(), (b + 1) * part);
    for (std::int64_t i = b * part; i < last; ++i) {
      factor(i, node, q, cell.data());
      each[i] = weight(p_.member[p_.member_ptr[i]]) * excess(i, node, cell.data());
    }
  });
  std::fill_n(out, f_.graphs, 0.0);
  for (std::int64_t i = 0; i < p_.factors(); ++i)
    out[f_.graph[p_.variable[p_.member[p_.member_ptr[i]]]]] += each[i];
}

std::int64_t Beliefs::first_of(std::int64_t g) const {
  return std::lower_bound(p_.group.begin(), p_.group.end(), static_cast<std::int32_t>(g)) -
         p_.group.begin();
}

Beliefs::Sum Beliefs::told(std::int64_t v, std::int64_t but, double* q) const {
  const std::int64_t n = p_.width[v], stride = row_stride(n);
  const bool logs = run_.rule[p_.component[v]] != MessageRule::sums;
  const double* row = run_.rows.of(v);
  if (!hub(v, but, q)) {
    std::copy_n(row, n, q);
    for (std::int64_t p = p_.place_ptr[v]; p < p_.place_ptr[v + 1]; ++p) {
      row += stride;
      const double w = weight(p) - (p == but ? 1.0 : 0.0);
      if (w == 0.0) continue;
      for (std::int64_t i = 0; i < n; ++i) {
        if (!logs) {
          q[i] *= row[i];
        } else {
          q[i] = row[i] == kForbidden ? kForbidden : q[i] + w * row[i];
        }
      }
    }
  }
  const double most = *std::max_element(q, q + n);
  double total = 0.0;
  if (most == (logs ? kForbidden : 0.0)) {
    std::fill_n(q, n, 0.0);
    return {0.0, most, logs};
  }
  for (std::int64_t i = 0; i < n; ++i) total += q[i] = logs ? std::exp(q[i] - most) : q[i] / most;
  return {total, most, logs};
}

void Beliefs::add_factors(double* value) {
  std::vector<double> weighed(p_.factors(), kForbidden);
  const std::int64_t part = 1 << 10, parts = (p_.factors() + part - 1) / part;
  for (const MessageRule rule : {MessageRule::sums, MessageRule::log_sums}) {
    if (!run_.table[static_cast<int>(rule)]) continue;
    const std::vector<std::uint8_t> active = run_.variables_of(rule, true);
    const Messages m = run_.view(rule, active.data());
    parallel_for(parts, run_.options.threads, [&](std::int64_t b) {
      run_.scratches().with([&](double* scratch) {
        run_.kernels().weigh(m, b * part, std::min(p_.factors(), (b + 1) * part), weighed.data(),
                             scratch);
      });
    });
  }
  for (std::int64_t i = 0; i < p_.factors(); ++i) {
    const std::int32_t place = p_.member[p_.member_ptr[i]], v = p_.variable[place];
    const bool logs = run_.rule[p_.component[v]] != MessageRule::sums;
    const double scale = f_.group[p_.group[i]].scale_of(p_.which[i]);
    value[f_.graph[v]] +=
        weight(place) * weighed[i] + (logs ? 0.0 : scale * run_.ranges.range(f_, p_, i).most);
  }
}

bool Beliefs::hub(std::int64_t v, std::int64_t but, double* q) const {
  if (p_.variables_packed[v].hub < 0) return false;
  const std::int64_t n = p_.width[v], stride = row_stride(n);
  const Messages& m = *view_[static_cast<int>(run_.rule[p_.component[v]])];
  std::vector<double> room(stride > n ? stride : 0);  // for the rest of its last vector
  run_.kernels().tell(m, static_cast<std::int32_t>(v), static_cast<std::int32_t>(but),
                      stride > n ? room.data() : q);
  if (stride > n) std::copy_n(room.data(), n, q);
  return true;
}

double Beliefs::excess(std::int64_t i, const double* node, const double* cell) const {
  const FactorGroup& group = f_.group[p_.group[i]];
  double most = 1.0;
  std::vector<double> sum;
  std::int64_t inner = group.cells;
  for (int a = 0; a < group.arity; ++a) {
    inner /= group.shape[a];
    sum.assign(group.shape[a], 0.0);
    for (std::int64_t c = 0; c < group.cells; ++c) sum[c / inner % group.shape[a]] += cell[c];
    const double* belief = node + f_.label_ptr[p_.variable[p_.member[p_.member_ptr[i] + a]]];
    for (std::int32_t x = 0; x < group.shape[a]; ++x)
      if (sum[x] > 0.0) most = std::max(most, sum[x] / belief[x]);
  }
  return std::log(most);
}

bool Beliefs::add_pair(std::int64_t i, double share, std::vector<double>& q, double* out) const {
  const std::int32_t* member = p_.member.data() + p_.member_ptr[i];
  const std::int32_t u = p_.variable[member[0]], v = p_.variable[member[1]];
  const MessageTables* tables = run_.table[static_cast<int>(MessageRule::sums)].get();
  if (p_.joins(i) != 1 || run_.options.weight || !tables ||
      run_.rule[p_.component[u]] != MessageRule::sums ||
      tables->table[tables->factor[i].number].raw)
    return false;
  const double* cell = tables->factor[i].cell;
  double* other = q.data() + p_.sizes.widest;
  product(u, member[0], q.data());
  product(v, member[1], other);
  double total = 0.0;
  for (std::int32_t x = 0; x < p_.width[u]; ++x) {
    const double* row = cell + static_cast<std::int64_t>(x) * p_.width[v];
    double sum = 0.0;
    for (std::int32_t y = 0; y < p_.width[v]; ++y) sum += row[y] * other[y];
    total += q[x] * sum;
  }
  if (total < kLeastTotal) return false;
  for (std::int32_t x = 0; x < p_.width[u]; ++x, cell += p_.width[v], out += p_.width[v]) {
    const double by = share * (q[x] / total);
    for (std::int32_t y = 0; y < p_.width[v]; ++y) out[y] += by * cell[y] * other[y];
  }
  return true;
}

void Beliefs::product(std::int32_t v, std::int32_t but, double* q) const {
  const std::int64_t n = p_.width[v], stride = row_stride(n);
  const double* row = run_.rows.of(v);
  if (hub(v, but, q)) return;
  std::copy_n(row, n, q);
  for (std::int64_t p = p_.place_ptr[v]; p < p_.place_ptr[v + 1]; ++p) {
    row += stride;
    if (p == but) continue;
    for (std::int64_t k = 0; k < n; ++k) q[k] *= row[k];
  }
}

void Beliefs::factor(std::int64_t i, const double* node, std::vector<double>& q,
                     double* out) const {
  const FactorGroup& group = f_.group[p_.group[i]];
  const std::int64_t m = p_.which[i], widest = p_.sizes.widest;
  const std::int32_t first = p_.variable[p_.member[p_.member_ptr[i]]];
  std::fill_n(out, group.cells, 0.0);
  const double* belief = node + f_.label_ptr[first];
  if (*std::max_element(belief, belief + p_.width[first]) == 0.0) return;  // no labeling
  for (int a = 0; a < group.arity; ++a) {
    const std::int32_t place = p_.member[p_.member_ptr[i] + a];
    told(p_.variable[place], place, q.data() + a * widest);
  }
  const double* score = group.scores(m);
  const double scale = group.scale_of(m) / weight(p_.member[p_.member_ptr[i]]),
               most = run_.ranges.range(f_, p_, i).most;
  double total = 0.0;
  std::int64_t inner = group.cells;
  std::fill_n(out, group.cells, 1.0);
  for (int a = 0; a < group.arity; ++a) {
    inner /= group.shape[a];
    for (std::int64_t c = 0; c < group.cells; ++c)
      out[c] *= q[a * widest + c / inner % group.shape[a]];
  }
  for (std::int64_t c = 0; c < group.cells; ++c) {
    out[c] = out[c] > 0.0 ? out[c] * std::exp((score[c] - most) * scale) : 0.0;
    total += out[c];
  }
  for (std::int64_t c = 0; total > 0.0 && c < group.cells; ++c) out[c] /= total;
}

}  // namespace crfkit
