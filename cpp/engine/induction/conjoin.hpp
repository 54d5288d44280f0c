// Conjunctions of attributes: where both parts occur at a position, so does their conjunction.
//
// The left part may be a conjunction itself, the right part never is.  Values multiply. Occurrences
// of conjunctions that are already there are made anew, so that doing it twice changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kept.hpp"

namespace crfkit {

class Conjunctions {
 public:
  static constexpr int kMostParts = 64;

  // The partners of attribute a are right[ptr[a] .. ptr[a + 1]), rising; made are their
  // conjunctions.
  Conjunctions(Pointers ptr, Integers right, Integers made);

  struct Rows {
    std::vector<std::int64_t> ptr;
    std::vector<std::int32_t> id;
    std::vector<double> value;  // empty where none are given
  };

  // Rows of ids with their conjunctions behind; value is null where all are 1.
  Rows conjoin(Pointers ptr, Integers id, const double* value, int threads) const;

 private:
  Rows block(Pointers ptr, Integers id, const double* value, std::int64_t first,
             std::int64_t last) const;

  std::vector<std::int64_t> ptr_;
  std::vector<std::int32_t> right_, made_;
  std::vector<char> is_right_, is_made_;
};

}  // namespace crfkit
