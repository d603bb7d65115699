// A stream that returns each item two cycles later, plus one. `fault` selects a violation to be detected.
module suspect (
    input logic ck,
    input logic rst,
    input logic [2:0] fault,  // 1 valid falls, 2 the payload changes, 3 never answers, 4 never takes, 5 valid depends on no reset,
                              // 6 an assertion does
    input logic i_v,
    output logic i_busy,
    input logic [15:0] i_low,
    input logic [23:0] i_high,
    output logic o_v,
    input logic o_r,
    output logic [39:0] o_d
);
  logic full, odd, unset;
  logic [39:0] kept;
  assign i_busy = (full && !(o_v && o_r)) || fault == 3'd4;
  assign o_v = full && fault != 3'd3 && !(fault == 3'd1 && odd) && !(fault == 3'd5 && unset);
  assign o_d = kept + 40'd1 + (fault == 3'd2 && odd ? 40'd1 : 40'd0);
  always_ff @(posedge ck) begin
    if (rst) begin
      full <= 1'b0;
      odd <= 1'b0;
    end else begin
      odd <= full && !(o_v && o_r) && !odd;
      if (i_v && !i_busy) begin
        full <= 1'b1;
        kept <= {i_high, i_low};
      end else if (o_v && o_r) full <= 1'b0;
    end
  end
  always_ff @(posedge ck) unset <= unset ^ (fault == 3'd7);
  never_set : assert property (@(posedge ck) disable iff (rst) !(fault == 3'd6 && o_v && unset));
  // Without `disable iff`: no reset has set these registers before the first clock.
  logic stuck;
  always_ff @(posedge ck) stuck <= !rst && o_v && !o_r;
  stays : assert property (@(posedge ck) stuck |-> fault == 3'd1 || o_v && kept[39:37] != 3'd7);
endmodule
