#include "engine/span_walk.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/checks.hpp"

namespace crfkit {
namespace {

// Mass [L] after the allowed steps into position t; rows of `allowed` are `row` long.
void move(const StepShares& shares, std::int64_t L, std::int64_t t, const std::uint8_t* allowed,
          std::int64_t row, const double* mass, double* moved) {
  const double* before = shares.node + (t - 1) * L;
  const double* edge = shares.edge + t * L * L;
  std::fill_n(moved, L, 0.0);
  for (std::int64_t i = 0; i < L; ++i) {
    if (!(mass[i] > 0.0) || !(before[i] > 0.0)) continue;
    const double share = mass[i] / before[i];
    for (std::int64_t j = 0; j < L; ++j)
      if (allowed[i * row + j]) moved[j] += share * edge[i * L + j];
  }
}

}  // namespace

double span_share(const StepShares& shares, const SpanSteps& steps, std::int64_t first,
                  std::int64_t end, const std::uint8_t* among, std::vector<double>& scratch) {
  const std::int64_t L = steps.labels;
  scratch.resize(static_cast<std::size_t>(2 * L));
  double *mass = scratch.data(), *moved = mass + L;
  std::fill_n(mass, L, 0.0);
  if (first == 0) {
    for (std::int64_t j = 0; j < L; ++j)
      if (among[j] && steps.enter[L * L + j]) mass[j] = shares.node[j];
  } else {
    const double* edge = shares.edge + first * L * L;
    for (std::int64_t i = 0; i < L; ++i)
      for (std::int64_t j = 0; j < L; ++j)
        if (among[j] && steps.enter[i * L + j]) mass[j] += edge[i * L + j];
  }
  for (std::int64_t t = first + 1; t < end; ++t) {
    move(shares, L, t, steps.stay, L, mass, moved);
    std::swap(mass, moved);
  }
  double share = 0.0;
  if (end == shares.length) {
    for (std::int64_t i = 0; i < L; ++i)
      if (steps.leave[i * (L + 1) + L]) share += mass[i];
  } else {
    move(shares, L, end, steps.leave, L + 1, mass, moved);
    for (std::int64_t j = 0; j < L; ++j) share += moved[j];
  }
  return std::min(share, 1.0);
}

SpanRules::SpanRules(std::vector<std::uint8_t> flags, std::vector<std::int32_t> kind)
    : flags_(std::move(flags)), kind_(std::move(kind)) {
  const std::int64_t L = labels();
  check_length("flags", flags_.size(), (L + 1) * (L + 1));
  std::int32_t kinds = 0;
  for (const std::int32_t one : kind_) {
    if (one < 0 || one > L) refuse("kind " + text(one) + " is not one of " + text(L) + " labels");
    kinds = std::max(kinds, one + 1);
  }
  among_.assign(static_cast<std::size_t>(kinds), std::vector<std::uint8_t>(kind_.size(), 0));
  for (std::int64_t y = 0; y < L; ++y) among_[kind_[y]][y] = 1;
  for (std::int64_t i = 0; i <= L; ++i)
    for (std::int64_t j = 0; j <= L; ++j) {
      const std::uint8_t flag = flags_[i * (L + 1) + j];
      if (j < L) enter_.push_back((flag & starts) != 0);
      if (i < L && j < L) stay_.push_back((flag & cuts) == 0);
      if (i < L) leave_.push_back((flag & cuts) != 0);
    }
  steps_ = {L, enter_.data(), stay_.data(), leave_.data()};
}

void SpanRules::find(const std::int32_t* label, std::int64_t length,
                     std::vector<FoundSpan>& out) const {
  out.clear();
  const std::int64_t L = labels();
  std::int64_t open = -1;
  for (std::int64_t t = 0; t <= length; ++t) {
    const std::int64_t before = t > 0 ? label[t - 1] : L, here = t < length ? label[t] : L;
    const std::uint8_t flag = flags_[before * (L + 1) + here];
    if (flag & cuts) {
      if (open >= 0 && (flag & ends)) out.push_back({open, t, kind_[label[open]]});
      open = -1;
    }
    if ((flag & starts) && open < 0 && t < length) open = t;
  }
}

}  // namespace crfkit
