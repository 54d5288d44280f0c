// Threads that go through the same steps together, with a barrier after each: for steps that are
// too short to start threads for.
#pragma once

#include <barrier>
#include <latch>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace crfkit {

class Crew {
 public:
  explicit Crew(int members) : members_(members), barrier_(members) {}
  int members() const { return members_; }
  void wait() { barrier_.arrive_and_wait(); }

 private:
  int members_;
  std::barrier<> barrier_;
};

// Calls work(member, crew) on up to `threads` threads.  Every member must wait as often as the
// others; work must not throw.
template <class Work>
void in_step(int threads, Work work) {
  std::latch gate(1);
  std::optional<Crew> crew;
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    for (int t = 1; t < threads; ++t)
      others.emplace_back([&, t] {
        gate.wait();
        work(t, *crew);
      });
  } catch (const std::system_error&) {
    // No more threads to be had: the crew is smaller.
  }
  crew.emplace(static_cast<int>(others.size()) + 1);
  gate.count_down();
  work(0, *crew);
  for (std::thread& other : others) other.join();
}

}  // namespace crfkit
