// Placeholder of bind_elimination.
#include "python/graph.hpp"

namespace crfkit {

void bind_elimination(nb::module_&) {}

}  // namespace crfkit
