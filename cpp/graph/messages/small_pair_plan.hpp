// Pairs of few labels: a schedule as visits of variables, and rows in their order.
//
// A visit tells some factors of a variable all at once.  Upwards in a tree it tells the one to the
// root, downwards all others; in an order it tells those ahead, or those behind.  Places of a
// variable that are told together lie side by side.
#pragma once

#include "graph/messages/forests.hpp"

namespace crfkit {

struct SmallPairPlan {
  int labels;  // few_labels() of the widest variable
  int lanes;
  std::vector<SmallPairVisit> visit;
  std::vector<std::int64_t> block_ptr{0};  // visits of blocks, one after the other
  std::vector<std::int64_t> pass_ptr{0};   // blocks of passes, side by side
  std::vector<std::int32_t> own;           // [V] row; -1: no factor of two variables
  std::vector<std::int32_t> row;           // [E] row of a place
  std::vector<std::int32_t> place;         // [rows] -1: a variable's own
  std::vector<std::int32_t> to;            // [rows] where the message of a row goes
  std::int64_t most = 0;                   // messages of a visit

  std::int64_t rows() const { return static_cast<std::int64_t>(to.size()); }

  static bool fits(const Places& p);

  // By forests, or by an order; without both each variable tells all of its factors.
  SmallPairPlan(const Places& places, const Covering* covering, const Order* order);

 private:
  static int widest(const Places& p);

  // The visits begin as a place each: all places of its variable with the same key are told.
  void end_block() { block_ptr.push_back(static_cast<std::int64_t>(first_.size())); }
  void end_pass() { pass_ptr.push_back(static_cast<std::int64_t>(block_ptr.size()) - 1); }

  void follow(const Covering& covering);

  void follow(const Order& order);
  void visit_all();

  void lay_out();

  static constexpr std::int64_t kPart = 1 << 11;  // variables of a level that one thread visits

  const Places& p_;
  std::vector<std::int32_t> key_, first_;
};

}  // namespace crfkit
