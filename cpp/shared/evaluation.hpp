// One evaluation of the likelihood: what the binding hands to the kernels, as plain structs.
//
// Sequences that share a sweep form a group, its lanes in order of falling length, all ending in
// the same row.  Positions are counted in the order of the sweep: group by group, row by row, lane
// by lane, so that a row of a sweep is contiguous.  Rows of scores and gradients have `step`
// doubles, the labels padded to whole cache lines.
#pragma once

#include "shared/problem.hpp"
#include "shared/rows.hpp"

namespace crfkit {

struct Group {
  std::int64_t first_position, first_lane;
  std::int32_t lanes, rows;  // rows: positions of the longest lane
};

// The occurrences that are left at positions; lists have kAhead entries more that may be read.
struct Residual {
  const std::int64_t* row_ptr;     // [P + 1]
  const std::int32_t* row;         // rows of the table
  const double* row_value;         // or null when all are 1
  const std::int64_t* full_ptr;    // [P + 1], or null when there are none
  const std::int64_t* full;        // first weights of rows that have all of them
  const double* full_value;        // or null
  const std::int64_t* single_ptr;  // [P + 1]
  const std::int32_t* single;      // weights
  const std::int32_t* column;      // their labels
  const double* single_value;      // or null
};

// Rows of the table: the weights of one attribute plus the rows that it contains.
struct Composed {
  const std::int32_t* attribute;   // [slots]
  const std::int64_t* member_ptr;  // [slots + 1]
  const std::int32_t* member;
  const std::int64_t* container_ptr;  // [slots + 1]
  const std::int32_t* container;
};

// What the model is compared with; at most one is not null.  Positions of soft and allowed are
// those of the batch, `source` maps those of the sweep to them.
struct Gold {
  const std::int32_t* label;    // [P], in the order of the sweep; -1 where the gold has no label
  const double* soft;           // [P, L]
  const std::uint8_t* allowed;  // [P, L]
  const std::int32_t* source;   // [P]
};

// First group, position, partial sum and local loose attribute of a block.
struct Block {
  std::int64_t group, position, partial, loose;
};

// Attributes without a row in the table, and where they occur.
struct Loose {
  const std::int32_t* attribute;
  Transposed gradients;
  bool add;  // to the gradient, instead of writing it
};

// The row of a segment, counted from the first row of its group.
struct SegmentRow {
  std::int32_t length, row;
};

// The rows of segments.  The rows of a group are those of its positions, then one for each
// position as the beginning of segments, then one as their end, then those of single segments: only
// those that have attributes.
struct SegmentRows {
  int longest;               // D; 0: a chain, and all the rest is null
  bool begins, ends;         // whether positions have rows as beginnings, and as ends
  const double* length;      // [D, L] scores; -inf where a label has no segments of that length
  bool counted;              // whether the gradients of lengths are wanted
  const std::int64_t* node;  // [groups] positions before each group
  const std::int64_t *begin_ptr, *end_ptr;  // [positions + 1]
  const SegmentRow *by_begin, *by_end;      // of each position, by rising length
};

// The step of an edge weight, and its place in a table with rows of `step`.
struct EdgeCell {
  std::int32_t at;
  std::int16_t from, to;
};

// The weights of an edge attribute and their bounds: one look-up for each occurrence.
struct EdgeRow {
  std::int64_t first, count;
  double low, high;  // least and largest weight, 0 included
};

// Edge attributes of positions, in the order of the sweep; none at first positions.
struct EdgeRows {
  const std::int64_t* ptr;        // [P + 1], or null when there are none
  const std::int32_t* attribute;  // occurrences; kAhead entries more may be read on both sides
  const double* value;            // or null when all are 1
  const std::int64_t* target;     // where their gradients go: a partial sum, or -1 for the gradient
  EdgeRow* row;                   // [edge attributes]
  const EdgeCell* cell;           // [edge weights]
  const double* weight;           // [edge weights]
  double* factor;                 // [edge weights] exp(weight); null when there are values
  double* partial;                // sums of the blocks of a turn (edge_layout.hpp)
  double* gradient;               // [edge weights] added to
};

struct Evaluation {
  Problem problem;      // shape, labels, edge
  const double* start;  // [L] or null
  const double* stop;   // [L] or null
  const Block* block;   // [blocks + 1]
  const Group* group;
  const std::int32_t* length;  // [lanes in all]
  const double* weight;        // [lanes in all]
  Rows rows;                   // weights
  const double* table;         // [slots, step]
  Residual residual;
  Gold gold;
  Transposed partials;  // positions of each partial sum
  Loose loose;
  EdgeRows edges;
  SegmentRows segments;
  std::int64_t first;        // the position of the first row of node
  std::int64_t partial_row;  // the row of node of partial sum 0, were it of this round
  double* node;   // [positions + partial sums of a round, step]: scores, probabilities, gradients
  double* value;  // [lanes in all] weight * (log Z - node scores of the gold)
  double* gradient;  // [weights]
};

// Sums of gradients for the rows of the table.
struct Gathering {
  Composed composed;
  Transposed gradients;  // rows of positions and partial sums of slots
  const double* sums;    // [slots, step] of earlier rounds, or null
};

}  // namespace crfkit
