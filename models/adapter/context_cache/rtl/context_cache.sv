// A write-back cache of contexts (ENTRY_BYTES each, a power of two) that lie in an area of memory. Streams are valid/ready.
//
//   req      fetch, drop or set_area, one a cycle, by tag; a tag is in use until it is answered
//   rsp      two cycles after req for a hit; a miss in the cycle its entry comes. A fetch pins its entry
//   rel      gives an entry back; dirty: with its new bytes
//   rd_req   an entry is read; wr_req: a dirty entry is written (evicted, or dropped). One stream each, so that neither waits
//            for the other; a fetch of an entry that is being written waits until it has landed
//
// Misses of one index share one read. Pinned entries and entries being read make no room. A request that finds no room, no free
// read or no free write buffer waits, oldest first, and later misses of its set wait behind it. A drop waits until its entry is
// given back; fetches of it wait behind the drop and read memory anew. set_area waits until nothing is under way.
module context_cache #(
    parameter int TAG_BITS = 5,
    parameter int SETS = 64,
    parameter int WAYS = 4,
    parameter int FETCHES = 16,
    parameter int WRITES = 4,
    parameter int ENTRY_BYTES = 64,
    localparam int EB = 8 * ENTRY_BYTES,
    localparam int SLOT_BITS = $clog2(SETS * WAYS),
    localparam int FETCH_BITS = $clog2(FETCHES)
) (
    input logic clk,
    input logic rst_n,

    input  logic req_valid,
    output logic req_ready,
    input  logic [TAG_BITS+129:0] req_data,  // tag, area entries, area base, index, op

    output logic rsp_valid,
    input  logic rsp_ready,
    output logic [TAG_BITS+SLOT_BITS+EB:0] rsp_data,  // tag, failed, slot, entry

    input  logic rel_valid,
    output logic rel_ready,
    input  logic [SLOT_BITS+EB:0] rel_data,  // dirty, slot, entry

    output logic rd_req_valid,
    input  logic rd_req_ready,
    output logic [FETCH_BITS+63:0] rd_req_data,  // fetch, address
    input  logic rd_rsp_valid,
    output logic rd_rsp_ready,
    input  logic [FETCH_BITS+EB:0] rd_rsp_data,  // fetch, failed, entry

    output logic wr_req_valid,
    input  logic wr_req_ready,
    output logic [TAG_BITS+EB+64:0] wr_req_data,  // of a drop, number, address, entry
    input  logic wr_rsp_valid,
    output logic wr_rsp_ready,
    input  logic [TAG_BITS:0] wr_rsp_data,  // of a drop, number

    output logic idle
);
  localparam int TAGS = 1 << TAG_BITS;
  localparam int VB = $clog2(WRITES);
  localparam int PB = TAG_BITS + 1;

  logic [63:0] area_base;
  logic [31:0] area_entries;
  function automatic logic [63:0] address_of(input logic [31:0] index);
    address_of = area_base + (64'(index) << $clog2(ENTRY_BYTES));
  endfunction

  // ---- what comes in this cycle
  logic [TAG_BITS-1:0] q_tag;
  logic [31:0] q_entries, q_index;
  logic [63:0] q_base;
  logic [1:0] q_op;
  assign {q_tag, q_entries, q_base, q_index, q_op} = req_data;
  logic filled, r_failed;
  logic [FETCH_BITS-1:0] r_fetch;
  logic [SLOT_BITS-1:0] r_slot;
  logic [EB-1:0] r_entry;
  logic [31:0] r_index;
  assign {r_fetch, r_failed, r_entry} = rd_rsp_data;
  assign rd_rsp_ready = 1'b1;
  assign filled = rd_rsp_valid;
  logic w_of_drop, evict_landed, drop_landed;
  logic [TAG_BITS-1:0] w_number;
  logic [SLOT_BITS-1:0] d_slot;
  logic [31:0] landed_index, d_index;
  assign {w_of_drop, w_number} = wr_rsp_data;
  assign wr_rsp_ready = 1'b1;
  assign evict_landed = wr_rsp_valid && !w_of_drop;
  assign drop_landed = wr_rsp_valid && w_of_drop;
  logic released, gives_last, gives_up, give_writes;
  logic g_dirty, g_last;
  logic [SLOT_BITS-1:0] g_slot;
  logic [EB-1:0] g_entry;
  logic [31:0] g_index;
  assign {g_dirty, g_slot, g_entry} = rel_data;
  assign released = rel_valid && rel_ready;

  // ---- the look-up: of the oldest that may try again, otherwise of a new request
  logic l_retry, settled, pinned_any, transfers_none;
  logic [TAG_BITS-1:0] l_tag;
  logic [1:0] l_op;
  logic [31:0] l_index, l_entries;
  logic [63:0] l_base;
  logic hit, hit_fetching, hit_pinned, hit_dirty, room, room_dirty, drop_there, write_there;
  logic any_fetch, any_write, any_deferred;
  logic [SLOT_BITS-1:0] slot, room_slot;
  logic [31:0] room_index;
  logic [FETCH_BITS-1:0] hit_fetch, free_fetch;
  logic [VB-1:0] free_write;

  // Its fate.
  logic l_beyond, l_answers, l_hits, l_fetches, l_evicts, l_defers, l_forgets, l_drop_writes, l_clears, l_no_fetch;
  logic [3:0] l_waits;
  assign l_beyond = l_index >= area_entries;
  context_rules u_rules (
      .op(l_op),
      .again(l_retry),
      .beyond(l_beyond),
      .hit(hit),
      .fetching(hit_fetching),
      .pinned(hit_pinned),
      .dirty(hit_dirty),
      .drop_there(drop_there),
      .write_there(write_there),
      .any_fetch(any_fetch),
      .room(room),
      .evict_dirty(room_dirty),
      .any_write(any_write && !any_deferred),
      .settled(settled),
      .answers(l_answers),
      .hits(l_hits),
      .fetches(l_fetches),
      .evicts(l_evicts),
      .defers(l_defers),
      .forgets(l_forgets),
      .drop_writes(l_drop_writes),
      .clears(l_clears),
      .no_fetch(l_no_fetch),
      .waits(l_waits)
  );
  logic l_failed, l_reads, l_writes;
  logic [TAG_BITS-1:0] l_write;
  logic [SLOT_BITS-1:0] l_slot;
  logic [31:0] l_evicted;
  assign l_failed = l_beyond && l_op == context_pkg::FETCH;
  assign l_reads = l_fetches && !l_defers;
  assign l_writes = l_evicts || l_drop_writes;
  assign l_write = l_drop_writes ? l_tag : TAG_BITS'(free_write);
  assign l_slot = l_fetches ? room_slot : slot;
  assign l_evicted = l_fetches ? room_index : l_index;

  // Nothing is decided about an entry in the cycle something happens to it.
  logic hazard, frozen, l_new, l_again, l_moves;
  assign hazard = (filled && r_index == l_index) || (evict_landed && landed_index == l_index) || (drop_landed && d_index == l_index) ||
                  (gives_up && g_index == l_index) || (l_op == context_pkg::DROP && rel_valid && hit && g_slot == slot);
  assign l_new = req_valid && !l_retry && !hazard && !frozen;
  // Another try goes straight to the streams.
  assign l_again = l_retry && !hazard && !(s1_valid && ((s1_reads && l_reads) || (s1_writes && l_writes))) && !(gives_up && l_writes);
  assign l_moves = l_new || l_again;
  assign req_ready = l_new;

  // ---- the pipeline of what is decided at once: answers, reads, writes
  localparam int STAGE_BITS = 5 + 2 * TAG_BITS + SLOT_BITS + FETCH_BITS + 64;
  logic [STAGE_BITS-1:0] s0, s1;
  logic s0_valid, s1_valid, s1_answers, s1_failed, s1_reads, s1_writes, s1_drops;
  logic [TAG_BITS-1:0] s1_tag, s1_write;
  logic [SLOT_BITS-1:0] s1_slot;
  logic [FETCH_BITS-1:0] s1_fetch;
  logic [31:0] s1_index, s1_evicted;
  assign {s1_answers, s1_failed, s1_reads, s1_writes, s1_drops, s1_tag, s1_slot, s1_fetch, s1_write, s1_index, s1_evicted} = s1;
  assign frozen = s1_valid && s1_writes && give_writes;

  // ---- the streams
  logic any_answer, answer_failed, answer_waits, giving_young;
  logic [TAG_BITS-1:0] answer_tag, giving_tag;
  logic [SLOT_BITS-1:0] answer_slot;
  logic [EB-1:0] first_entry, second_entry, write_entry;
  logic rsp_stored;
  // An answer that stays has bytes from before this cycle: a request that gets it when the last holder has gone would not see
  // what a release has brought meanwhile. The release waits for it.
  logic answers_first, answers_stay;
  assign answers_first = s1_valid && s1_answers;
  assign answers_stay = rsp_stored || (answers_first && answer_waits) || ((answers_first || answer_waits) && !rsp_ready);
  // A drop that was looked up in the cycle before has not had its two cycles.
  assign rel_ready = !(g_last && giving_young) && !(g_dirty && answers_stay);
  fall_through_two #(
      .DEPTH(TAGS),
      .BITS(TAG_BITS + SLOT_BITS + EB + 1)
  ) u_rsp (
      .clk(clk),
      .rst_n(rst_n),
      .put_first(answers_first),
      .first_data({s1_tag, s1_failed, s1_slot, first_entry}),
      .put_second(any_answer),
      .second_data({answer_tag, answer_failed, answer_slot, filled && r_slot == answer_slot ? r_entry : second_entry}),
      .out_valid(rsp_valid),
      .out_ready(rsp_ready),
      .out_data(rsp_data),
      .stored(rsp_stored)
  );

  logic e_go, reads_again, writes_again;
  logic [FETCH_BITS-1:0] e_fetch;
  logic [SLOT_BITS-1:0] e_slot;
  logic [VB-1:0] e_write;
  logic [31:0] e_index, e_evicted;
  assign reads_again = l_again && l_reads;
  assign writes_again = l_again && l_writes;
  fall_through #(
      .DEPTH(FETCHES),
      .BITS(FETCH_BITS + 64)
  ) u_rd_req (
      .clk(clk),
      .rst_n(rst_n),
      .put((s1_valid && s1_reads && !frozen) || reads_again || e_go),
      .put_data(reads_again ? {free_fetch, address_of(l_index)} :
                e_go ? {e_fetch, address_of(e_index)} : {s1_fetch, address_of(s1_index)}),
      .out_valid(rd_req_valid),
      .out_ready(rd_req_ready),
      .out_data(rd_req_data),
      // verilator lint_off PINCONNECTEMPTY
      .stored()
      // verilator lint_on PINCONNECTEMPTY
  );

  logic [SLOT_BITS-1:0] write_slot;
  logic put_drop;
  logic [TAG_BITS-1:0] put_write;
  logic [31:0] put_index;
  always_comb begin
    {put_drop, put_write, put_index, write_slot} = {s1_drops, s1_write, s1_evicted, s1_slot};
    if (give_writes) {put_drop, put_write, put_index, write_slot} = {1'b1, giving_tag, g_index, g_slot};
    else if (e_go) {put_drop, put_write, put_index, write_slot} = {1'b0, TAG_BITS'(e_write), e_evicted, e_slot};
    else if (writes_again) {put_drop, put_write, put_index, write_slot} = {l_drop_writes, l_write, l_evicted, l_slot};
  end
  fall_through #(
      .DEPTH(TAGS + WRITES),
      .BITS(TAG_BITS + EB + 65)
  ) u_wr_req (
      .clk(clk),
      .rst_n(rst_n),
      .put(give_writes || writes_again || e_go || (s1_valid && s1_writes)),
      .put_data({put_drop, put_write, address_of(put_index), give_writes && g_dirty ? g_entry : write_entry}),
      .out_valid(wr_req_valid),
      .out_ready(wr_req_ready),
      .out_data(wr_req_data),
      // verilator lint_off PINCONNECTEMPTY
      .stored()
      // verilator lint_on PINCONNECTEMPTY
  );

  // ---- the tables, each of which changes at the end of a cycle
  logic takes, begins, forgets;
  logic [PB-1:0] holders;
  assign takes = l_moves && l_hits;
  assign begins = l_moves && l_fetches;
  assign forgets = l_moves && l_forgets;
  context_lines #(
      .SETS(SETS),
      .WAYS(WAYS),
      .EB(EB),
      .FETCH_BITS(FETCH_BITS),
      .PB(PB)
  ) u_lines (
      .clk(clk),
      .rst_n(rst_n),
      .index(l_index),
      .hit(hit),
      .slot(slot),
      .hit_fetching(hit_fetching),
      .hit_pinned(hit_pinned),
      .hit_dirty(hit_dirty),
      .hit_fetch(hit_fetch),
      .room(room),
      .room_slot(room_slot),
      .room_dirty(room_dirty),
      .room_index(room_index),
      .takes(takes),
      .begins(begins),
      .fetch(free_fetch),
      .forgets(forgets),
      .drops(l_moves && l_waits == context_pkg::DROPPING),
      .clears(l_moves && l_clears),
      .filled(filled),
      .r_failed(r_failed),
      .r_slot(r_slot),
      .r_entry(r_entry),
      .holders(holders),
      .r_index(r_index),
      .g_slot(g_slot),
      .released(released),
      .g_dirty(g_dirty),
      .g_entry(g_entry),
      .g_last(g_last),
      .gives_last(gives_last),
      .gives_up(gives_up),
      .give_writes(give_writes),
      .g_index(g_index),
      .drop_landed(drop_landed),
      .d_slot(d_slot),
      .first_slot(s1_slot),
      .first_entry(first_entry),
      .second_slot(answer_slot),
      .second_entry(second_entry),
      .write_slot(write_slot),
      .write_entry(write_entry),
      .e_slot(e_slot),
      .e_index(e_index),
      .pinned_any(pinned_any)
  );
  context_transfers #(
      .FETCHES(FETCHES),
      .WRITES(WRITES),
      .SLOT_BITS(SLOT_BITS)
  ) u_transfers (
      .clk(clk),
      .rst_n(rst_n),
      .index(l_index),
      .write_there(write_there),
      .any_fetch(any_fetch),
      .free_fetch(free_fetch),
      .any_write(any_write),
      .free_write(free_write),
      .begins(begins),
      .evicts(l_evicts),
      .defers(l_defers),
      .room_slot(room_slot),
      .room_index(room_index),
      .filled(filled),
      .r_fetch(r_fetch),
      .r_slot(r_slot),
      .landed(evict_landed),
      .w_number(w_number[VB-1:0]),
      .landed_index(landed_index),
      .blocked(give_writes || writes_again || reads_again || (s1_valid && (s1_reads || s1_writes))),
      .any_deferred(any_deferred),
      .e_go(e_go),
      .e_fetch(e_fetch),
      .e_slot(e_slot),
      .e_write(e_write),
      .e_evicted(e_evicted),
      .none(transfers_none)
  );
  context_waiters #(
      .TAG_BITS(TAG_BITS),
      .SB($clog2(SETS)),
      .SLOT_BITS(SLOT_BITS),
      .FETCH_BITS(FETCH_BITS)
  ) u_waiters (
      .clk(clk),
      .rst_n(rst_n),
      .q_tag(q_tag),
      .q_op(q_op),
      .q_index(q_index),
      .q_base(q_base),
      .q_entries(q_entries),
      .quiet(!pinned_any && transfers_none),
      .settled(settled),
      .l_retry(l_retry),
      .l_tag(l_tag),
      .l_op(l_op),
      .l_index(l_index),
      .l_base(l_base),
      .l_entries(l_entries),
      .drop_there(drop_there),
      .l_new(l_new),
      .l_again(l_again),
      .l_answers(l_answers),
      .l_no_fetch(l_no_fetch),
      .l_waits(l_waits),
      .l_fetch(l_fetches ? free_fetch : hit_fetch),
      .l_slot(l_slot),
      .filled(filled),
      .r_failed(r_failed),
      .r_fetch(r_fetch),
      .r_slot(r_slot),
      .holders(holders),
      .g_slot(g_slot),
      .gives_last(gives_last),
      .gives_up(gives_up),
      .give_writes(give_writes),
      .giving_tag(giving_tag),
      .giving_young(giving_young),
      .evict_landed(evict_landed),
      .landed_index(landed_index),
      .drop_landed(drop_landed),
      .d_tag(w_number),
      .d_slot(d_slot),
      .d_index(d_index),
      .any_answer(any_answer),
      .answer_tag(answer_tag),
      .answer_slot(answer_slot),
      .answer_failed(answer_failed),
      .answer_waits(answer_waits)
  );

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      area_entries <= '0;
      s0_valid <= 1'b0;
      s1_valid <= 1'b0;
    end else begin
      if (!frozen) begin
        s0_valid <= l_new;
        s1_valid <= s0_valid;
      end
      if (l_moves && l_clears) area_entries <= l_entries;
    end
  end
  always_ff @(posedge clk) begin
    if (l_moves && l_clears) area_base <= l_base;
    if (!frozen) begin
      s0 <= {l_answers, l_failed, l_reads, l_writes, l_drop_writes, l_tag, l_slot, free_fetch, l_write, l_index, l_evicted};
      s1 <= s0;
    end
  end

  // Apart from what goes to a stream, which keeps the clock going.
  assign idle = !s0_valid && !s1_valid && !l_retry;
endmodule
