// References to keys as they were: a content-addressed table of the key indices with accesses in flight, their references split
// into those of the current epoch and older ones. In one cycle a reference is taken, then one is given back, then an epoch is
// begun; each sees what the one before it did. Nothing is compared for what is not asked.
module key_epochs #(
    parameter int ENTRIES = 64,
    parameter int COUNT_BITS = 12,
    // The number of an epoch wraps around, and is never 0. It begins so that it soon does: a wrap is nothing rare then.
    parameter logic [31:0] FIRST = 32'hffff_fff0
) (
    input logic clk,
    input logic rst_n,
    // A reference to the current epoch of an index. Not ready: the table is full of other indices. `take_asked`: it may be wanted.
    input logic take_asked,
    input logic take_valid,
    output logic take_ready,
    input logic [23:0] take_index,
    output logic [31:0] take_epoch,
    // Gives it back; `older_gone`: it was the last one of the older epochs of the index.
    input logic give_valid,
    input logic [23:0] give_index,
    input logic [31:0] give_epoch,
    output logic older_gone,
    // Begins a new epoch; `older_left`: references of older ones are held.
    input logic renew_valid,
    input logic [23:0] renew_index,
    output logic older_left
);
  localparam int AW = $clog2(ENTRIES);

  logic [ENTRIES-1:0] used;
  logic [23:0] index[ENTRIES];
  logic [31:0] epoch[ENTRIES];
  logic [COUNT_BITS-1:0] current[ENTRIES];
  logic [COUNT_BITS-1:0] older[ENTRIES];
  logic [31:0] newest, following;
  assign following = newest == '1 ? 32'd1 : newest + 1'b1;

  logic take_hit, give_hit, renew_hit, any_free;
  logic [AW-1:0] take_at, free_at, give_at, renew_at, take_slot;
  always_comb begin
    take_hit = 1'b0;
    take_at = '0;
    give_hit = 1'b0;
    give_at = '0;
    renew_hit = 1'b0;
    renew_at = '0;
    any_free = 1'b0;
    free_at = '0;
    if (take_asked) begin
      for (int i = ENTRIES - 1; i >= 0; i--) begin
        if (!used[i]) begin
          any_free = 1'b1;
          free_at = AW'(i);
        end
        if (used[i] && index[i] == take_index) begin
          take_hit = 1'b1;
          take_at = AW'(i);
        end
      end
    end
    if (give_valid) begin
      for (int i = ENTRIES - 1; i >= 0; i--) begin
        if (used[i] && index[i] == give_index) begin
          give_hit = 1'b1;
          give_at = AW'(i);
        end
      end
    end
    if (renew_valid) begin
      for (int i = ENTRIES - 1; i >= 0; i--) begin
        if (used[i] && index[i] == renew_index) begin
          renew_hit = 1'b1;
          renew_at = AW'(i);
        end
      end
    end
    take_ready = take_hit || any_free;
    take_slot = take_hit ? take_at : free_at;
    take_epoch = take_hit ? epoch[take_at] : newest;
  end

  // The index given back or renewed may be the one that is taken in this very cycle. A reference cannot be given back in the
  // cycle it is taken in.
  logic taking, giving, give_older, renew_new;
  logic [COUNT_BITS-1:0] give_current, give_old, renew_current, renew_old;
  assign taking = take_valid && take_ready;
  assign giving = give_valid && give_hit;
  assign give_older = epoch[give_at] != give_epoch;
  always_comb begin
    give_current = current[give_at];
    give_old = older[give_at];
    if (taking && take_hit && take_at == give_at) give_current = give_current + 1'b1;
    if (give_older) give_old = give_old - 1'b1;
    else give_current = give_current - 1'b1;
    older_gone = giving && give_older && give_old == '0;

    renew_new = taking && !take_hit && take_index == renew_index;
    renew_current = renew_new ? COUNT_BITS'(1) : current[renew_at];
    renew_old = renew_new ? '0 : older[renew_at];
    if (taking && take_hit && take_at == renew_at) renew_current = renew_current + 1'b1;
    if (giving && renew_hit && give_at == renew_at) begin
      renew_current = give_current;
      renew_old = give_old;
    end
    older_left = (renew_hit || renew_new) && (renew_current != '0 || renew_old != '0);
  end

  logic [AW-1:0] renew_slot;
  assign renew_slot = renew_new ? free_at : renew_at;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      used <= '0;
      newest <= FIRST;
      for (int i = 0; i < ENTRIES; i++) begin
        index[i] <= '0;
        epoch[i] <= '0;
        current[i] <= '0;
        older[i] <= '0;
      end
    end else begin
      if (taking) begin
        used[take_slot] <= 1'b1;
        index[take_slot] <= take_index;
        current[take_slot] <= take_hit ? current[take_at] + 1'b1 : COUNT_BITS'(1);
        if (!take_hit) begin
          older[take_slot] <= '0;
          epoch[take_slot] <= newest;
        end
      end
      if (giving) begin
        current[give_at] <= give_current;
        older[give_at] <= give_old;
        if (give_current == '0 && give_old == '0) used[give_at] <= 1'b0;
      end
      if (renew_valid) begin
        newest <= following;
        if (older_left) begin
          current[renew_slot] <= '0;
          older[renew_slot] <= renew_old + renew_current;
          epoch[renew_slot] <= following;
        end
      end
    end
  end

`ifdef VERILATOR
  logic give_counted;
  assign give_counted = give_older ? older[give_at] != '0 : current[give_at] != '0;
  a_give_known : assert property (@(posedge clk) disable iff (!rst_n) give_valid |-> give_hit);
  a_give_held : assert property (@(posedge clk) disable iff (!rst_n) giving |-> give_counted);
`endif
endmodule
