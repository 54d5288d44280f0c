// Maximum flow and minimum cut by incremental breadth-first search: Goldberg, Hed, Kaplan, Tarjan
// & Werneck (2011).
//
// As in Boykov & Kolmogorov (2004) a tree grows from the source, another towards the sink, and both
// are mended after each augmentation.  Here they stay breadth-first trees: a node's label is its
// distance, which never falls, so that the number of augmentations is bounded whatever the
// capacities are.  Residuals are compared with 0: there is no tolerance.  Capacities may be
// infinite, as long as no path from source to sink is (`solve_binary.hpp` sees to that).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "engine/checks.hpp"
#include "shared/interrupts.hpp"

namespace crfkit {

struct FlowEdge {
  std::int32_t from, to;
  double capacity, reverse;  // not below 0
};

class MaxFlow {
 public:
  struct Arc {
    std::int32_t head, sister;
    double out, in;  // residual of this arc, and of its sister
  };
  struct Node {
    double excess;        // above 0: left from the source; below 0: left to the sink
    std::int32_t first;   // arc
    std::int32_t parent;  // arc to the parent in the tree, or `root`
    std::int32_t
        distance;  // above 0: from the source; below 0: to the sink, negated; 0: in no tree
  };

  // The trees that are grown to the end.  There is no path left as soon as one of them is.
  enum Trees { either, sink, both };

  // A network of `nodes` and `edges` edges; edge(i) gives them.  What was in it is forgotten.
  template <class Edge>
  void build(std::int64_t nodes, std::int64_t edges, const Edge& edge) {
    if (nodes >= most || edges >= most / 2) refuse("a cut of 2^30 edges or more is not supported");
    node_.assign(nodes + 1, Node{0.0, 0, root, 0});
    if (2 * edges > room_) {
      arc_ = std::make_unique_for_overwrite<Arc[]>(2 * edges);
      room_ = 2 * edges;
    }
    for (std::int64_t i = 0; i < edges; ++i) {
      const FlowEdge e = edge(i);
      ++node_[e.from].first;
      ++node_[e.to].first;
    }
    std::int32_t end = 0;
    for (Node& n : node_) n.first = end += n.first;
    for (std::int64_t i = edges; i-- > 0;) {
      const FlowEdge e = edge(i);
      const std::int32_t a = --node_[e.from].first, b = --node_[e.to].first;
      arc_[a] = {e.to, b, e.capacity, e.reverse};
      arc_[b] = {e.from, a, e.reverse, e.capacity};
    }
  }

  std::int64_t nodes() const { return static_cast<std::int64_t>(node_.size()) - 1; }
  double& excess(std::int64_t v) { return node_[v].excess; }
  const Arc* begin(std::int64_t v) const { return arc_.get() + node_[v].first; }
  const Arc* end(std::int64_t v) const { return arc_.get() + node_[v + 1].first; }

  // Sends as much as can be sent; sent(v, flow) is told what passes through the root v of each
  // path.
  template <class Sent>
  void run(Trees enough, const Sent& sent) {
    std::int64_t roots = 0;
    for (const Node& n : node_) roots += n.excess != 0.0;
    // Where there are roots everywhere, most paths are short, and most of the flow is found between
    // nodes that lie near each other in memory.
    if (nodes() > block && 4 * roots > nodes())
      for (std::int64_t low = 0; low < nodes(); low += block) {
        const std::int64_t high = std::min(low + block, nodes());
        pass_on(low, high, sent);
        run_part(low, high, either, sent);
        for (std::int64_t v = low; v < high; ++v) node_[v].distance = 0;
      }
    else
      pass_on(0, nodes(), sent);
    run_part(0, nodes(), enough, sent);
  }

  // After `run`: 0 if the source reaches the node, 1 if it reaches the sink, -1 if neither: it may
  // be on either side.
  int side(std::int64_t v) const {
    const std::int32_t d = node_[v].distance;
    return d > 0 ? 0 : d < 0 ? 1 : -1;
  }

