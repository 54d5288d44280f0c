#include "graph/messages/small_pair_plan.hpp"

#include <algorithm>

namespace crfkit {

bool SmallPairPlan::fits(const Places& p) {
  return p.factors() && p.sizes.members == 2 && few_labels(widest(p)) > 0 &&
         p.member_ptr.back() + p.variables() <= std::numeric_limits<std::int32_t>::max();
}

SmallPairPlan::SmallPairPlan(const Places& places, const Covering* covering, const Order* order)
    : labels(few_labels(widest(places))),
      lanes(small_pair_lanes(labels)),
      own(places.variables(), -1),
      row(places.variable.size()),
      p_(places),
      key_(places.variable.size()) {
  if (covering) {
    follow(*covering);
  } else if (order) {
    follow(*order);
  } else {
    visit_all();
  }
  lay_out();
  key_.clear(), first_.clear();
}

int SmallPairPlan::widest(const Places& p) {
  std::int32_t most = 1;
  for (std::int64_t v = 0; v < p.variables(); ++v)
    if (p.place_ptr[v] < p.place_ptr[v + 1]) most = std::max(most, p.width[v]);
  return most;
}

void SmallPairPlan::follow(const Covering& covering) {
  std::vector<std::int32_t> told(p_.variables(), -1);  // the last forest in which it went down
  for (std::size_t f = 0; f < covering.forest.size(); ++f) {
    const Forest& forest = covering.forest[f];
    const std::int32_t number = static_cast<std::int32_t>(f);
    for (const TreeBlock& block : forest.block) {
      const std::int64_t middle = (block.first + block.last) / 2;
      for (std::int64_t i = forest.stage_ptr[block.first]; i < forest.stage_ptr[middle]; ++i) {
        const std::int32_t to = forest.place[i], from = p_.partner[to];
        key_[from] = 2 * number, key_[to] = 2 * number + 1;
        first_.push_back(from);
      }
      for (std::int64_t i = forest.stage_ptr[middle]; i < forest.stage_ptr[block.last]; ++i) {
        const std::int32_t from = p_.partner[forest.place[i]], v = p_.variable[from];
        if (told[v] != number) first_.push_back(from);
        told[v] = number;
      }
      end_block();
    }
    end_pass();
  }
}

void SmallPairPlan::follow(const Order& order) {
  for (std::size_t p = 0; p < key_.size(); ++p) key_[p] = order.ahead[p] >= 0;
  const std::int64_t levels = static_cast<std::int64_t>(order.level_ptr.size()) - 1;
  for (const bool up : {true, false}) {
    const std::vector<std::int32_t>& target = up ? order.ahead : order.behind;
    for (std::int64_t i = 0; i < levels; ++i) {
      const std::int64_t level = up ? i : levels - 1 - i, begin = order.level_ptr[level],
                         end = order.level_ptr[level + 1];
      for (std::int64_t k = begin; k < end; ++k) {
        const std::int32_t v = order.variable[k];
        std::int64_t p = p_.place_ptr[v];
        while (p < p_.place_ptr[v + 1] && target[p] < 0) ++p;
        if (p < p_.place_ptr[v + 1]) first_.push_back(static_cast<std::int32_t>(p));
        if ((k + 1 - begin) % kPart == 0) end_block();
      }
      end_block();
      end_pass();
    }
  }
}

void SmallPairPlan::visit_all() {
  for (std::int64_t v = 0; v < p_.variables(); ++v)
    if (p_.place_ptr[v] < p_.place_ptr[v + 1])
      first_.push_back(static_cast<std::int32_t>(p_.place_ptr[v]));
}

void SmallPairPlan::lay_out() {
  std::vector<std::int32_t> order;
  for (const std::int32_t seen : first_) {
    const std::int32_t v = p_.variable[seen];
    if (own[v] >= 0) continue;
    own[v] = static_cast<std::int32_t>(place.size());
    place.push_back(-1);
    order.resize(p_.place_ptr[v + 1] - p_.place_ptr[v]);
    std::iota(order.begin(), order.end(), static_cast<std::int32_t>(p_.place_ptr[v]));
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return key_[a] < key_[b]; });
    for (const std::int32_t p : order) {
      row[p] = static_cast<std::int32_t>(place.size());
      place.push_back(p);
    }
  }
  to.assign(place.size(), -1);
  for (std::size_t p = 0; p < row.size(); ++p) to[row[p]] = row[p_.partner[p]];
  visit.reserve(first_.size());
  for (const std::int32_t p : first_) {
    const std::int32_t v = p_.variable[p];
    const std::int32_t last =
        own[v] + 1 + static_cast<std::int32_t>(p_.place_ptr[v + 1] - p_.place_ptr[v]);
    std::int32_t begin = row[p], end = row[p];
    while (begin > own[v] + 1 && key_[place[begin - 1]] == key_[p]) --begin;
    while (end < last && key_[place[end]] == key_[p]) ++end;
    visit.push_back({v, own[v], begin, end, last});
    most = std::max<std::int64_t>(most, end - begin);
  }
}

}  // namespace crfkit
