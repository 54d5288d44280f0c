// Where a gradient goes: tensors of torch, filled from the gradients of chunks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/tensors/chunk.hpp"
#include "shared/padded.hpp"

namespace crfkit {

// Contiguous, shaped as what they are gradients of.  Rows that are in no chain become 0; those of a
// packed tensor that no sequence has must be 0 before.
struct GradientTensors {
  RowTensor node, start, stop;
  std::vector<RowTensor> edge;  // one by position, or a table for each order

  // Zeros for all rows of a sequence.
  void clear(const TensorChains& c, std::int64_t b) const {
    clear_rows(c, b, 0);
    if (c.edge) clear_edges(c, b);
  }

  // The gradients of sequence number i of a chunk; `again`: added to those that were given before.
  void give(const TensorChains& c, const Chunk& chunk, std::int64_t i, bool again) const {
    const std::int64_t b = chunk.sequence(i), L = c.labels, begin = chunk.begin(i);
    const bool add = again || c.index;  // an index could name a row twice
    if (!again) {
      clear_rows(c, b, c.index ? 0 : chunk.length(i));
      if (c.edge) clear_edges(c, b);
    }
    for (std::int64_t n = 0; n < chunk.length(i); ++n) {
      node.at(b, c.row(b, n), [&](auto* to) { put(chunk.node_gradient(begin + n), L, add, to); });
      if (c.edge && n > 0)
        edge[0].at(b, c.edge_row(b, n),
                   [&](auto* to) { put(chunk.edge_gradient(begin + n), L * L, true, to); });
    }
  }

  // The pooled gradients of start, stop and tables, without padding.
  void give_pooled(const TensorChains& c, const std::vector<double>& pooled) const {
    const std::int64_t L = c.labels, step = padded(L);
    std::int64_t at = 0;
    const auto give = [&](const RowTensor& tensor, std::int64_t rows) {
      tensor.at(0, 0, [&](auto* to) {
        for (std::int64_t i = 0; i < rows; ++i, at += step)
          put(pooled.data() + at, L, false, to + i * L);
      });
    };
    give(start, 1);
    give(stop, 1);
    std::int64_t rows = 1;
    for (int h = 0; !c.edge && h < c.order; ++h) give(edge[h], rows *= L);
  }

 private:
  template <class Number>
  static void put(const double* from, std::int64_t n, bool add, Number* to) {
    if (add) {
      for (std::int64_t j = 0; j < n; ++j) to[j] += static_cast<Number>(from[j]);
    } else {
      for (std::int64_t j = 0; j < n; ++j) to[j] = static_cast<Number>(from[j]);
    }
  }
  // From position `n` on, in the order of the tensor.
  void clear_rows(const TensorChains& c, std::int64_t b, std::int64_t n) const {
    const std::int64_t rows = (c.first ? c.length[b] : c.places) - n;
    if (rows > 0)
      node.at(b, (c.first ? c.first[b] : 0) + n,
              [&](auto* to) { std::fill_n(to, rows * c.labels, 0); });
  }
  void clear_edges(const TensorChains& c, std::int64_t b) const {
    const std::int64_t rows = c.first ? c.length[b] : c.places - c.between;
    if (rows > 0)
      edge[0].at(b, c.first ? c.first[b] : 0,
                 [&](auto* to) { std::fill_n(to, rows * c.labels * c.labels, 0); });
  }
};

}  // namespace crfkit