 private:
  static constexpr std::int32_t root = -1;
  static constexpr std::int64_t block = 16384;  // nodes which, with their arcs, stay in the cache
  static constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

  struct Tree {
    std::vector<std::int32_t> active;  // nodes of the greatest distance, not yet scanned
    std::int32_t height = 1;           // the greatest distance
  };

  // The flow between some nodes, in no tree yet, while the others stay as they are.
  template <class Sent>
  void run_part(std::int64_t low, std::int64_t high, Trees enough, const Sent& sent) {
    low_ = static_cast<std::int32_t>(low);
    high_ = static_cast<std::int32_t>(high);
    for (Tree& t : tree_) {
      t.active.clear();
      t.height = 1;
    }
    for (std::int64_t v = low; v < high; ++v) {
      Node& n = node_[v];
      n.parent = root;
      n.distance = n.excess > 0.0 ? 1 : n.excess < 0.0 ? -1 : 0;
      if (n.distance != 0) tree_[n.distance > 0].active.push_back(static_cast<std::int32_t>(v));
    }
    // Trees grow until they cannot: then each has all nodes that it could have.  To grow the one
    // with more nodes to scan took less time than the other one, or each in turn; but where few
    // nodes lead to the sink, as in most expansions, its tree alone is a small part of the network.
    const bool few = 4 * tree_[0].active.size() < tree_[1].active.size();
    for (;;) {
      const std::size_t from = tree_[1].active.size(), to = tree_[0].active.size();
      if (enough == sink ? to == 0 : enough == either ? from == 0 || to == 0 : from + to == 0)
        return;
      if (to == 0 || (from != 0 && !few && from >= to))
        grow<true>(sent);
      else
        grow<false>(sent);
    }
  }

  template <bool source>
  std::int32_t label(std::int32_t v) const {
    return source ? node_[v].distance : -node_[v].distance;
  }
  template <bool source>
  static double ahead(const Arc& a) {  // residual away from the root
    return source ? a.out : a.in;
  }
  template <bool source>
  static double back(const Arc& a) {  // residual from the root's side
    return source ? a.in : a.out;
  }
  template <bool source>
  void place(std::int32_t v, std::int32_t parent, std::int32_t distance) {
    Node& n = node_[v];
    n.parent = parent;
    n.distance = source ? distance : -distance;
    if (distance == tree_[source].height) tree_[source].active.push_back(v);
  }

  // Sends what nodes can hand to their neighbors, before there are trees to mend.
  template <class Sent>
  void pass_on(std::int64_t low, std::int64_t high, const Sent& sent) {
    for (std::int64_t at = low; at < high; ++at) {
      const std::int32_t v = static_cast<std::int32_t>(at);
      Node& n = node_[v];
      for (std::int32_t a = n.first; a < node_[v + 1].first && n.excess > 0.0; ++a) {
        Node& head = node_[arc_[a].head];
        if (!(head.excess < 0.0) || arc_[a].out == 0.0) continue;
        const double flow = std::min(arc_[a].out, std::min(n.excess, -head.excess));
        push(a, flow);
        n.excess -= flow;
        head.excess += flow;
        sent(v, flow);
      }
    }
  }

  // Scans the nodes of the greatest distance.
  template <bool source, class Sent>
  void grow(const Sent& sent) {
    Tree& t = tree_[source];
    scanned_.swap(t.active);
    t.active.clear();
    const std::int32_t level = t.height++;
    worked(static_cast<std::int64_t>(scanned_.size()) * 16);
    for (const std::int32_t v : scanned_) {
      const std::int32_t last = node_[v + 1].first;
      for (std::int32_t a = node_[v].first; a < last && label<source>(v) == level;) {
        const Arc& arc = arc_[a];
        const std::int32_t d = node_[arc.head].distance;
        if (!(ahead<source>(arc) > 0.0) || (d != 0 && (d > 0) == source)) {
          ++a;
        } else if (d == 0) {
          if (arc.head >= low_ && arc.head < high_) place<source>(arc.head, arc.sister, t.height);
          ++a;
        } else {  // the trees meet; the arc may carry another path afterwards
          augment(source ? a : arc.sister, sent);
          adopt();
        }
      }
    }
  }

