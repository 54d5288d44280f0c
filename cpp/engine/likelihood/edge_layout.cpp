#include "engine/likelihood/edge_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shared/padded.hpp"

namespace crfkit {

EdgeLayout::EdgeLayout(const std::vector<Round>& rounds) {
  for (const Round& round : rounds) turns_.push_back({round.block, {}, {}});
  partial_.resize(rounds.empty() ? 0 : rounds.back().block.last);
}

EdgeLayout::EdgeLayout(const Occurrences& o, const Rows& rows, int labels, std::int64_t sequences,
                       const std::int64_t* seq_ptr, const std::vector<std::int32_t>& source,
                       const std::vector<Block>& block, const std::vector<Round>& rounds)
    : rows_(rows), partial_(block.size() - 1) {
  list(o, sequences, seq_ptr, source);
  const int step = padded(labels);
  cell_.reserve(weights());
  for (std::int64_t k = 0; k < weights(); ++k) {
    const int from = rows.column[k] / labels, to = rows.column[k] % labels;
    cell_.push_back(
        {from * step + to, static_cast<std::int16_t>(from), static_cast<std::int16_t>(to)});
  }
  attribute_.assign(lists_.id.size() + 2 * kAhead, 0);
  std::copy(lists_.id.begin(), lists_.id.end(), attribute_.begin() + kAhead);
  place(block, rounds);
  for (std::int64_t a = 0; a < rows.attributes;) {
    const std::int64_t first = a;
    while (a < rows.attributes && rows.ptr[a] - rows.ptr[first] < kTask) ++a;
    attributes_.push_back({first, a});
  }
}

std::vector<EdgeRow> EdgeLayout::rows() const {
  std::vector<EdgeRow> rows(rows_.attributes);
  for (std::int64_t a = 0; a < rows_.attributes; ++a)
    rows[a] = {rows_.ptr[a], rows_.ptr[a + 1] - rows_.ptr[a], 0.0, 0.0};
  return rows;
}

EdgeRows EdgeLayout::view() const {
  EdgeRows e = {};
  if (!any()) return e;
  e.ptr = lists_.ptr.data();
  e.attribute = attribute_.data() + kAhead;
  e.value = has_values() ? lists_.value.data() : nullptr;
  e.target = target_.data();
  e.cell = cell_.data();
  return e;
}

void EdgeLayout::add(const Turn& turn, const Stretch& task, const double* partial,
                     double* gradient) const {
  for (std::int64_t i = task.first; i < task.last; ++i) {
    const std::int64_t first = rows_.ptr[turn.sums[i].attribute];
    const std::int64_t count = rows_.ptr[turn.sums[i].attribute + 1] - first;
    const double* from = partial + turn.sums[i].partial;
    for (std::int64_t k = 0; k < count; ++k) gradient[first + k] += from[k];
  }
}

void EdgeLayout::list(const Occurrences& o, std::int64_t sequences, const std::int64_t* seq_ptr,
                      const std::vector<std::int32_t>& source) {
  std::vector<bool> begins(source.size() + 1, false);
  for (std::int64_t n = 0; n < sequences; ++n) begins[seq_ptr[n]] = true;
  for (const std::int32_t p : source) {
    for (std::int64_t i = o.ptr[p]; i < o.ptr[p + 1] && !begins[p]; ++i) {
      const std::int32_t a = o.attr[i];
      if (static_cast<std::uint32_t>(a) < static_cast<std::uint64_t>(rows_.attributes) &&
          rows_.ptr[a] < rows_.ptr[a + 1])
        lists_.add(a, o.value ? o.value + i : nullptr);
    }
    lists_.close();
  }
}

void EdgeLayout::place(const std::vector<Block>& block, const std::vector<Round>& rounds) {
  const std::int64_t blocks = static_cast<std::int64_t>(block.size()) - 1;
  const auto first = [&](std::int64_t b) { return lists_.ptr[block[b].position]; };
  constexpr std::int64_t kNowhere = -1, kEverywhere = -2;
  std::vector<std::int64_t> home(rows_.attributes, kNowhere);
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::int64_t i = first(b); i < first(b + 1); ++i) {
      std::int64_t& at = home[lists_.id[i]];
      at = at == kNowhere || at == b ? b : kEverywhere;
    }
  std::vector<std::int64_t> offset(rows_.attributes, 0), met(rows_.attributes, kNowhere);
  target_.assign(lists_.id.size(), -1);
  std::int64_t used = 0;
  turns_.push_back({{0, 0}, {}, {}});
  auto round = rounds.begin();
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::vector<Sum> sums;
    std::int64_t size = 0;
    for (std::int64_t i = first(b); i < first(b + 1); ++i) {
      const std::int32_t a = lists_.id[i];
      if (home[a] != kEverywhere) continue;
      if (met[a] != b) {
        met[a] = b, offset[a] = size;
        sums.push_back({a, size});
        size += rows_.ptr[a + 1] - rows_.ptr[a];
      }
      target_[i] = offset[a];
    }
    const bool begins = b == round->block.last;
    round += begins;
    if (begins || (used > 0 && used + size > kPartials)) {
      turns_.push_back({{b, b}, {}, {}});
      used = 0;
    }
    for (std::int64_t i = first(b); i < first(b + 1); ++i)
      if (target_[i] >= 0) target_[i] += used;
    for (const Sum& sum : sums) turns_.back().sums.push_back({sum.attribute, sum.partial + used});
    turns_.back().blocks.last = b + 1;
    partial_[b] = {used, used + size};
    used += size;
    partial_size_ = std::max(partial_size_, used);
  }
  for (Turn& turn : turns_) cut_sums(turn);
}

void EdgeLayout::cut_sums(Turn& turn) const {
  std::vector<Sum>& sums = turn.sums;
  std::stable_sort(sums.begin(), sums.end(),
                   [](const Sum& x, const Sum& y) { return x.attribute < y.attribute; });
  const std::int64_t count = static_cast<std::int64_t>(sums.size());
  std::int64_t work = 0, begin = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t a = sums[i].attribute;
    work += rows_.ptr[a + 1] - rows_.ptr[a];
    if (i + 1 < count && (work < kTask || sums[i + 1].attribute == a)) continue;
    turn.tasks.push_back({begin, i + 1});
    begin = i + 1, work = 0;
  }
}

}  // namespace crfkit
