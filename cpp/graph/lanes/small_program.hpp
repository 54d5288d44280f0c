// The program that eliminates the variables of one small graph, for all graphs of its pattern.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shared/small_graphs.hpp"

namespace crfkit {

// A component with its variables numbered from 0.
struct SmallPattern {
  struct Factor {
    std::int32_t group;
    std::vector<std::int32_t> scope;
  };
  std::vector<std::int32_t> width;
  std::vector<Factor> factors;
};

inline constexpr std::int32_t kMostSmallVariables = 256;
// of all products, and of all factors
// numbers in the lists of a program

// Sets of variables of a small pattern.
class SmallSet {
 public:
  bool has(std::int32_t v) const { return bits_[v / 64] >> (v % 64) & 1; }
  void add(std::int32_t v) { bits_[v / 64] |= std::uint64_t{1} << (v % 64); }
  void drop(std::int32_t v) { bits_[v / 64] &= ~(std::uint64_t{1} << (v % 64)); }
  void add(const SmallSet& other) {
    for (int i = 0; i < kWords; ++i) bits_[i] |= other.bits_[i];
  }
  bool operator==(const SmallSet&) const = default;
  std::vector<std::int32_t> members() const;

 private:
  static constexpr int kWords = kMostSmallVariables / 64;
  std::uint64_t bits_[kWords] = {};
};

class SmallCompiler {
 public:
  // None where tables or lists are too large.
  static std::optional<SmallCompiler> of(const SmallPattern& pattern);

  // Valid while this object stays where it is.
  SmallProgram program() const;

 private:
  struct Table {
    SmallSet scope;
    std::vector<std::int32_t> axes;  // the last fastest
    std::int32_t place = 0, cells = 1;
    std::int32_t number = -1;  // as SmallOperand has it
    bool used = false;
  };

  explicit SmallCompiler(const SmallPattern& pattern);

  std::int32_t cells_of(const std::vector<std::int32_t>& axes) const;

  void add_input(std::int32_t group, const std::vector<std::int32_t>& axes);

  std::int32_t keep(std::int32_t cells);

  // All variables of a scope with `last` as the fastest.
  std::vector<std::int32_t> ordered(const SmallSet& scope, std::int32_t last) const;

  // For every cell of a table over `axes` the cell of a table over some of them.
  std::vector<std::int32_t> projection(const std::vector<std::int32_t>& axes,
                                       const std::vector<std::int32_t>& onto) const;

  // Cells in doubles, as the kernels want them.
  std::int32_t add_cells(std::vector<std::int32_t> cells);

  std::int32_t add_list(const std::vector<std::int32_t>& numbers);

  // For every one of `cells` cells the places of the projection that are mapped to it.
  std::int32_t add_inverse(const std::vector<std::int32_t>& projection, std::int32_t cells);

  // Left and right have only v in common, and it is the fastest of left.
  static bool grows(const Table& left, const Table& right, std::int32_t v);

  void multiply(const Table& left, const Table* right, const Table& out, std::int32_t v);

  // The table whose product with `now` has the fewest cells; the smallest of these.
  std::size_t next_operand(const Table& now, const std::vector<std::size_t>& left) const;

  void eliminate(std::int32_t v);

  void compile(const std::vector<std::int32_t>& order);

  std::vector<std::int32_t> width_;
  std::vector<Table> table_;
  std::int64_t kept_ = 0, scratch_ = 0;
  std::vector<SmallInput> input_;
  std::vector<SmallStep> step_;
  std::vector<SmallProduct> product_;
  std::vector<SmallOperand> operand_;
  std::vector<std::int32_t> list_;
};

}  // namespace crfkit
