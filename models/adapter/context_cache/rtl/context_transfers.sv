// Reads and writes of entries under way, and the reads that wait for a write buffer: what makes room for their entry is dirty.
module context_transfers #(
    parameter int FETCHES = 16,
    parameter int WRITES = 4,
    parameter int SLOT_BITS = 8,
    localparam int FETCH_BITS = $clog2(FETCHES),
    localparam int VB = $clog2(WRITES)
) (
    input logic clk,
    input logic rst_n,

    // The look-up: a read begins, and what makes room for it is written at once, or as soon as there is a write buffer.
    input logic [31:0] index,
    output logic write_there,  // it is on its way to memory
    output logic any_fetch,
    output logic [FETCH_BITS-1:0] free_fetch,
    output logic any_write,  // for the oldest that waits for one, or else for any
    output logic [VB-1:0] free_write,
    input logic begins,
    input logic evicts,
    input logic defers,
    input logic [SLOT_BITS-1:0] room_slot,
    input logic [31:0] room_index,

    input logic filled,
    input logic [FETCH_BITS-1:0] r_fetch,
    output logic [SLOT_BITS-1:0] r_slot,

    input logic landed,
    input logic [VB-1:0] w_number,
    output logic [31:0] landed_index,

    // The oldest read that waits goes, unless it is in the way of others.
    input logic blocked,
    output logic any_deferred,
    output logic e_go,
    output logic [FETCH_BITS-1:0] e_fetch,
    output logic [SLOT_BITS-1:0] e_slot,
    output logic [VB-1:0] e_write,
    output logic [31:0] e_evicted,

    output logic none  // is written
);
  logic [FETCHES-1:0] f_busy;
  logic [SLOT_BITS-1:0] f_slot[FETCHES];
  logic [WRITES-1:0] w_busy;
  logic [31:0] w_index[WRITES];
  logic [FETCHES-1:0] e_waits;
  logic [31:0] e_index[FETCHES];
  logic [FETCH_BITS-1:0] e_queue[FETCHES];
  logic [FETCH_BITS-1:0] e_head, e_tail;
  logic [FETCH_BITS:0] e_count;
  always_comb begin
    any_fetch = 1'b0;
    free_fetch = '0;
    any_write = 1'b0;
    free_write = '0;
    for (int i = FETCHES - 1; i >= 0; i--) begin
      if (!f_busy[i]) begin
        any_fetch = 1'b1;
        free_fetch = FETCH_BITS'(i);
      end
    end
    for (int i = WRITES - 1; i >= 0; i--) begin
      if (!w_busy[i]) begin
        any_write = 1'b1;
        free_write = VB'(i);
      end
    end
  end
  always_comb begin
    write_there = 1'b0;
    for (int i = 0; i < WRITES; i++) begin
      if (w_busy[i] && w_index[i] == index) write_there = 1'b1;
    end
    for (int i = 0; i < FETCHES; i++) begin
      if (e_waits[i] && e_index[i] == index) write_there = 1'b1;
    end
  end
  assign r_slot = f_slot[r_fetch];
  assign landed_index = w_index[w_number];
  assign none = w_busy == '0;

  assign any_deferred = e_count != '0;
  assign e_fetch = e_queue[e_head];
  assign e_slot = f_slot[e_fetch];
  assign e_evicted = e_index[e_fetch];
  assign e_write = any_write ? free_write : w_number;
  assign e_go = any_deferred && (any_write || landed) && !blocked;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      f_busy <= '0;
      w_busy <= '0;
      e_waits <= '0;
      e_head <= '0;
      e_tail <= '0;
      e_count <= '0;
    end else begin
      if (filled) f_busy[r_fetch] <= 1'b0;
      if (landed) w_busy[w_number] <= 1'b0;
      if (e_go) begin
        w_busy[e_write] <= 1'b1;
        e_waits[e_fetch] <= 1'b0;
        e_head <= e_head + 1'b1;
      end
      if (begins) begin
        f_busy[free_fetch] <= 1'b1;
        if (evicts) w_busy[free_write] <= 1'b1;
        if (defers) begin
          e_waits[free_fetch] <= 1'b1;
          e_tail <= e_tail + 1'b1;
        end
      end
      e_count <= e_count + (FETCH_BITS + 1)'(begins && defers) - (FETCH_BITS + 1)'(e_go);
    end
  end
  always_ff @(posedge clk) begin
    if (begins) begin
      f_slot[free_fetch] <= room_slot;
      if (evicts) w_index[free_write] <= room_index;
      e_index[free_fetch] <= room_index;
      e_queue[e_tail] <= free_fetch;
    end
    if (e_go) w_index[e_write] <= e_evicted;
  end

`ifdef VERILATOR
  logic read_known;
  assign read_known = f_busy[r_fetch];
  a_read_known : assert property (@(posedge clk) disable iff (!rst_n) filled |-> read_known);
`endif
endmodule
