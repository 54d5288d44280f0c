// Pairs of few labels: a schedule as visits of variables, and rows in their order.
//
// A visit tells some factors of a variable all at once.  Upwards in a tree it tells the one to the
// root, downwards all others; in an order it tells those ahead, or those behind.  Places of a
// variable that are told together lie side by side.
#pragma once

#include "graph/forests.hpp"

namespace crfkit {

struct FewPlan {
  int labels;  // few_labels() of the widest variable
  int lanes;
  std::vector<FewVisit> visit;
  std::vector<std::int64_t> block_ptr{0};  // visits of blocks, one after the other
  std::vector<std::int64_t> pass_ptr{0};   // blocks of passes, side by side
  std::vector<std::int32_t> own;           // [V] row; -1: no factor of two variables
  std::vector<std::int32_t> row;           // [E] row of a place
  std::vector<std::int32_t> place;         // [rows] -1: a variable's own
  std::vector<std::int32_t> to;            // [rows] where the message of a row goes
  std::int64_t most = 0;                   // messages of a visit

  std::int64_t rows() const { return static_cast<std::int64_t>(to.size()); }

  static bool fits(const Places& p) {
    return p.factors() && p.sizes.members == 2 && few_labels(widest(p)) > 0 &&
           p.member_ptr.back() + p.variables() <= std::numeric_limits<std::int32_t>::max();
  }

  // By forests, or by an order: one of both is there.
  FewPlan(const Places& places, const Covering* covering, const Order* order)
      : labels(few_labels(widest(places))),
        lanes(few_lanes(labels)),
        own(places.variables(), -1),
        row(places.variable.size()),
        p_(places),
        key_(places.variable.size()) {
    if (covering) {
      follow(*covering);
    } else {
      follow(*order);
    }
    lay_out();
    key_.clear(), first_.clear();
  }

 private:
  static int widest(const Places& p) {
    std::int32_t most = 1;
    for (std::int64_t v = 0; v < p.variables(); ++v)
      if (p.place_ptr[v] < p.place_ptr[v + 1]) most = std::max(most, p.width[v]);
    return most;
  }

  // The visits begin as a place each: all places of its variable with the same key are told.
  void end_block() { block_ptr.push_back(static_cast<std::int64_t>(first_.size())); }
  void end_pass() { pass_ptr.push_back(static_cast<std::int64_t>(block_ptr.size()) - 1); }

  void follow(const Covering& covering) {
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

  void follow(const Order& order) {
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

  void lay_out() {
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

  static constexpr std::int64_t kPart = 1 << 11;  // variables of a level that one thread visits

  const Places& p_;
  std::vector<std::int32_t> key_, first_;
};

}  // namespace crfkit
