// A stream that comes back a cycle later, until the cycle in which `how` ends the run, each in a way of its own.
`timescale 1ns / 1ps
module ender (
    input logic ck,
    input logic rst,
    input logic [3:0] how,
    input logic [15:0] when_,
    input logic i_v,
    output logic i_r,
    input logic [7:0] i_d,
    output logic o_v,
    input logic o_r,
    output logic [7:0] o_d
);
  logic [15:0] cycle;
  logic due;
  assign due = !rst && cycle == when_;
  assign i_r = !o_v || o_r;
  always_ff @(posedge ck) begin
    if (rst) begin
      cycle <= '0;
      o_v <= 1'b0;
    end else begin
      cycle <= cycle + 16'd1;
      if (i_r) o_v <= i_v;
      if (i_r) o_d <= i_d;
      if (due && how == 4'd1) $finish;
      if (due && how == 4'd2) $stop;
      if (due && how == 4'd3) $fatal(1, "no way at %0t", $time);
      if (due && how == 4'd4) $error("odd %0d", o_d);
      if (how == 4'd6 && due) $display("it is %0t", $time);
      if (how == 4'd8 && cycle >= when_) $finish;  // again and again
      if (how == 4'd9 && due) $fwrite(1, "as one, ");
      if (how == 4'd9 && due) $fdisplay(32'h8000_0001, "as two");
    end
  end
  never_seven: assert property (@(posedge ck) disable iff (rst) !(due && how == 4'd7));
endmodule
