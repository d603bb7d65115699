// A queue that an empty stream passes in the same cycle. A push always finds room: the owner limits the items under way to
// DEPTH.
module fall_through #(
    parameter int DEPTH = 8,
    parameter int BITS = 8
) (
    input logic clk,
    input logic rst_n,
    input logic put,
    input logic [BITS-1:0] put_data,
    output logic out_valid,
    input logic out_ready,
    output logic [BITS-1:0] out_data,
    output logic stored  // something is kept for a later cycle
);
  localparam int AW = $clog2(DEPTH);
  logic [BITS-1:0] items[DEPTH];
  logic [AW-1:0] head, tail;
  logic [AW:0] count;
  logic keep, take;

  assign stored = count != '0;
  assign out_valid = stored || put;
  assign out_data = stored ? items[head] : put_data;
  assign take = stored && out_ready;
  assign keep = put && (stored || !out_ready);

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      head <= '0;
      tail <= '0;
      count <= '0;
    end else begin
      if (keep) tail <= tail == AW'(DEPTH - 1) ? '0 : tail + 1'b1;
      if (take) head <= head == AW'(DEPTH - 1) ? '0 : head + 1'b1;
      count <= count + (AW + 1)'(keep) - (AW + 1)'(take);
    end
  end
  always_ff @(posedge clk) begin
    if (keep) items[tail] <= put_data;
  end

`ifdef VERILATOR
  a_room : assert property (@(posedge clk) disable iff (!rst_n) keep |-> count < (AW + 1)'(DEPTH) || take);
`endif
endmodule
