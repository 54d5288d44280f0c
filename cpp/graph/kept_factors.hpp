// Factors with the arrays that they refer to, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/kept.hpp"
#include "shared/factors.hpp"

namespace crfkit {

class KeptFactors {
 public:
  KeptFactors(KeptIntegers width, KeptIntegers graph, KeptReals constant);
  KeptFactors(const KeptFactors&) = delete;
  KeptFactors& operator=(const KeptFactors&) = delete;

  // Adds the factors of one clique; `name` is for messages.
  void add(const std::string& name, KeptIntegers scope, std::vector<std::int32_t> shape,
           KeptReals table, std::optional<KeptIntegers> which, std::optional<KeptReals> scale);

  const Factors& view() const { return view_; }

 private:
  struct Group {
    KeptIntegers scope;
    std::vector<std::int32_t> shape;
    KeptReals table;
    std::optional<KeptIntegers> which;
    std::optional<KeptReals> scale;
  };

  void check_scopes(const std::string& name, const Group& group, std::int64_t M) const;

  static void check_numbers(const std::string& name, const Group& group, std::int64_t cells);

  KeptIntegers width_, graph_;
  KeptReals constant_;
  std::vector<std::int64_t> label_ptr_;
  std::vector<Group> groups_;
  std::vector<FactorGroup> views_;
  Factors view_;
};

}  // namespace crfkit
