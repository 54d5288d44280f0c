// Memory for tables that come and go: large pieces are used again, as new ones cost page faults.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace crfkit {

class Cells {
 public:
  Cells() = default;
  explicit Cells(std::int64_t room) : cell_(new double[room]), room_(room) {}

  double* get() const { return cell_.get(); }
  double& operator[](std::int64_t i) const { return cell_[i]; }
  explicit operator bool() const { return cell_ != nullptr; }
  std::int64_t room() const { return cell_ ? room_ : 0; }

 private:
  std::unique_ptr<double[]> cell_;
  std::int64_t room_ = 0;
};

class CellPool {
 public:
  // What is kept for later is given back where there would be more than `most` cells in all.
  explicit CellPool(double most) : most_(most) {}

  Cells take(std::int64_t cells) {
    std::size_t best = free_.size();
    if (cells >= kLarge)
      for (std::size_t i = 0; i < free_.size(); ++i)
        if (free_[i].room() >= cells && free_[i].room() <= cells + cells / 16 &&
            (best == free_.size() || free_[i].room() < free_[best].room()))
          best = i;
    if (best == free_.size()) {
      while (!free_.empty() && static_cast<double>(all_ + cells) > most_) drop(largest());
      all_ += cells;
      return Cells(cells);
    }
    std::swap(free_[best], free_.back());
    Cells taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }

  void give(Cells& cells) {
    Cells given = std::move(cells);
    cells = Cells();
    if (given.room() < kLarge) {
      all_ -= given.room();
      return;
    }
    free_.push_back(std::move(given));
    if (free_.size() > kMost) drop(smallest());
  }

 private:
  static constexpr std::int64_t kLarge = 1 << 14;
  static constexpr std::size_t kMost = 4;

  static bool less(const Cells& x, const Cells& y) { return x.room() < y.room(); }
  using Place = std::vector<Cells>::iterator;
  Place smallest() { return std::min_element(free_.begin(), free_.end(), less); }
  Place largest() { return std::max_element(free_.begin(), free_.end(), less); }

  void drop(Place one) {
    all_ -= one->room();
    free_.erase(one);
  }

  double most_;
  std::int64_t all_ = 0;  // cells that were taken, or are kept for later
  std::vector<Cells> free_;
};

}  // namespace crfkit