  // Sends flow through arc a, from a node of the source's tree to one of the sink's.
  template <class Sent>
  void augment(std::int32_t a, const Sent& sent) {
    worked(64);
    double flow = arc_[a].out;
    std::int32_t from = arc_[arc_[a].sister].head, to = arc_[a].head, p;
    for (; (p = node_[from].parent) != root; from = arc_[p].head) flow = std::min(flow, arc_[p].in);
    for (; (p = node_[to].parent) != root; to = arc_[p].head) flow = std::min(flow, arc_[p].out);
    flow = std::min(flow, std::min(node_[from].excess, -node_[to].excess));
    sent(from, flow);
    push(a, flow);
    for (std::int32_t v = arc_[arc_[a].sister].head; v != from; v = arc_[node_[v].parent].head) {
      const std::int32_t parent = node_[v].parent;
      push(arc_[parent].sister, flow);
      if (arc_[parent].in == 0.0) orphans_.push_back(v);
    }
    for (std::int32_t v = arc_[a].head; v != to; v = arc_[node_[v].parent].head) {
      const std::int32_t parent = node_[v].parent;
      push(parent, flow);
      if (arc_[parent].out == 0.0) orphans_.push_back(v);
    }
    node_[from].excess -= flow;
    node_[to].excess += flow;
    if (node_[from].excess == 0.0) orphans_.push_back(from);
    if (node_[to].excess == 0.0) orphans_.push_back(to);
    std::reverse(orphans_.begin(), orphans_.end());  // those near the roots first
  }

  void push(std::int32_t a, double flow) {
    Arc& there = arc_[a];
    Arc& back = arc_[there.sister];
    there.out -= flow;
    there.in += flow;
    back.in = there.out;
    back.out = there.in;
  }

  void adopt() {
    for (std::size_t i = 0; i < orphans_.size(); ++i) {
      const std::int32_t v = orphans_[i];
      if (node_[v].distance > 0)
        adopt<true>(v);
      else if (node_[v].distance < 0)
        adopt<false>(v);
    }
    orphans_.clear();
  }

  // Finds a parent for a node: one step nearer to the root, or else the nearest; or frees the node.
  // Nothing happens to a node that has a parent.
  template <bool source>
  void adopt(std::int32_t v) {
    Node& n = node_[v];
    const std::int32_t d = label<source>(v), last = node_[v + 1].first;
    if (n.parent == root && (source ? n.excess > 0.0 : n.excess < 0.0)) return;
    const std::size_t others = orphans_.size();
    std::int32_t best = tree_[source].height, parent = root;
    for (std::int32_t a = n.first; a < last; ++a) {
      const Arc& arc = arc_[a];
      const Node& head = node_[arc.head];
      const std::int32_t other = source ? head.distance : -head.distance;
      if (other <= 0) continue;
      if (other < best && back<source>(arc) > 0.0) {
        best = other;
        parent = a;
        if (best == d - 1) {  // its children can stay
          n.parent = a;
          orphans_.resize(others);
          return;
        }
      }
      if (head.parent == arc.sister) orphans_.push_back(arc.head);
    }
    if (parent != root)
      place<source>(v, parent, best + 1);
    else
      n.distance = 0;
  }

  std::vector<Node> node_;      // [nodes + 1]
  std::unique_ptr<Arc[]> arc_;  // by the node that they leave
  std::int64_t room_ = 0;       // arcs that there is memory for
  Tree tree_[2];                // of the sink, of the source
  std::vector<std::int32_t> scanned_, orphans_;
  std::int32_t low_ = 0, high_ = 0;  // the nodes that may join a tree
};

}  // namespace crfkit
