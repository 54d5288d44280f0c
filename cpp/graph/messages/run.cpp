#include "graph/messages/run.hpp"

#include <memory>

#include "graph/messages/edge_appearance.hpp"

namespace crfkit {

MessagePlan::MessagePlan(const Factors& f, Schedule wanted) : places(f), schedule(wanted) {
  if (schedule == Schedule::paths) {
    shares = std::make_unique<Shares>(places, !SmallPairPlan::fits(places));
    covering = std::make_unique<Covering>(places, *shares);
    if (places.factors() && covering->forest.empty()) {
      schedule = Schedule::sequential;
      covering.reset();
    }
  }
  if (!covering) shares = std::make_unique<Shares>(places, false);
  if (schedule == Schedule::sequential) order = std::make_unique<Order>(places);
  if (covering) places.sizes.degree = 0;  // only visits keep a row for each place of a variable
  if (SmallPairPlan::fits(places))
    small_pairs = std::make_unique<SmallPairPlan>(places, covering.get(), order.get());
}

MessageRun::MessageRun(const Kernels& kernels, const Factors& f, const MessagePlan& p,
                       const MessageOptions& given)
    : factors(f),
      plan(p),
      places(p.places),
      options(given),
      state(places.components(), State::running),
      rule(places.components()),
      sweeps(places.components(), 0),
      ranges(f),
      rows(*kernels.paths, f, places, given.threads),
      kernels_(*kernels.paths),
      scratches_(kernels_.scratch(places.sizes)),
      stamp_(places.variable.size()),
      hubs_(p.places) {
  choose_rules();
  run(MessageRule::maxima);
  run(MessageRule::sums);
  start_again_in_logs();
  run(MessageRule::log_sums);
}

Messages MessageRun::view(MessageRule which, const std::uint8_t* active) {
  MessageTables& t = *table[static_cast<int>(which)];
  return {places.view(),
          places.sizes,
          which,
          watched_,
          t.table.data(),
          t.factor.data(),
          t.scale.empty() ? nullptr : t.scale.data(),
          options.weight,
          nullptr,
          active,
          rows.data(),
          hubs_.data(),
          stamp_.data(),
          0,
          static_cast<float>(options.tolerance * 0.1)};
}

std::vector<std::uint8_t> MessageRun::variables_of(MessageRule which, bool all) const {
  std::vector<std::uint8_t> of(places.variables());
  for (std::int64_t v = 0; v < places.variables(); ++v) {
    const std::int32_t c = places.component[v];
    of[v] = rule[c] == which && (all ? state[c] != State::dead : state[c] == State::running);
  }
  return of;
}

void MessageRun::choose_rules() {
  const std::int64_t V = places.variables(), C = places.components();
  rows.write_own([](std::int64_t) { return true; });
  if (options.maxima || options.weight) {
    rule.assign(C, options.maxima ? MessageRule::maxima : MessageRule::log_sums);
    rows.start([&](std::int64_t) { return static_cast<int>(rule[0]); });
    return;
  }
  rule.assign(C, MessageRule::sums);
  std::vector<double> spread(V, 0.0);
  std::vector<std::uint8_t> wide(C, 0);
  for (std::int64_t v = 0; v < V; ++v) {
    const Range range(rows.of(v), places.width[v]);
    spread[v] = range.spread;
    watched_ |= range.forbids;
    wide[places.component[v]] |= range.spread > kSafe;
  }
  for (std::int64_t i = 0; i < places.factors(); ++i) {
    const Range& range = ranges.range(factors, places, i);
    const double far = range.spread * factors.group[places.group[i]].scale_of(places.which[i]);
    watched_ |= range.forbids;
    for (std::int64_t k = places.member_ptr[i]; k < places.member_ptr[i + 1]; ++k)
      spread[places.variable[places.member[k]]] += far;
    if (far > 2.0 * kSafe / static_cast<double>(places.joins(i) + 1))
      wide[places.component[places.variable[places.member[places.member_ptr[i]]]]] = 1;
  }
  for (std::int64_t i = 0; i < places.factors() && !watched_; ++i) {
    double sum = 0.0;
    for (std::int64_t k = places.member_ptr[i]; k < places.member_ptr[i + 1]; ++k)
      sum += spread[places.variable[places.member[k]]];
    watched_ |= sum > kSafe;
  }
  for (std::int64_t c = 0; c < C; ++c)
    if (wide[c]) rule[c] = MessageRule::log_sums;
  rows.start([&](std::int64_t v) { return static_cast<int>(rule[places.component[v]]); });
}

void MessageRun::start_again_in_logs() {
  const auto of = [&](std::int64_t v) { return state[places.component[v]] == State::underflows; };
  if (std::find(state.begin(), state.end(), State::underflows) == state.end()) return;
  rows.write_own(of);
  rows.start([&](std::int64_t v) { return of(v) ? static_cast<int>(MessageRule::log_sums) : -1; });
  for (std::int64_t c = 0; c < places.components(); ++c)
    if (state[c] == State::underflows) state[c] = State::running, rule[c] = MessageRule::log_sums;
}

void MessageRun::run(MessageRule which) {
  bool any = false;
  for (std::int64_t c = 0; c < places.components(); ++c)
    any |= rule[c] == which && state[c] == State::running;
  if (!any) return;
  table[static_cast<int>(which)] =
      std::make_unique<MessageTables>(kernels_, factors, places, ranges, which, options.weight);
  std::vector<std::uint8_t> active = variables_of(which, false);
  Messages m = view(which, active.data());
  std::fill(stamp_.begin(), stamp_.end(), MessageStamp{0.0f, 0, -1});
  damping_.assign(options.damping > 0.0 ? places.variables() : 0, options.damping);
  if (plan.small_pairs && which != MessageRule::log_sums)
    small_pairs_ =
        std::make_unique<SmallPairRun>(kernels_, factors, places, *plan.small_pairs,
                                       *table[static_cast<int>(which)], which, watched_, rows);
  // Visits of pairs look at all messages into a variable in any case.
  const bool kept = !small_pairs_ && (plan.covering || places.sizes.members > 2);
  multiply_hubs(m);
  if (!kept) m.hub = nullptr;
  if (plan.schedule == Schedule::residual) {
    follow_residuals(m, active);
  } else {
    sweep_shares(m, active);
  }
  if (small_pairs_) small_pairs_->write(rows);
  small_pairs_.reset();
  if (!kept) multiply_hubs(view(which, active.data()));
}

void MessageRun::multiply_hubs(const Messages& m) {
  for (const std::int32_t v : places.hub) {
    if (rule[places.component[v]] != m.rule) continue;
    kernels_.multiply(m, v);
    MessageHub& hub = m.hub[places.variables_packed[v].hub];
    hub.last = hub.second = 0, hub.place = -1;
  }
}

void MessageRun::sweep_shares(const Messages& m, std::vector<std::uint8_t>& active) {
  const Shares& shares = *plan.shares;
  const bool apart = shares.most * options.threads <= places.variables();
  if (damping_.empty() && options.damping < 0.0) damping_.assign(places.variables(), 0.0);
  parallel_for(shares.count(), apart ? options.threads : 1, [&](std::int64_t s) {
    sweep_until_rest(m, s, apart ? 1 : options.threads, active);
  });
}

void MessageRun::sweep_until_rest(Messages m, std::int64_t share, int threads,
                                  std::vector<std::uint8_t>& active) {
  const Shares& shares = *plan.shares;
  const std::int64_t first = shares.component_ptr[share],
                     C = shares.component_ptr[share + 1] - first;
  const auto variables = [&](auto use) {
    for (std::int64_t i = shares.variable_ptr[share]; i < shares.variable_ptr[share + 1]; ++i)
      use(shares.variable[i]);
  };
  std::vector<double> best(C, std::numeric_limits<double>::infinity());
  std::vector<std::int32_t> stalls(C, 0);
  std::vector<float> most(C);
  std::vector<State> next(C);
  if (options.damping > 0.0) m.damping = damping_.data();
  for (std::int64_t s = 1; s <= options.sweeps; ++s) {
    sweep(m, share, threads);
    std::fill(most.begin(), most.end(), 0.0f);
    std::copy_n(state.begin() + first, C, next.begin());
    variables([&](std::int32_t v) {
      if (!active[v]) return;
      const std::int64_t c = places.component[v] - first;
      const auto look = [&](float change) {
        if (change == -1.0f && next[c] != State::underflows) next[c] = State::dead;
        if (change == -2.0f) next[c] = State::underflows;  // which may make others look dead
        most[c] = std::max(most[c], change);
      };
      if (small_pairs_) return look(small_pairs_->change()[v]);
      for (std::int64_t p = places.place_ptr[v]; p < places.place_ptr[v + 1]; ++p)
        look(stamp_[p].change);
    });
    bool left = false;
    for (std::int64_t i = 0; i < C; ++i) {
      const std::int64_t c = first + i;
      if (rule[c] != m.rule || state[c] != State::running) continue;
      sweeps[c] = s;
      state[c] = next[i];
      if (state[c] != State::running) continue;
      const bool exact = places.acyclic[c] && plan.covering && options.damping <= 0.0;
      if (most[i] <= options.tolerance || exact) {
        state[c] = State::rests;
      } else if (most[i] < best[i]) {
        best[i] = most[i], stalls[i] = 0;
      } else if (++stalls[i] == kStall && options.damping < 0.0) {
        m.damping = damping_.data();
        variables([&](std::int32_t v) {
          if (places.component[v] == c) damping_[v] = 0.5;
        });
      }
      left |= state[c] == State::running;
    }
    if (!left) return;
    variables([&](std::int32_t v) { active[v] = active[v] && runs(v); });
  }
  for (std::int64_t c = first; c < first + C; ++c)
    if (rule[c] == m.rule && state[c] == State::running) state[c] = State::given_up;
}

void MessageRun::sweep(Messages& m, std::int64_t share, int threads) {
  if (small_pairs_) return small_pairs_->sweep(m, threads);
  if (plan.covering) {
    for (const Forest& forest : plan.covering->forest) {
      ++m.clock;
      const std::int64_t first = forest.share_ptr[share],
                         blocks = forest.share_ptr[share + 1] - first;
      const int use = forest.place.size() < (1u << 13) ? 1 : threads;
      parallel_for(blocks, use, [&](std::int64_t b) {
        const TreeBlock& block = forest.block[first + b];
        scratches_.with([&](double* scratch) {
          kernels_.send(m, forest.place.data(), forest.stage_ptr.data() + block.first,
                        block.last - block.first, scratch);
        });
      });
    }
    return;
  }
  const Order& order = *plan.order;
  const std::int64_t levels = static_cast<std::int64_t>(order.level_ptr.size()) - 1;
  for (const bool up : {true, false}) {
    for (std::int64_t i = 0; i < levels; ++i) {
      ++m.clock;
      visit(m, up ? i : levels - 1 - i, up ? order.ahead : order.behind);
    }
  }
}

void MessageRun::visit(const Messages& m, std::int64_t level,
                       const std::vector<std::int32_t>& target) {
  const std::int64_t first = plan.order->level_ptr[level],
                     count = plan.order->level_ptr[level + 1] - first;
  // Larger factors look at variables of other levels, which others may be writing to.
  const bool apart = places.sizes.members == 2 && count >= (1 << 13);
  const std::int64_t part = apart ? 1 << 10 : std::max<std::int64_t>(count, 1);
  parallel_for((count + part - 1) / part, options.threads, [&](std::int64_t b) {
    scratches_.with([&](double* scratch) {
      kernels_.visit(m, plan.order->variable.data() + first + b * part,
                     std::min(part, count - b * part), target.data(), scratch);
    });
  });
}

}  // namespace crfkit
