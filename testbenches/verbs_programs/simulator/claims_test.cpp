// Requests wait for each other only if one destroys or rebuilds an object of the other.
#include "testbenches/verbs_programs/simulator/claims.h"

#include <gtest/gtest.h>

namespace hcasim::applications {
namespace {

template <class A, class B>
bool conflict(const A& a, const B& b) {
  const bool so = all_claims_of(a).conflict(all_claims_of(b));
  EXPECT_EQ(all_claims_of(b).conflict(all_claims_of(a)), so);
  return so;
}

channel::reg_mr registration(channel::handle pd) {
  channel::reg_mr r{};
  r.pd = pd;
  return r;
}

channel::rereg_mr reregistration(channel::handle mr, channel::handle pd) {
  channel::rereg_mr r{};
  r.mr = mr;
  r.pd = pd;
  return r;
}

channel::modify_qp modification(channel::handle qp) {
  channel::modify_qp r{};
  r.qp = qp;
  return r;
}

channel::bind_mw binding(channel::handle qp, channel::handle mw, channel::handle mr) {
  channel::bind_mw r{};
  r.qp = qp;
  r.mw = mw;
  r.bind.mr = mr;
  return r;
}

channel::create_qp creation(channel::handle pd, channel::handle cq) {
  channel::create_qp r{};
  r.pd = pd;
  r.send_cq = r.recv_cq = cq;
  return r;
}

TEST(claims, a_destroyer_conflicts_with_users_of_its_object_alone) {
  EXPECT_TRUE(conflict(channel::destroy_qp{5}, channel::post_send{5, 1}));
  EXPECT_TRUE(conflict(channel::destroy_qp{5}, channel::destroy_qp{5}));
  EXPECT_FALSE(conflict(channel::destroy_qp{5}, channel::post_send{6, 1}));
  EXPECT_FALSE(conflict(reregistration(1, 2), registration(2)));
  EXPECT_TRUE(conflict(channel::dealloc_pd{2}, registration(2)));
  EXPECT_TRUE(conflict(channel::resize_cq{3, 8}, channel::poll_cq{3, 1}));
  EXPECT_FALSE(conflict(channel::resize_cq{3, 8}, channel::poll_cq{4, 1}));
  EXPECT_FALSE(conflict(channel::post_send{5, 1}, modification(5)));
}

TEST(claims, objects_that_the_driver_finds_itself) {
  EXPECT_TRUE(conflict(channel::dereg_mr{1}, channel::advise_mr{9, 0, 0, 0}));
  EXPECT_TRUE(conflict(channel::dereg_mr{1}, channel::lose_memory{0, 4096}));
  EXPECT_TRUE(conflict(channel::dealloc_pd{2}, channel::dereg_mr{1})) << "it may be a null region of the PD";
  EXPECT_TRUE(conflict(channel::destroy_srq{1}, channel::take_async_event{9}));
  EXPECT_TRUE(conflict(channel::resize_cq{3, 8}, modification(5))) << "the CQ may be the QP's";
}

TEST(claims, closing_a_context_conflicts_with_everything) {
  EXPECT_TRUE(conflict(channel::close_device{1}, channel::poll_cq{4, 1}));
  EXPECT_TRUE(conflict(channel::close_device{1}, channel::query_clock{2}));
  EXPECT_TRUE(conflict(channel::close_device{1}, channel::close_device{2}));
}

TEST(claims, no_object_is_no_claim) {
  EXPECT_FALSE(conflict(channel::dereg_mr{channel::no_object}, binding(1, 2, 3)));
  EXPECT_FALSE(conflict(channel::destroy_srq{0}, creation(1, 2)));
}

}  // namespace
}  // namespace hcasim::applications
