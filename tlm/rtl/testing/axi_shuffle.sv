// A read-only slave behind AXI4: a burst of each of four ids at a time, with interleaved beats. A word holds its own address.
// `fault`: beats of two ids are exchanged.
module axi_shuffle (
    input logic clk,
    input logic rst,
    input logic fault,
    input logic [1:0] arid,
    input logic [15:0] araddr,
    input logic [7:0] arlen,
    input logic arvalid,
    output logic arready,
    output logic [1:0] rid,
    output logic [31:0] rdata,
    output logic rlast,
    output logic rvalid,
    input logic rready
);
  logic [3:0] on;
  logic [15:0] at[4];
  logic [7:0] left[4];
  logic [1:0] turn;
  assign arready = !on[arid];
  // The next one from `turn` on that has something.
  always_comb begin
    rid = turn;
    for (int i = 3; i >= 0; i--) if (on[turn+2'(i)]) rid = turn + 2'(i);
  end
  assign rvalid = |on;
  assign rdata = {16'd0, at[rid^{1'b0, fault&&on[rid^2'd1]}]};
  assign rlast = left[rid] == 8'd0;
  always_ff @(posedge clk) begin
    if (rst) begin
      on <= '0;
      turn <= '0;
    end else begin
      if (arvalid && arready) begin
        on[arid] <= 1'b1;
        at[arid] <= araddr & ~16'd3;
        left[arid] <= arlen;
      end
      if (rvalid && rready) begin
        turn <= rid + 2'd1;
        at[rid] <= at[rid] + 16'd4;
        left[rid] <= left[rid] - 8'd1;
        if (rlast) on[rid] <= 1'b0;
      end else if (rvalid) begin
        turn <= rid;
      end
    end
  end
endmodule
