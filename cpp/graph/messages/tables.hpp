// Tables of factors in the form that messages need: exponentials, packed matrices, or only what a
// table of "same or not" has to say.
#pragma once

#include <cmath>
#include <deque>

#include "graph/messages/places.hpp"
#include "shared/kernels.hpp"

namespace crfkit {

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// The highest score, and the distance of the lowest above -inf from it.
struct Range {
  double most = kForbidden, spread = 0.0;
  bool forbids = false;  // some labels

  Range(const double* score, std::int64_t n);
};

// Ranges of all tables of the factors of two or more variables.
struct TableRanges {
  std::vector<std::vector<Range>> of;  // [groups][tables]

  explicit TableRanges(const Factors& f);
  const Range& range(const Factors& f, const Places& p, std::int64_t i) const {
    return of[p.group[i]][f.group[p.group[i]].table_of(p.which[i])];
  }
};

class MessageTables {
 public:
  std::vector<MessageTable> table;
  std::vector<MessageFactor> factor;  // [F]
  std::vector<double> scale;          // [F], or empty

  MessageTables(const PathKernels& kernels, const Factors& f, const Places& places,
                const TableRanges& ranges, MessageRule rule, const double* weight);

 private:
  static constexpr std::int64_t kFew = 64;  // cells of a table that is made for each factor

  bool sums() const { return rule_ == MessageRule::sums; }
  // Whether each factor has a table of its own because of its scale.
  bool each(const FactorGroup& g) const { return sums() && g.scale && g.cells <= kFew; }

  double* room(std::int64_t n);

  // Where the tables of a group are.
  struct Group {
    const double* cell = nullptr;  // [tables, cells]
    std::int64_t first = 0;        // number in `table` ...
    bool many = false;             // ... of the first of several, or of the only one
  };

  Group add(const FactorGroup& g, const std::vector<Range>& range);
  double linear(double score, bool raw) const { return sums() && !raw ? std::exp(score) : score; }

  void pack(const FactorGroup& g, const double* cell, MessageTable& t);

  static bool knows_same_only(const FactorGroup& g, const double* score);

  const PathKernels& kernels_;
  MessageRule rule_;
  std::deque<std::vector<double>> kept_;
};

}  // namespace crfkit
