// Changes of keys under way: each is answered when no reference of an older epoch of its key is left, and not in less than DEPTH
// cycles. There is room for every answer: no more than DRAINS are under way.
module key_drains #(
    parameter int DRAINS = 8,
    parameter int DEPTH = 6,
    parameter int TAG_BITS = 8
) (
    input logic clk,
    input logic rst_n,

    input  logic drn_valid,
    output logic drn_ready,
    input  logic [TAG_BITS+23:0] drn_data,  // tag, index
    output logic drn_rsp_valid,
    input  logic drn_rsp_ready,
    output logic [TAG_BITS-1:0] drn_rsp_data,

    // The drained key has references of older epochs. The released reference was the last of its key.
    input  logic older_left,
    input  logic older_gone,
    input  logic [23:0] give_index,
    output logic runs  // something will be answered without a release
);
  localparam int DB = $clog2(DRAINS);
  localparam int TB = $clog2(DEPTH + 1);
  logic [DRAINS-1:0] drain_busy, drain_waits, drain_gone, drain_candidate;
  logic [23:0] drain_index[DRAINS];
  logic [TAG_BITS-1:0] drain_tag[DRAINS];
  logic [TB-1:0] drain_timer[DRAINS];
  logic any_candidate, drn_taken;
  logic [DB:0] drains_under_way;  // taken, and their answers not
  logic [DB-1:0] free_drain, candidate;
  assign drn_ready = drains_under_way != (DB + 1)'(DRAINS);
  assign drn_taken = drn_valid && drn_ready;
  always_comb begin
    free_drain = '0;
    any_candidate = 1'b0;
    candidate = '0;
    for (int i = DRAINS - 1; i >= 0; i--) begin
      drain_gone[i] = drain_busy[i] && drain_waits[i] && older_gone && drain_index[i] == give_index;
      drain_candidate[i] = drain_busy[i] && (drain_gone[i] || (!drain_waits[i] && drain_timer[i] == '0));
      if (!drain_busy[i]) free_drain = DB'(i);
      if (drain_candidate[i]) begin
        any_candidate = 1'b1;
        candidate = DB'(i);
      end
    end
  end

  // Answers that could not be taken at once wait in order.
  logic [TAG_BITS-1:0] answered[DRAINS];
  logic [DB-1:0] answered_head, answered_tail;
  logic [DB:0] answered_count;
  logic drain_out, drain_store;
  assign drn_rsp_valid = answered_count != '0 || any_candidate;
  assign drn_rsp_data = answered_count != '0 ? answered[answered_head] : drain_tag[candidate];
  assign drain_out = drn_rsp_valid && drn_rsp_ready;
  assign drain_store = any_candidate && (answered_count != '0 || !drn_rsp_ready);

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      drain_busy <= '0;
      drain_waits <= '0;
      drains_under_way <= '0;
      answered_head <= '0;
      answered_tail <= '0;
      answered_count <= '0;
    end else begin
      for (int i = 0; i < DRAINS; i++) begin
        if (drain_gone[i]) begin
          drain_waits[i] <= 1'b0;
          drain_timer[i] <= '0;
        end else if (drain_timer[i] != '0) drain_timer[i] <= drain_timer[i] - 1'b1;
      end
      if (any_candidate) drain_busy[candidate] <= 1'b0;
      drains_under_way <= drains_under_way + (DB + 1)'(drn_taken) - (DB + 1)'(drain_out);
      if (drn_taken) begin
        drain_busy[free_drain] <= 1'b1;
        drain_waits[free_drain] <= older_left;
        drain_timer[free_drain] <= TB'(DEPTH - 1);
        drain_index[free_drain] <= drn_data[23:0];
        drain_tag[free_drain] <= drn_data[TAG_BITS+23:24];
      end
      if (drain_store) begin
        answered[answered_tail] <= drain_tag[candidate];
        answered_tail <= answered_tail == DB'(DRAINS - 1) ? '0 : answered_tail + 1'b1;
      end
      if (drain_out && answered_count != '0) answered_head <= answered_head == DB'(DRAINS - 1) ? '0 : answered_head + 1'b1;
      answered_count <= answered_count + (DB + 1)'(drain_store) - (DB + 1)'(drain_out && answered_count != '0);
    end
  end

  always_comb begin
    runs = answered_count != '0;
    for (int i = 0; i < DRAINS; i++) runs |= drain_busy[i] && !drain_waits[i];
  end

`ifdef VERILATOR
  logic seen, drn_rsp_stuck;
  logic [TAG_BITS-1:0] drn_rsp_was;
  always_ff @(posedge clk) begin
    seen <= rst_n;
    drn_rsp_stuck <= rst_n && drn_rsp_valid && !drn_rsp_ready;
    drn_rsp_was <= drn_rsp_data;
  end
  a_drn_rsp : assert property (@(posedge clk) seen && drn_rsp_stuck |-> drn_rsp_valid && drn_rsp_data == drn_rsp_was);
`endif
endmodule
