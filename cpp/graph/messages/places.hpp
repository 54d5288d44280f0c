// Places: the axes of factors of two or more variables, numbered variable by variable, and the
// components of a graph that these factors make.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "shared/factors.hpp"
#include "shared/path_messages.hpp"

namespace crfkit {

// Sets that are joined, named by one of their members.
class Sets {
 public:
  explicit Sets(std::int64_t n) : parent_(n) { reset(); }

  void reset() { std::iota(parent_.begin(), parent_.end(), 0); }
  std::int32_t of(std::int32_t v);
  // The lower name stays.
  bool join(std::int32_t u, std::int32_t v);

 private:
  std::vector<std::int32_t> parent_;
};

struct Places {
  std::vector<std::int32_t> width;         // [V]
  std::vector<std::int32_t> group, which;  // [F] group of a factor, and its number there
  std::vector<std::int64_t> member_ptr;    // [F + 1]
  std::vector<std::int32_t> member;        // [E] places of factors, axis by axis
  std::vector<std::int64_t> place_ptr;     // [V + 1]
  std::vector<std::int32_t> variable, factor, partner;  // [E]
  std::vector<std::int64_t> row_ptr;                    // [V + 1]
  std::vector<std::int32_t> hub;                        // variables with many places
  std::vector<MessageVariable> variables_packed;        // the same, side by side for the kernels
  std::vector<MessagePlace> places_packed;
  MessageSizes sizes;
  std::vector<std::int32_t> component;  // [V]
  std::vector<std::int32_t> graph;      // [C] of a component
  std::vector<std::uint8_t> acyclic;    // [C]

  std::int64_t factors() const { return static_cast<std::int64_t>(group.size()); }
  std::int64_t variables() const { return static_cast<std::int64_t>(width.size()); }
  std::int64_t components() const { return static_cast<std::int64_t>(graph.size()); }

  explicit Places(const Factors& f);

  MessageGraph view() const {
    return {variables_packed.data(), places_packed.data(), member_ptr.data(), member.data()};
  }

  // The sum over the factors of a set of their variables but one: edges of a tree, if it is one.
  std::int64_t joins(std::int64_t f) const { return member_ptr[f + 1] - member_ptr[f] - 1; }

 private:
  void number_factors(const Factors& f);

  void number_places(const Factors& f);

  void pack();

  void find_components(const Factors& f);
};

}  // namespace crfkit
