// Faults made mechanically: which there are; a source without an active fault behaves as before.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "testbenches/coverification/mutation/listed.h"
#include "testbenches/coverification/mutation/mutant.h"

namespace hcasim::mutation {
namespace {

std::vector<std::string> changes(const std::string& source) {
  std::vector<std::string> all;
  for (const mutant& m : mutate("x.sv", source).mutants) all.push_back(m.kind + ": " + m.right + " -> " + m.wrong);
  std::sort(all.begin(), all.end());
  return all;
}
using list = std::vector<std::string>;

TEST(mutation, operators_and_their_operands) {
  EXPECT_EQ(changes("module m; assign x = a && b < c; endmodule"),
            (list{"operand: a && b < c -> (a) && 1'b1", "operand: a && b < c -> (b < c) && 1'b1",
                  "operator: a && b < c -> a || b < c", "operator: b < c -> b <= c"}));
  EXPECT_EQ(changes("module m; assign x = a - b - c; endmodule"),
            (list{"operator: a - b - c -> a - b + c", "operator: a - b -> a + b"}))
      << "from the left";
  EXPECT_EQ(changes("module m; assign x = !a ? ~b : c; endmodule"),
            (list{"condition: !a -> 1'b0", "condition: !a -> 1'b1", "negation: !a -> !(!a)", "negation: ~b -> (b)"}));
}

TEST(mutation, constants) {
  EXPECT_EQ(changes("module m; assign x = 8'hff; assign y = 1'b1; assign z = '0; endmodule"),
            (list{"constant: '0 -> '1", "constant: 1'b1 -> 1'd0", "constant: 8'hff -> 8'd0"}));
  EXPECT_EQ(changes("module m; assign x = a[7:0] + b[3] + {4{c}} + AT'(d) + $clog2(8) + (W + 1)'(e); endmodule").size(), 5U)
      << "what must be constant stays: only the five additions";
}

TEST(mutation, statements) {
  EXPECT_EQ(changes("module m; always_ff @(posedge clk) begin if (!rst_n) x <= 1'b0; else if (go) x <= y; end endmodule"),
            (list{"assignment: x <= y; -> nothing", "condition: !rst_n -> 1'b0", "condition: !rst_n -> 1'b1",
                  "condition: go -> 1'b0", "condition: go -> 1'b1", "constant: 1'b0 -> 1'd1", "negation: !rst_n -> !(!rst_n)",
                  "reset: x <= 1'b0; -> nothing"}));
  EXPECT_EQ(changes("module m; always_comb begin x = a; if (c) x = b; if (d) y = b; end endmodule"),
            (list{"assignment: x = b; -> nothing", "condition: c -> 1'b0", "condition: c -> 1'b1", "condition: d -> 1'b0",
                  "condition: d -> 1'b1"}))
      << "without a value from before, it would become a latch";
  EXPECT_EQ(changes("module m; always_ff @(posedge c) case (s) 2'd1: x <= a; default: begin y <= b; end endcase endmodule"),
            (list{"assignment: x <= a; -> nothing", "assignment: y <= b; -> nothing"}));
}

TEST(mutation, parameters_tests_and_comments_are_not_mutated) {
  EXPECT_EQ(changes("module m #(parameter N = 4 + 1) (input logic [N-1:0] a); localparam M = N + 1; logic [M-1:0] b;\n"
                    "`ifdef VERILATOR\n a_x : assert property (@(posedge c) a && b |-> 1'b1);\n`endif\n"
                    "initial begin b = 1 + 1; end\n// assign x = a && b;\n/* assign x = a + b; */\nendmodule"),
            list{});
  EXPECT_EQ(changes("module m; for (genvar i = 0; i < 4; i++) begin : g assign x[i] = a[i]; end\n"
                    "fifo #(.DEPTH(4 + 1)) u (.in(a + b), .out(c[2]), .none()); endmodule"),
            (list{"operator: a + b -> a - b"}));
}

TEST(mutation, the_right_text_remains) {
  const std::string source =
      "module m;\n  assign x = a && (b || !c);  // why\n  always_ff @(posedge c) if (a) x <= b + 1'b1;\nendmodule\n";
  const mutated none = mutate("m.sv", source, 1, [](unsigned) { return false; });
  EXPECT_EQ(none.source, source);
  EXPECT_TRUE(none.mutants.empty());
  const mutated all = mutate("m.sv", source, 10);
  EXPECT_EQ(all.next, none.next + 9);
  std::set<unsigned> numbers;
  for (const mutant& m : all.mutants) {
    numbers.insert(m.number);
    EXPECT_NE(all.source.find("hca_mutant::number"), std::string::npos);
    EXPECT_TRUE(m.line == 2 || m.line == 3) << m.line;
  }
  EXPECT_EQ(*numbers.begin(), 10U);
  EXPECT_EQ(numbers.size(), all.mutants.size());
  // A single fault: the original stands next to the wrong text.
  const mutated one = mutate("m.sv", "module m; assign x = a + b; endmodule", 7);
  EXPECT_EQ(one.source, "module m; assign x = (hca_mutant::number == 7 ? (a - b) : (a + b)); endmodule");
  const mutated drop = mutate("m.sv", "module m; always_ff @(posedge c) if (e) if (a) x <= b; else x <= d; endmodule");
  EXPECT_NE(drop.source.find("begin if (hca_mutant::number != 5) x <= b; end else"), std::string::npos) << drop.source;
}

// Text that ends early or is no SystemVerilog ends the walk; nothing hangs or reads beyond its end.
TEST(mutation, broken_text_is_survived) {
  const std::string source =
      "module m; assign x = a && {4{b[3:0]}}; always_ff @(posedge c) begin if (a) x <= b ? 8'hff : '0; case (s) 1: x <= f(a, "
      "b); "
      "endcase end u #(.A(1)) v (.x(a + b), .*); function f; return a + b; endfunction endmodule";
  for (std::size_t n = 0; n <= source.size(); ++n) (void)mutate("m.sv", source.substr(0, n));
  for (std::size_t n = 0; n < source.size(); ++n) (void)mutate("m.sv", source.substr(n));
  for (std::size_t n = 0; n < source.size(); ++n) (void)mutate("m.sv", source.substr(0, n) + source.substr(n + 1));
}

std::string listed(const std::string& faults) {
  std::map<std::string, std::string> texts{{"m.sv", "module m;\n  assign x = a[1];  // b; c\n  assign y = b;\nendmodule\n"}};
  try {
    return std::to_string(put_listed("faults.txt", faults, texts)) + ": " + texts["m.sv"];
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST(mutation, listed_faults_are_a_choice_in_the_place_of_the_right_expression) {
  EXPECT_EQ(
      listed("# two faults\n@ m.sv\n- a[1]\n+ a[0]\n+ 1'b0\n> logic [3:0] more;\n"),
      "2: module m;\n  assign x = (hca_mutant::number == 1 ? (a[0]) : hca_mutant::number == 2 ? (1'b0) : (a[1]));  // b; c\n"
      "  assign y = b;\n  logic [3:0] more;\nendmodule\n");
  EXPECT_EQ(listed("@ m.sv\n- z\n+ a\n"), "faults.txt: fault 1: m.sv does not contain: z");
  EXPECT_EQ(listed("@ m.sv\n- b\n+ a\n"), "faults.txt: fault 1: m.sv contains more than once: b");
  EXPECT_EQ(listed("@ n.sv\n"), "faults.txt: 'n.sv' is not among the sources");
  EXPECT_EQ(listed("- a[1]\n+ a\n"), "faults.txt: no line '@ ' says which file is meant");
  EXPECT_EQ(listed("= a\n"),
            "faults.txt: a line begins with '@ ' (file), '- ' (right), '+ ' (wrong), '> ' (more of the module) or '#': = a");
}

}  // namespace
}  // namespace hcasim::mutation
