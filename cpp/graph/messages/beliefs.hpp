// What messages at rest say: marginals of variables and factors, log Z, labels.
//
//   log Z = sum over v of (1 - sum over f of v of w_f) log Z_v + sum over f of w_f log Z_f
//   Z_v = sum over x of own_v(x) prod message(x)^w,  Z_f = sum over x of table_f(x)^(1/w_f) prod q
//
// With w = 1 this is Bethe's approximation (Yedidia, Freeman & Weiss 2005; Sutton & McCallum 2006,
// 1.4), exact without cycles; with the appearance of factors in spanning forests it is the bound of
// Wainwright, Jaakkola & Willsky (2005).
#pragma once

#include <optional>

#include "graph/messages/run.hpp"

namespace crfkit {

class Beliefs {
 public:
  explicit Beliefs(MessageRun& run) : run_(run), p_(run.places), f_(run.factors) {
    for (int rule = 0; rule < 3; ++rule)
      if (run.table[rule]) view_[rule] = run.view(static_cast<MessageRule>(rule), nullptr);
  }

  // [N], and marginals [label_ptr[V]] of variables, which are zero at first.
  void sum(double* value, double* node);

  // Marginals [M, cells] of the factors of a group.
  void clique(std::int64_t g, const double* node, double* out) const;

  // The same, added up by tables, factor m times each[m]: [tables, cells], zero at first.  Sums are
  // made in parts that depend on the factors only.
  void counts(std::int64_t g, const double* node, const double* each, double* out) const;

  // [N]: how much log Z can be above the weighted sum while messages move.  The scores are a mean
  // over forests of sum log b_v + sum log (b_f / prod b_v), each of which sums, from leaves to
  // roots, to at most the product over its factors of max over x_u of (sum b_f)(x_u) / b_u(x_u).
  void slack(const double* node, double* out) const;

 private:
  // The first factor of a group.
  std::int64_t first_of(std::int64_t g) const;
  MessageRun::State state(std::int64_t v) const { return run_.state[p_.component[v]]; }
  double weight(std::int64_t place) const {
    return run_.options.weight ? run_.options.weight[p_.factor[place]] : 1.0;
  }

  // A sum of numbers that were divided by their maximum, or exponentials of those that had it
  // subtracted.
  struct Sum {
    double total, most;
    bool logs;
    double log() const {
      return total > 0.0 ? std::log(total) + (logs ? most : std::log(most)) : kForbidden;
    }
  };

  // What v believes, or tells the factor of a place; highest 1.  Returns the sum as it was before.
  Sum told(std::int64_t v, std::int64_t but, double* q) const;

  // What a hub tells, or believes, by its products; false where it is none.
  bool hub(std::int64_t v, std::int64_t but, double* q) const;

  void add_factors(double* value);

  // log of the largest quotient of the marginals of a factor and of its variables.
  double excess(std::int64_t i, const double* node, const double* cell) const;

  // Adds the marginals of a pair, times `share`, where its table is there as exponentials; or
  // false.
  bool add_pair(std::int64_t i, double share, std::vector<double>& q, double* out) const;
  static constexpr double kLeastTotal = 1e-250;  // products that may have lost digits are below

  // What v tells the factor of a place, of probabilities.
  void product(std::int32_t v, std::int32_t but, double* q) const;

  void factor(std::int64_t i, const double* node, std::vector<double>& q, double* out) const;

  MessageRun& run_;
  const Places& p_;
  const Factors& f_;
  std::optional<Messages> view_[3];  // of all variables, by rule
};

}  // namespace crfkit
