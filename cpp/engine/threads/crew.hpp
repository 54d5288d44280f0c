// Threads that go through the same steps together, with a barrier after each: for steps that are
// too short to start threads for.
#pragma once

#include <barrier>
#include <latch>

#include "engine/threads/team.hpp"

namespace crfkit {

class Crew {
 public:
  Crew(Team& team, int members) : team_(team), members_(members), barrier_(members) {}
  int members() const { return members_; }

  // Before anybody waits: there are fewer.
  void shrink(int members) {
    for (; members_ > members; --members_) leave();
  }

  // Waits for the others; throws where one of them has failed.
  void wait() {
    barrier_.arrive_and_wait();
    if (team_.failed()) throw Interrupted();
  }
  void leave() { barrier_.arrive_and_drop(); }

 private:
  Team& team_;
  int members_;
  std::barrier<> barrier_;
};

// Calls work(member, crew) on up to `threads` threads.  Every member must wait as often as the
// others, unless it throws, which ends the work of all.
template <class Work>
void in_step(int threads, Work work) {
  std::latch gate(1);
  Team team;
  Crew crew(team, threads);
  const auto take_part = [&](int member) {
    try {
      work(member, crew);
    } catch (...) {
      team.fail();
      crew.leave();
    }
  };
  const int others = team.start(threads - 1, [&](int member) {
    gate.wait();
    take_part(member);
  });
  crew.shrink(others + 1);
  gate.count_down();
  team.attempt([&] { take_part(0); });
  team.finish();
}

}  // namespace crfkit
