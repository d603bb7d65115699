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
  localparam int N = SETS * WAYS;
  localparam int SB = $clog2(SETS);
  localparam int WB = $clog2(WAYS);
  localparam int VB = $clog2(WRITES);
  localparam int PB = TAG_BITS + 1;

  function automatic logic [63:0] address_of(input logic [31:0] index);
    address_of = area_base + (64'(index) << $clog2(ENTRY_BYTES));
  endfunction

  // ---- entries
  logic [N-1:0] occupied, fetching, dropping, dirty;
  logic [31:0] indices[N];
  logic [PB-1:0] pins[N];
  logic [EB-1:0] entries[N];
  logic [FETCH_BITS-1:0] fetch_of[N];
  logic [63:0] area_base;
  logic [31:0] area_entries;

  // ---- requests that wait, and who of them is older
  logic [3:0] doing[TAGS];
  logic [1:0] t_op[TAGS];
  logic [31:0] t_index[TAGS];
  logic [63:0] t_base[TAGS];
  logic [31:0] t_entries[TAGS];
  logic [TAG_BITS-1:0] t_on[TAGS];  // fetch, drop or write it waits for
  logic [SLOT_BITS-1:0] t_slot[TAGS];
  logic [TAGS-1:0] t_failed, t_young, t_no_fetch, t_waits;
  logic [TAGS-1:0] older_than[TAGS];

  // ---- reads and writes under way
  logic [FETCHES-1:0] f_busy;
  logic [SLOT_BITS-1:0] f_slot[FETCHES];
  logic [WRITES-1:0] w_busy;
  logic [31:0] w_index[WRITES];
  // Reads that wait for a write buffer: what makes room for their entry is dirty.
  logic [FETCHES-1:0] e_waits;
  logic [31:0] e_index[FETCHES];
  logic [FETCH_BITS-1:0] e_queue[FETCHES];
  logic [FETCH_BITS-1:0] e_head, e_tail, e_fetch;
  logic [FETCH_BITS:0] e_count;
  logic e_go;
  logic any_fetch, any_write;
  logic [FETCH_BITS-1:0] free_fetch;
  logic [VB-1:0] free_write;
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

  // ---- what comes in this cycle
  logic [TAG_BITS-1:0] q_tag;
  logic [31:0] q_entries, q_index;
  logic [63:0] q_base;
  logic [1:0] q_op;
  assign {q_tag, q_entries, q_base, q_index, q_op} = req_data;
  logic [FETCH_BITS-1:0] r_fetch;
  logic r_failed;
  logic [EB-1:0] r_entry;
  assign {r_fetch, r_failed, r_entry} = rd_rsp_data;
  logic [SLOT_BITS-1:0] r_slot;
  assign r_slot = f_slot[r_fetch];
  logic g_dirty;
  logic [SLOT_BITS-1:0] g_slot;
  logic [EB-1:0] g_entry;
  assign {g_dirty, g_slot, g_entry} = rel_data;
  logic w_of_drop;
  logic [TAG_BITS-1:0] w_number;
  assign {w_of_drop, w_number} = wr_rsp_data;
  assign rd_rsp_ready = 1'b1;
  assign wr_rsp_ready = 1'b1;

  logic released, gives_up, written, filled;
  assign released = rel_valid && rel_ready;
  assign filled = rd_rsp_valid;
  assign written = wr_rsp_valid;
  // The last holder of an entry that is to be dropped.
  assign gives_up = released && dropping[g_slot] && pins[g_slot] == PB'(1);
  logic give_writes;
  assign give_writes = gives_up && (g_dirty || dirty[g_slot]);

  // ---- the look-up: of the oldest that may try again, otherwise of a new request
  logic any_retry, any_area, settled;
  logic [TAG_BITS-1:0] retry_tag, area_tag;
  logic [TAGS-1:0] retries;
  always_comb begin
    any_retry = 1'b0;
    retry_tag = '0;
    any_area = 1'b0;
    area_tag = '0;
    for (int i = 0; i < TAGS; i++) retries[i] = doing[i] == context_pkg::RETRY;
    for (int i = 0; i < TAGS; i++) begin
      if (retries[i] && (older_than[i] & retries) == '0) begin
        any_retry = 1'b1;
        retry_tag = TAG_BITS'(i);
      end
      if (doing[i] == context_pkg::AREA) begin
        any_area = 1'b1;
        area_tag = TAG_BITS'(i);
      end
    end
  end
  logic pinned_any;
  logic [15:0] pinned;
  assign pinned_any = pinned != '0;
  logic [TAGS-1:0] waits_but_area;
  assign waits_but_area = t_waits & ~(any_area ? TAGS'(1) << area_tag : '0);
  assign settled = !pinned_any && f_busy == '0 && w_busy == '0 && waits_but_area == '0;

  logic retry_area, l_retry;
  logic [TAG_BITS-1:0] l_tag;
  logic [1:0] l_op;
  logic [31:0] l_index, l_entries;
  logic [63:0] l_base;
  assign retry_area = any_area && !any_retry && settled;
  assign l_retry = any_retry || retry_area;
  assign l_tag = any_retry ? retry_tag : any_area ? area_tag : q_tag;
  assign l_op = l_retry ? t_op[l_tag] : q_op;
  assign l_index = l_retry ? t_index[l_tag] : q_index;
  assign l_base = l_retry ? t_base[l_tag] : q_base;
  assign l_entries = l_retry ? t_entries[l_tag] : q_entries;

  logic [SB-1:0] set;
  logic hits_now;
  logic hit, room, room_empty, drop_there, write_there, set_stalled, fetch_stalled;
  logic [WB-1:0] hit_way, room_way, candidate_age;
  logic [SLOT_BITS-1:0] slot, room_slot, way_slot;
  logic [TAG_BITS-1:0] drop_tag;
  logic [WAYS*WB-1:0] set_ages;
  assign set = l_index[SB-1:0];
  lru_ages #(
      .SETS(SETS),
      .WAYS(WAYS)
  ) u_ages (
      .clk(clk),
      .rst_n(rst_n),
      .set(set),
      .ages(set_ages),
      .hit(hits_now),
      .hit_way(hit_way),
      .fill(filled && !r_failed),
      .fill_slot(r_slot)
  );
  always_comb begin
    hit = 1'b0;
    hit_way = '0;
    room = 1'b0;
    room_empty = 1'b0;
    room_way = '0;
    candidate_age = '0;
    way_slot = '0;
    for (int w = WAYS - 1; w >= 0; w--) begin
      way_slot = {set, WB'(w)};
      if (occupied[way_slot] && indices[way_slot] == l_index) begin
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
    drop_there = 1'b0;
    drop_tag = '0;
    set_stalled = 1'b0;
    fetch_stalled = 1'b0;
    for (int i = 0; i < TAGS; i++) begin
      if ((doing[i] == context_pkg::DROP_PINNED || doing[i] == context_pkg::DROP_FETCHING || doing[i] == context_pkg::DROP_WRITING) &&
          t_index[i] == l_index) begin
        drop_there = 1'b1;
        drop_tag = TAG_BITS'(i);
      end
      if ((doing[i] == context_pkg::STALLED || doing[i] == context_pkg::RETRY) && t_op[i] == context_pkg::FETCH) begin
        if (t_no_fetch[i]) fetch_stalled = 1'b1;
        else if (t_index[i][SB-1:0] == set) set_stalled = 1'b1;
      end
    end
    write_there = 1'b0;
    for (int i = 0; i < WRITES; i++) begin
      if (w_busy[i] && w_index[i] == l_index) write_there = 1'b1;
    end
    for (int i = 0; i < FETCHES; i++) begin
      if (e_waits[i] && e_index[i] == l_index) write_there = 1'b1;
    end
  end
  assign slot = {set, hit_way};
  assign room_slot = {set, room_way};

  // What becomes of it.
  logic l_beyond, l_answers, l_hits, l_fetches, l_evicts, l_defers, l_forgets, l_drop_writes, l_clears, l_moves;
  logic [3:0] l_waits;
  logic [TAG_BITS-1:0] l_on;
  logic l_no_fetch, evict_dirty;
  assign l_beyond = l_index >= area_entries;
  assign evict_dirty = !room_empty && dirty[room_slot];
  context_rules u_rules (
      .op(l_op),
      .again(l_retry),
      .beyond(l_beyond),
      .hit(hit),
      .fetching(fetching[slot]),
      .pinned(pins[slot] != '0),
      .dirty(dirty[slot]),
      .drop_there(drop_there),
      .write_there(write_there),
      .any_fetch(any_fetch),
      .fetch_stalled(fetch_stalled),
      .room(room),
      .set_stalled(set_stalled),
      .evict_dirty(evict_dirty),
      .any_write(any_write && e_count == '0),
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
  always_comb begin
    l_on = '0;
    if (l_waits == context_pkg::FOR_DROP) l_on = drop_tag;
    else if (l_waits == context_pkg::FOR_FETCH) l_on = l_fetches ? TAG_BITS'(free_fetch) : TAG_BITS'(fetch_of[slot]);
  end

  // Nothing is decided about an entry in the cycle something happens to it.
  logic hazard;
  assign hazard = (filled && indices[r_slot] == l_index) || (written && !w_of_drop && w_index[w_number[VB-1:0]] == l_index) ||
                  (written && w_of_drop && t_index[w_number] == l_index) || (gives_up && indices[g_slot] == l_index) ||
                  (l_op == context_pkg::DROP && rel_valid && hit && g_slot == slot);
  logic frozen, l_new, l_again;
  assign l_new = req_valid && !l_retry && !any_area && !hazard && !frozen;
  // Another try goes straight to the streams.
  assign l_again = l_retry && !hazard && !(s1_valid && ((s1_reads && l_fetches) || (s1_writes && (l_evicts || l_drop_writes)))) &&
                   !(gives_up && (l_evicts || l_drop_writes));
  assign l_moves = l_new || l_again;
  assign hits_now = l_moves && l_hits;
  assign req_ready = l_new;

  // ---- the pipeline of what is decided at once: answers, reads, writes
  logic s0_valid, s1_valid, s0_answers, s1_answers, s0_failed, s1_failed, s0_reads, s1_reads, s0_writes, s1_writes, s0_drops, s1_drops;
  logic [TAG_BITS-1:0] s0_tag, s1_tag;
  logic [SLOT_BITS-1:0] s0_slot, s1_slot;
  logic [FETCH_BITS-1:0] s0_fetch, s1_fetch;
  logic [TAG_BITS-1:0] s0_write, s1_write;
  logic [31:0] s0_index, s1_index, s0_evicted, s1_evicted;

  // ---- answers of those that waited: in this very cycle if what they waited for comes now
  logic [TAGS-1:0] comes, ready_now, fails_now;
  logic any_answer, answers_again;
  logic [TAG_BITS-1:0] answer_tag;
  logic [SLOT_BITS-1:0] answer_slot;
  assign answers_again = l_again && l_answers;
  always_comb begin
    any_answer = 1'b0;
    answer_tag = '0;
    for (int i = 0; i < TAGS; i++) begin
      fails_now[i] = doing[i] == context_pkg::ANSWER ? t_failed[i] :
                     doing[i] == context_pkg::RETRY  ? !l_hits && l_op == context_pkg::FETCH :
                                                       filled && r_failed && doing[i] == context_pkg::FOR_FETCH;
      comes[i] = (filled && doing[i] == context_pkg::FOR_FETCH && t_on[i] == TAG_BITS'(r_fetch)) ||
                 (filled && r_failed && doing[i] == context_pkg::DROP_FETCHING && t_slot[i] == r_slot) ||
                 (gives_up && !give_writes && released && doing[i] == context_pkg::DROP_PINNED && t_slot[i] == g_slot) ||
                 (written && w_of_drop && w_number == TAG_BITS'(i)) || (answers_again && l_tag == TAG_BITS'(i));
      ready_now[i] = (comes[i] || doing[i] == context_pkg::ANSWER) && !t_young[i];
    end
    for (int i = 0; i < TAGS; i++) begin
      if (ready_now[i] && (older_than[i] & ready_now) == '0) begin
        any_answer = 1'b1;
        answer_tag = TAG_BITS'(i);
      end
    end
    answer_slot = answers_again && l_tag == answer_tag ? slot : t_slot[answer_tag];
  end
  assign frozen = s1_valid && s1_writes && give_writes;
  logic rsp_stored, rd_stored, wr_stored;
  logic answer_waits, release_waits;
  always_comb begin
    answer_waits = 1'b0;
    for (int i = 0; i < TAGS; i++) answer_waits |= doing[i] == context_pkg::ANSWER;
  end
  // An answer that stays has bytes from before this cycle: whoever gets it while nobody holds the entry any more would not see
  // what a release has brought meanwhile. The release waits for it.
  logic answers_first, answers_second, answers_stay;
  assign answers_first = s1_valid && s1_answers;
  assign answers_second = filled || written || l_retry || answer_waits;
  assign answers_stay = rsp_stored || (answers_first && answers_second) || ((answers_first || answers_second) && !rsp_ready);
  // A drop that was looked up in the cycle before has not had its two cycles.
  assign rel_ready = !(dropping[g_slot] && t_young[giving_tag]) && !(g_dirty && answers_stay);

  fall_through_two #(
      .DEPTH(TAGS),
      .BITS(TAG_BITS + SLOT_BITS + EB + 1)
  ) u_rsp (
      .clk(clk),
      .rst_n(rst_n),
      .put_first(s1_valid && s1_answers && !frozen),
      .first_data({s1_tag, s1_failed, s1_slot, entries[s1_slot]}),
      .put_second(any_answer),
      .second_data({answer_tag, fails_now[answer_tag], answer_slot, filled && r_slot == answer_slot ? r_entry : entries[answer_slot]}),
      .out_valid(rsp_valid),
      .out_ready(rsp_ready),
      .out_data(rsp_data),
      .stored(rsp_stored)
  );
  logic reads_again;
  assign reads_again = l_again && l_fetches && !l_defers;
  fall_through #(
      .DEPTH(FETCHES),
      .BITS(FETCH_BITS + 64)
  ) u_rd_req (
      .clk(clk),
      .rst_n(rst_n),
      .put((s1_valid && s1_reads && !frozen) || reads_again || e_go),
      .put_data(reads_again ? {free_fetch, address_of(l_index)} :
                e_go ? {e_fetch, address_of(indices[e_slot])} : {s1_fetch, address_of(s1_index)}),
      .out_valid(rd_req_valid),
      .out_ready(rd_req_ready),
      .out_data(rd_req_data),
      .stored(rd_stored)
  );
  logic writes_again;
  logic [SLOT_BITS-1:0] again_slot;
  logic [TAG_BITS-1:0] giving_tag;
  always_comb begin
    giving_tag = '0;
    for (int i = 0; i < TAGS; i++) if (doing[i] == context_pkg::DROP_PINNED && t_slot[i] == g_slot) giving_tag = TAG_BITS'(i);
  end
  assign writes_again = l_again && (l_evicts || l_drop_writes);
  assign again_slot = l_evicts ? room_slot : slot;
  logic [TAG_BITS+EB+64:0] wr_put;
  always_comb begin
    wr_put = {s1_drops, s1_write, address_of(s1_evicted), entries[s1_slot]};
    if (give_writes) wr_put = {1'b1, giving_tag, address_of(indices[g_slot]), g_dirty ? g_entry : entries[g_slot]};
    else if (e_go) wr_put = {1'b0, TAG_BITS'(e_write), address_of(e_index[e_fetch]), entries[e_slot]};
    else if (writes_again)
      wr_put = {l_drop_writes, l_drop_writes ? l_tag : TAG_BITS'(free_write), address_of(indices[again_slot]),
                entries[again_slot]};
  end
  fall_through #(
      .DEPTH(TAGS + WRITES),
      .BITS(TAG_BITS + EB + 65)
  ) u_wr_req (
      .clk(clk),
      .rst_n(rst_n),
      .put(give_writes || writes_again || e_go || (s1_valid && s1_writes && !frozen)),
      .put_data(wr_put),
      .out_valid(wr_req_valid),
      .out_ready(wr_req_ready),
      .out_data(wr_req_data),
      .stored(wr_stored)
  );

  // A write buffer for the oldest read that waits for one.
  logic [SLOT_BITS-1:0] e_slot;
  logic [VB-1:0] e_write;
  logic evict_landed;
  assign evict_landed = written && !w_of_drop;
  assign e_fetch = e_queue[e_head];
  assign e_slot = f_slot[e_fetch];
  assign e_write = any_write ? free_write : w_number[VB-1:0];
  assign e_go = e_count != '0 && (any_write || evict_landed) && !give_writes && !writes_again && !reads_again &&
                !(s1_valid && (s1_reads || s1_writes));

  // How many wait for the read that comes.
  logic [PB-1:0] holders;
  always_comb begin
    holders = '0;
    for (int i = 0; i < TAGS; i++) begin
      if (filled && doing[i] == context_pkg::FOR_FETCH && t_on[i] == TAG_BITS'(r_fetch)) holders = holders + 1'b1;
    end
  end
  logic drop_waits_for_fill;
  always_comb begin
    drop_waits_for_fill = 1'b0;
    for (int i = 0; i < TAGS; i++) if (doing[i] == context_pkg::DROP_FETCHING && t_slot[i] == r_slot) drop_waits_for_fill = 1'b1;
  end

  // Something has become free: those that wait for it try again.
  logic frees_give, frees_drop;
  logic [SB-1:0] r_set;
  assign r_set = r_slot[SLOT_BITS-1:WB];
  assign frees_give = released && pins[g_slot] == PB'(1);
  assign frees_drop = written && w_of_drop;
  function automatic logic frees(input logic [SB-1:0] of_set, input logic no_fetch);
    frees = no_fetch ? filled
                     : (frees_give && g_slot[SLOT_BITS-1:WB] == of_set) || (frees_drop && t_slot[w_number][SLOT_BITS-1:WB] == of_set) ||
                       (filled && r_failed && r_set == of_set) || (l_moves && l_forgets && set == of_set);
  endfunction

  logic l_queues;  // it waits from now on
  assign l_queues = l_moves && l_waits != context_pkg::NOTHING;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      occupied <= '0;
      fetching <= '0;
      dropping <= '0;
      dirty <= '0;
      area_base <= '0;
      area_entries <= '0;
      f_busy <= '0;
      w_busy <= '0;
      e_waits <= '0;
      e_head <= '0;
      e_tail <= '0;
      e_count <= '0;
      pinned <= '0;
      t_waits <= '0;
      t_young <= '0;
      t_failed <= '0;
      release_waits <= 1'b0;
      s0_valid <= 1'b0;
      s1_valid <= 1'b0;
      for (int i = 0; i < TAGS; i++) begin
        doing[i] <= context_pkg::NOTHING;
        older_than[i] <= '0;
      end
    end else begin
      if (!frozen) begin
        s0_valid <= l_new && (l_answers || (l_fetches && !l_defers) || l_drop_writes);
        s1_valid <= s0_valid;
      end
      t_young <= '0;

      // releases
      release_waits <= rel_valid && !rel_ready;
      if (released && g_dirty) dirty[g_slot] <= 1'b1;
      if (gives_up && !give_writes) begin
        occupied[g_slot] <= 1'b0;
        dropping[g_slot] <= 1'b0;
        dirty[g_slot] <= 1'b0;
      end
      pinned <= pinned + 16'(hits_now) + (filled && !r_failed ? 16'(holders) : 16'd0) - 16'(released);

      // fills
      if (filled) begin
        f_busy[r_fetch] <= 1'b0;
        fetching[r_slot] <= 1'b0;
        dirty[r_slot] <= 1'b0;
        occupied[r_slot] <= !r_failed;
        dropping[r_slot] <= drop_waits_for_fill && !r_failed;
      end

      // writes that have landed
      if (evict_landed) w_busy[w_number[VB-1:0]] <= 1'b0;
      if (e_go) begin
        w_busy[e_write] <= 1'b1;
        e_waits[e_fetch] <= 1'b0;
        e_head <= e_head + 1'b1;
      end
      if (l_moves && l_defers) begin
        e_waits[free_fetch] <= 1'b1;
        e_tail <= e_tail + 1'b1;
      end
      e_count <= e_count + (FETCH_BITS + 1)'(l_moves && l_defers) - (FETCH_BITS + 1)'(e_go);
      if (written && w_of_drop) begin
        occupied[t_slot[w_number]] <= 1'b0;
        dropping[t_slot[w_number]] <= 1'b0;
        dirty[t_slot[w_number]] <= 1'b0;
      end

      // the look-up
      if (l_moves) begin
        if (l_fetches) begin
          f_busy[free_fetch] <= 1'b1;
          occupied[room_slot] <= 1'b1;
          fetching[room_slot] <= 1'b1;
          dropping[room_slot] <= 1'b0;
          dirty[room_slot] <= 1'b0;
          if (l_evicts) w_busy[free_write] <= 1'b1;
        end
        if (l_forgets) begin
          occupied[slot] <= 1'b0;
          dirty[slot] <= 1'b0;
        end
        if (l_waits == context_pkg::DROP_PINNED || l_waits == context_pkg::DROP_WRITING) dropping[slot] <= 1'b1;
        if (l_clears) begin
          occupied <= '0;
          dirty <= '0;
          area_base <= l_base;
          area_entries <= l_entries;
        end
      end

      // those that wait
      for (int i = 0; i < TAGS; i++) begin
        if (comes[i]) begin
          doing[i] <= context_pkg::ANSWER;
          t_failed[i] <= fails_now[i];
        end else if (filled && !r_failed && doing[i] == context_pkg::DROP_FETCHING && t_slot[i] == r_slot)
          doing[i] <= context_pkg::DROP_PINNED;
        else if (give_writes && doing[i] == context_pkg::DROP_PINNED && t_slot[i] == g_slot) doing[i] <= context_pkg::DROP_WRITING;
        else if (doing[i] == context_pkg::FOR_WRITE && evict_landed && t_index[i] == w_index[w_number[VB-1:0]])
          doing[i] <= context_pkg::RETRY;
        else if (doing[i] == context_pkg::FOR_DROP && comes[t_on[i]]) doing[i] <= context_pkg::RETRY;
        else if (doing[i] == context_pkg::STALLED && frees(t_index[i][SB-1:0], t_no_fetch[i])) doing[i] <= context_pkg::RETRY;
        older_than[i] <= older_than[i] & ~(any_answer ? TAGS'(1) << answer_tag : '0);
      end
      if (l_queues) begin
        doing[l_tag] <= l_waits == context_pkg::STALLED && frees(set, l_no_fetch) ? context_pkg::RETRY : l_waits;
        if (!l_again) begin
          t_waits[l_tag] <= 1'b1;
          t_young[l_tag] <= 1'b1;
          older_than[l_tag] <= t_waits & ~(any_answer ? TAGS'(1) << answer_tag : '0);
        end
      end
      if (any_answer) begin
        doing[answer_tag] <= context_pkg::NOTHING;
        t_waits[answer_tag] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (!frozen) begin
      s0_answers <= l_answers;
      s0_failed <= l_beyond && l_op == context_pkg::FETCH;
      s0_reads <= l_fetches;
      s0_writes <= l_evicts || l_drop_writes;
      s0_drops <= l_drop_writes;
      s0_tag <= l_tag;
      s0_slot <= l_fetches ? room_slot : slot;
      s0_fetch <= free_fetch;
      s0_write <= l_drop_writes ? l_tag : TAG_BITS'(free_write);
      s0_index <= l_index;
      s0_evicted <= l_fetches ? indices[room_slot] : l_index;
      s1_answers <= s0_answers;
      s1_failed <= s0_failed;
      s1_reads <= s0_reads;
      s1_writes <= s0_writes;
      s1_drops <= s0_drops;
      s1_tag <= s0_tag;
      s1_slot <= s0_slot;
      s1_fetch <= s0_fetch;
      s1_write <= s0_write;
      s1_index <= s0_index;
      s1_evicted <= s0_evicted;
    end
    if (released) begin
      if (g_dirty) entries[g_slot] <= g_entry;
      if (!(hits_now && slot == g_slot)) pins[g_slot] <= pins[g_slot] - 1'b1;
    end
    if (hits_now && !(released && slot == g_slot)) pins[slot] <= pins[slot] + 1'b1;
    if (filled && !r_failed) begin
      entries[r_slot] <= r_entry;
      pins[r_slot] <= holders;
    end
    if (l_moves && l_fetches) begin
      indices[room_slot] <= l_index;
      pins[room_slot] <= '0;
      fetch_of[room_slot] <= free_fetch;
      f_slot[free_fetch] <= room_slot;
      if (l_evicts) w_index[free_write] <= indices[room_slot];
      if (l_defers) begin
        e_index[free_fetch] <= indices[room_slot];
        e_queue[e_tail] <= free_fetch;
      end
    end
    if (e_go) w_index[e_write] <= e_index[e_fetch];
    if (l_queues) begin
      t_op[l_tag] <= l_op;
      t_index[l_tag] <= l_index;
      t_base[l_tag] <= l_base;
      t_entries[l_tag] <= l_entries;
      t_on[l_tag] <= l_on;
      t_slot[l_tag] <= l_fetches ? room_slot : slot;
      t_no_fetch[l_tag] <= l_no_fetch;
    end
    if (answers_again) t_slot[l_tag] <= slot;
  end

  assign idle = !s0_valid && !s1_valid && !rsp_stored && !rd_stored && !wr_stored && !l_retry && !answer_waits && t_young == '0 &&
                !release_waits && !(e_count != '0 && any_write);

`ifdef VERILATOR
  logic tag_idle, read_known, held;
  assign tag_idle = doing[q_tag] == context_pkg::NOTHING;
  assign read_known = f_busy[r_fetch];
  assign held = occupied[g_slot] && !fetching[g_slot] && pins[g_slot] != '0;
  a_tag_free : assert property (@(posedge clk) disable iff (!rst_n) l_new |-> tag_idle);
  a_read_known : assert property (@(posedge clk) disable iff (!rst_n) rd_rsp_valid |-> read_known);
  a_release_pinned : assert property (@(posedge clk) disable iff (!rst_n) rel_valid |-> held);
`endif
endmodule
