// Placeholder of bind_sampling.
#include "python/graph.hpp"

namespace crfkit {

void bind_sampling(nb::module_&) {}

}  // namespace crfkit
