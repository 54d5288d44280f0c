// Rows of weights by attribute, as plain structs that the binding and the kernels share.
//
// Attribute a has the weights ptr[a] .. ptr[a + 1), which belong to rising columns of a row of
// `width` scores: labels for node weights, from * L + to for edge weights.
#pragma once

#include <cstdint>

namespace crfkit {

// How a row is read when scores are made:
//   full    every column has a weight: straight from the weights, no copy;
//   wide    some columns: from a table of rows padded with zeros, filled once per evaluation;
//   narrow  a few columns: one by one.
// On CoNLL-2000 with observed pairs 84 % of the attributes have one weight; the table of the others
// is 11 MB, a table of all attributes would be 65 MB and take 9 ms to fill instead of 1.5.
struct Rows {
  std::int64_t attributes;     // A
  int width;                   // columns
  const std::int64_t* ptr;     // [A + 1]
  const std::int32_t* column;  // [ptr[A]]
  const std::int64_t* place;   // [A] (see Place), or null when every row is full
  const double* weight;        // [ptr[A]]
  std::int64_t readable;       // doubles from `weight` on that may be read
  const double* table;         // [wide rows, width padded to 8]
};

// Where a row is: 2 * offset into the weights, 2 * offset into the table + 1, or, negative, first
// weight and number of a narrow row.
struct Place {
  static constexpr int kCountBits = 24;

  static std::int64_t full(std::int64_t first) { return 2 * first; }
  static std::int64_t wide(std::int64_t offset) { return 2 * offset + 1; }
  static std::int64_t narrow(std::int64_t first, std::int64_t count) {
    return ~(first << kCountBits | count);
  }
};

// Attributes of positions: attr[ptr[p] .. ptr[p + 1]); ids outside [0, A) are unknown and ignored.
struct Occurrences {
  const std::int64_t* ptr;   // [P + 1]
  const std::int32_t* attr;  // [nnz]
  const double* value;       // [nnz], or null when all are 1
};

inline constexpr int kAhead = 24;  // occurrences between a prefetch and its use

// Positions of attributes: position[ptr[a] .. ptr[a + 1]), rising; kAhead entries more may be read.
struct Transposed {
  const std::int64_t* ptr;       // [A + 1]
  const std::int32_t* position;  // [nnz + kAhead]
  const double* value;           // [nnz], or null when all are 1
  std::int64_t frequent;         // occurrences from which on an attribute is frequent
};

// Occurrences of one frequent attribute within one block of positions.
struct Run {
  std::int64_t first;
  std::int32_t count, slot;  // slot: place of the attribute among the frequent ones
};

// The runs of some blocks of positions, one block after the other, with their occurrences.
struct Runs {
  const Run* run;
  const std::int64_t* ptr;      // runs of each block
  const std::uint16_t* offset;  // of positions within their block; kAhead entries more may be read
  const double* value;          // or null when all are 1
  std::int64_t first_block, last_block;
  std::int64_t block_positions;
};

}  // namespace crfkit
