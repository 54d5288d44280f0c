// How much memory this process can have.
#pragma once

#include <cstddef>

namespace crfkit {

// What `check_memory` allows from now on, and what it allows now.
void set_most_memory(std::size_t bytes);
std::size_t most_memory();

}  // namespace crfkit
