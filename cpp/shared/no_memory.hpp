// What is said where memory is not to be had.
#pragma once

#include <cstddef>

namespace crfkit {

// Throws a std::bad_alloc that tells how many bytes were wanted for what.  Not inline: kernels of
// several instruction sets call it.
[[noreturn]] void no_memory(const char* what, std::size_t bytes);

// Throws one where the process could never have so many bytes.  Systems promise more memory than
// there is, and end the process that uses it.
void check_memory(const char* what, std::size_t bytes);

// What `check_memory` allows from now on, and what it allows now.
void set_most_memory(std::size_t bytes);
std::size_t most_memory();

// The most bytes that may be asked for; sizes beyond it have overflowed, or would.
inline constexpr std::size_t kMostBytes = ~std::size_t{0} >> 1;

}  // namespace crfkit
