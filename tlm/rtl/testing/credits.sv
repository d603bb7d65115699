// A queue of eight with credits on both sides: what comes in leaves in order, plus one.
// `fault`: 1 sends without a credit, 2 gives back more credits than there are, 3 gives none back, 4 loses an item.
module credits (
    input logic clk,
    input logic rst_n,
    input logic [2:0] fault,
    input logic in_valid,
    input logic [31:0] in_data,
    output logic in_credit,
    output logic out_valid,
    output logic [31:0] out_data,
    input logic out_credit
);
  logic [31:0] items[8];
  logic [2:0] head, tail;
  logic [3:0] count, may_send;
  logic send, extra;
  assign send = count != '0 && (may_send != '0 || fault == 3'd1);
  assign out_valid = send && !(fault == 3'd4 && items[head] == 32'd7);
  assign out_data = items[head] + 32'd1;
  assign in_credit = fault != 3'd3 && (send || (fault == 3'd2 && extra));
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      head <= '0;
      tail <= '0;
      count <= '0;
      may_send <= 4'd4;
      extra <= 1'b0;
    end else begin
      extra <= send;
      if (in_valid) tail <= tail + 1'b1;
      if (send) head <= head + 1'b1;
      count <= count + 4'(in_valid) - 4'(send);
      may_send <= may_send + 4'(out_credit) - 4'(send);
    end
    if (in_valid) items[tail] <= in_data;
  end
endmodule
