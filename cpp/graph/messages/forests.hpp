// Schedules of messages.
//
// Forests: factors are covered by forests of the factor graph, each of which is swept exactly, from
// leaves to roots and back: tree reparameterization, Wainwright, Jaakkola & Willsky (2003); Sutton
// & McCallum (2006) 1.4.2.  A component without cycles lies in the first forest as a whole.  Pairs
// that lead on by the same step are paths of a forest of their own (the rows of a grid, its
// columns, a chain); all other factors go to the first forest in which they close no cycle.
//
// Orders: variables by levels, each telling those of higher levels, and then back.
#pragma once

#include <vector>

#include "graph/messages/places.hpp"

namespace crfkit {

// Trees of a forest that are swept by one thread: messages of many trees side by side.
struct TreeBlock {
  std::int64_t first, last;  // stages
};

// Components that are swept together, until all of them rest: the rows of a share stay in the
// cache.
struct Shares {
  static constexpr std::int64_t kPlaces = 1 << 12;  // at least, of a share

  std::vector<std::int32_t> of;             // [C] share of a component; shares are consecutive ones
  std::vector<std::int64_t> component_ptr;  // [S + 1]
  std::vector<std::int64_t> variable_ptr;   // [S + 1]
  std::vector<std::int32_t> variable;       // [V] share by share
  std::int64_t most = 0;                    // variables of the largest share

  // `apart`: whether there may be more than one.
  Shares(const Places& p, bool apart);
  std::int64_t count() const { return static_cast<std::int64_t>(component_ptr.size()) - 1; }
};

struct Forest {
  std::vector<TreeBlock> block;
  std::vector<std::int64_t> share_ptr;  // of `block`
  std::vector<std::int64_t> stage_ptr;  // of `place`, all blocks one after the other
  std::vector<std::int32_t> place;      // to which messages go
};

class Covering {
 public:
  static constexpr int kMost = 24;  // forests; a graph that needs more is dense: see Order

  std::vector<Forest> forest;  // empty: more than kMost would be needed

  Covering(const Places& places, const Shares& shares);

 private:
  bool tree(std::int64_t f) const {
    return p_.acyclic[p_.component[p_.variable[p_.member[p_.member_ptr[f]]]]];
  }
  // From the lower variable of a pair to the higher one; 0 for other factors.
  std::int64_t step_of(std::int64_t f) const;

  // Steps that a fifth or more of the pairs have.
  std::vector<std::int64_t> regular_steps() const;

  bool closes_no_cycle(std::int32_t f);

  struct Sent {
    std::int32_t place;  // towards the root
    std::int32_t round;
  };

  // Leaves are taken off, round by round: a factor whose variables are leaves but one sends to
  // that one.
  std::vector<Sent> leaves_first(const std::vector<std::int32_t>& chosen) const;

  Forest stages(const std::vector<std::int32_t>& chosen);

  const Places& p_;
  const Shares& shares_;
  Sets sets_;
};

// Variables in their given order, by levels: neighbors are never of one level.
struct Order {
  std::vector<std::int64_t> level_ptr;
  std::vector<std::int32_t> variable;       // [V] by level
  std::vector<std::int32_t> ahead, behind;  // [E] where a visit sends, on the way up and down

  explicit Order(const Places& p);
};

}  // namespace crfkit
