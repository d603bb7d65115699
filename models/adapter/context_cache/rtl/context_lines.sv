// The lines of the cache: what is known of each, its bytes, how many hold it, and which one of a set makes room. Pinned lines and
// lines being read make none.
module context_lines #(
    parameter int SETS = 64,
    parameter int WAYS = 4,
    parameter int EB = 512,
    parameter int FETCH_BITS = 4,
    parameter int PB = 6,
    localparam int SB = $clog2(SETS),
    localparam int WB = $clog2(WAYS),
    localparam int SLOT_BITS = SB + WB
) (
    input logic clk,
    input logic rst_n,

    // The look-up.
    input logic [31:0] index,
    output logic hit,
    output logic [SLOT_BITS-1:0] slot,
    output logic hit_fetching,
    output logic hit_pinned,
    output logic hit_dirty,
    output logic [FETCH_BITS-1:0] hit_fetch,  // that reads it
    output logic room,
    output logic [SLOT_BITS-1:0] room_slot,
    output logic room_dirty,  // what is there
    output logic [31:0] room_index,
    input logic takes,  // the entry is pinned once more
    input logic begins,  // an entry is read into the room
    input logic [FETCH_BITS-1:0] fetch,
    input logic forgets,
    input logic drops,  // the entry leaves when its holders or its bytes have
    input logic clears,

    input logic filled,
    input logic r_failed,
    input logic [SLOT_BITS-1:0] r_slot,
    input logic [EB-1:0] r_entry,
    input logic [PB-1:0] holders,  // that wait for it
    output logic [31:0] r_index,

    input logic [SLOT_BITS-1:0] g_slot,
    input logic released,
    input logic g_dirty,
    input logic [EB-1:0] g_entry,
    output logic g_last,  // no other request holds it
    output logic gives_last,  // no request holds it any more
    output logic gives_up,  // and it is to be dropped
    output logic give_writes,  // after its bytes have been written
    output logic [31:0] g_index,

    input logic drop_landed,
    input logic [SLOT_BITS-1:0] d_slot,

    // Entries that are answered and written.
    input logic [SLOT_BITS-1:0] first_slot,
    output logic [EB-1:0] first_entry,
    input logic [SLOT_BITS-1:0] second_slot,
    output logic [EB-1:0] second_entry,
    input logic [SLOT_BITS-1:0] write_slot,
    output logic [EB-1:0] write_entry,
    input logic [SLOT_BITS-1:0] e_slot,
    output logic [31:0] e_index,

    output logic pinned_any
);
  localparam int N = SETS * WAYS;
  logic [N-1:0] occupied, fetching, dropping, dirty;
  logic [31:0] indices[N];
  logic [PB-1:0] pins[N];
  logic [EB-1:0] entries[N];
  logic [FETCH_BITS-1:0] fetch_of[N];
  logic [15:0] pinned;
  assign pinned_any = pinned != '0;

  logic [SB-1:0] set;
  logic [WB-1:0] hit_way, room_way, candidate_age;
  logic [SLOT_BITS-1:0] way_slot;
  logic room_empty;
  logic [WAYS*WB-1:0] set_ages;
  assign set = index[SB-1:0];
  lru_ages #(
      .SETS(SETS),
      .WAYS(WAYS)
  ) u_ages (
      .clk(clk),
      .rst_n(rst_n),
      .set(set),
      .ages(set_ages),
      .hit(takes),
      .hit_way(hit_way),
      .fill(filled),
      .fill_slot(r_slot)
  );
  always_comb begin
    hit = 1'b0;
    hit_way = '0;
    room = 1'b0;
    room_empty = 1'b0;
    room_way = '0;
    candidate_age = '0;
    for (int w = WAYS - 1; w >= 0; w--) begin
      way_slot = {set, WB'(w)};
      if (occupied[way_slot] && indices[way_slot] == index) begin
        hit = 1'b1;
        hit_way = WB'(w);
      end
      if (!occupied[way_slot]) begin
        room = 1'b1;
        room_empty = 1'b1;
        room_way = WB'(w);
      end else if (!room_empty && pins[way_slot] == '0 && !fetching[way_slot] && !dropping[way_slot] &&
                   (!room || set_ages[WB*w+:WB] > candidate_age)) begin
        room = 1'b1;
        room_way = WB'(w);
        candidate_age = set_ages[WB*w+:WB];
      end
    end
  end
  assign slot = {set, hit_way};
  assign hit_fetching = fetching[slot];
  assign hit_pinned = pins[slot] != '0;
  assign hit_dirty = dirty[slot];
  assign hit_fetch = fetch_of[slot];
  assign room_slot = {set, room_way};
  assign room_dirty = !room_empty && dirty[room_slot];
  assign room_index = indices[room_slot];

  assign r_index = indices[r_slot];
  assign g_last = pins[g_slot] == PB'(1);
  assign gives_last = released && g_last;
  assign gives_up = gives_last && dropping[g_slot];
  assign give_writes = gives_up && (g_dirty || dirty[g_slot]);
  assign g_index = indices[g_slot];
  assign first_entry = entries[first_slot];
  assign second_entry = entries[second_slot];
  assign write_entry = entries[write_slot];
  assign e_index = indices[e_slot];

  // If a line is not occupied, or its bytes have not come, nothing else counts.
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      occupied <= '0;
      pinned <= '0;
    end else begin
      pinned <= pinned + 16'(takes) + (filled && !r_failed ? 16'(holders) : 16'd0) - 16'(released);
      if (gives_up && !give_writes) occupied[g_slot] <= 1'b0;
      if (filled && r_failed) occupied[r_slot] <= 1'b0;
      if (drop_landed) occupied[d_slot] <= 1'b0;
      if (begins) occupied[room_slot] <= 1'b1;
      if (forgets) occupied[slot] <= 1'b0;
      if (clears) occupied <= '0;
    end
  end
  always_ff @(posedge clk) begin
    if (released && g_dirty) begin
      dirty[g_slot] <= 1'b1;
      entries[g_slot] <= g_entry;
    end
    if (released && !(takes && slot == g_slot)) pins[g_slot] <= pins[g_slot] - 1'b1;
    if (takes && !(released && slot == g_slot)) pins[slot] <= pins[slot] + 1'b1;
    if (drops) dropping[slot] <= 1'b1;
    if (filled) begin
      fetching[r_slot] <= 1'b0;
      dirty[r_slot] <= 1'b0;
      entries[r_slot] <= r_entry;
      pins[r_slot] <= holders;
    end
    if (begins) begin
      fetching[room_slot] <= 1'b1;
      dropping[room_slot] <= 1'b0;
      indices[room_slot] <= index;
      fetch_of[room_slot] <= fetch;
    end
  end

`ifdef VERILATOR
  logic held;
  assign held = occupied[g_slot] && !fetching[g_slot] && pins[g_slot] != '0;
  a_release_pinned : assert property (@(posedge clk) disable iff (!rst_n) released |-> held);
`endif
endmodule
