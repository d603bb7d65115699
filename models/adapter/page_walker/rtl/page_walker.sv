// Virtual to physical. Streams are valid/ready.
//
//   req      a walk or a drop a cycle, by tag; a tag is in use until it is answered
//   rsp      a hit, a map without a table and a drop: HIT_LATENCY cycles after req; a miss in the cycle its line comes
//   mem_req  one read per level that is missed: 8 bytes, of the last level a line of 64; in flight under the number of the tag
//   mem_rsp  always taken
//
// The first miss of a line leads its walk, later ones wait behind it; a lead that finds no walker waits in order. A drop
// forgets cached entries; walks of what it covers still answer, but leave nothing behind, and no walk joins them.
module page_walker #(
    parameter int TAG_BITS = 5,   // requests in flight; as many lines may be missed at once
    parameter int LEAF_SETS = 256,
    parameter int LEAF_WAYS = 4,
    parameter int UPPER_SETS = 16,
    parameter int UPPER_WAYS = 4,
    parameter int WALKERS = 4
) (
    input logic clk,
    input logic rst_n,

    input  logic req_valid,
    output logic req_ready,
    input  logic [TAG_BITS+372:0] req_data,  // tag, length, last, va, translation_t, write, drop

    output logic rsp_valid,
    input  logic rsp_ready,
    output logic [TAG_BITS+129:0] rsp_data,  // tag, bytes, physical, status

    output logic mem_req_valid,
    input  logic mem_req_ready,
    output logic [TAG_BITS+65:0] mem_req_data,  // tag, level (0: a whole line), address
    input  logic mem_rsp_valid,
    output logic mem_rsp_ready,
    input  logic [TAG_BITS+512:0] mem_rsp_data,  // tag, failed, data

    output logic idle
);
  localparam int TAGS = 1 << TAG_BITS;
  localparam logic [1:0] OK = 2'd0;
  localparam logic [1:0] NOT_PRESENT = 2'd1;
  localparam logic [1:0] TABLE_ERROR = 2'd2;

  // ---- look-up, in the cycle the request is taken
  logic [TAG_BITS-1:0] tag;
  logic [63:0] length, last, va;
  hca_pkg::translation_t map;
  logic is_drop, is_write, taken;
  assign {tag, length, last, va, map, is_write, is_drop} = req_data;
  assign taken = req_valid && req_ready;

  logic [63:0] relative, page, line_number;
  assign relative = va - map.table_va;
  assign page = relative >> map.page_shift[5:0];
  assign line_number = page >> 3;

  logic leaf_hit, sane, tabled, walkable;
  logic [511:0] leaf_line;
  assign sane = map.levels <= 8'd4 && map.page_shift >= 8'd12 && map.page_shift <= 8'd52;
  assign tabled = map.levels != 8'd0;
  assign walkable = !is_drop && !map.null_region && tabled && sane;

  // ---- what is known of each tag
  logic [178:0] r_map[TAGS];
  logic [TAGS-1:0] r_write;
  logic [63:0] r_va[TAGS];
  logic [63:0] r_length[TAGS];
  logic [TAGS-1:0] leads;      // its walk has not ended
  logic [TAGS-1:0] poisoned;   // its line was dropped
  logic [TAGS-1:0] outdated;   // something of its tag was dropped
  logic [1:0] w_level[TAGS];
  logic [TAGS-1:0] has_next;   // a walk waits behind it
  logic [TAG_BITS-1:0] next_waiter[TAGS];
  logic [TAG_BITS-1:0] last_waiter[TAGS];
  logic [511:0] r_line[TAGS];
  logic [1:0] r_failure[TAGS];

  // ---- a line that comes
  logic [TAG_BITS-1:0] m_tag;
  logic m_failed;
  logic [511:0] m_data;
  assign {m_tag, m_failed, m_data} = mem_rsp_data;
  assign mem_rsp_ready = 1'b1;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::translation_t m_map;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [63:0] m_va, m_relative, m_page, m_line;
  logic [1:0] m_level;
  logic m_last, m_ends, m_descends, m_node_missing;
  always_comb begin
    m_map = '0;
    m_va = 64'd0;
    m_relative = 64'd0;
    m_page = 64'd0;
    if (mem_rsp_valid) begin
      m_map = r_map[m_tag];
      m_va = r_va[m_tag];
      m_relative = m_va - m_map.table_va;
      m_page = (m_relative >> m_map.page_shift[5:0]) & ~64'd7;
    end
  end
  assign m_line = m_page >> 3;
  assign m_level = w_level[m_tag];
  assign m_last = m_level == 2'd0;
  assign m_node_missing = !m_last && !m_data[0];
  assign m_ends = mem_rsp_valid && (m_failed || m_last || m_node_missing);
  assign m_descends = mem_rsp_valid && !m_ends;
  logic [63:0] m_node;
  assign m_node = {m_data[63:6], 6'd0};

  // ---- who leads the walk of this line
  logic joins;
  logic [TAG_BITS-1:0] lead;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::translation_t other;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [63:0] other_line;
  logic [TAGS-1:0] same_line, covered, same_tag;
  logic [63:0] other_first, other_span;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [7:0] other_shift;
  /* verilator lint_on UNUSEDSIGNAL */
  always_comb begin
    joins = 1'b0;
    lead = '0;
    other = '0;
    other_line = 64'd0;
    other_first = 64'd0;
    other_span = 64'd0;
    other_shift = 8'd0;
    same_tag = '0;
    same_line = '0;
    covered = '0;
    if (req_valid) begin
      for (int i = TAGS - 1; i >= 0; i--) begin
        if (leads[i]) begin
          other = r_map[i];
          other_line = (r_va[i] - other.table_va) >> other.page_shift[5:0] >> 3;
          same_tag[i] = other.index == map.index;
          same_line[i] = same_tag[i] && other.table_root == map.table_root && other_line == line_number && !poisoned[i];
          other_shift = other.page_shift + 8'd3;
          other_first = other.table_va + (other_line << other_shift[5:0]);
          other_span = (64'd1 << other_shift[5:0]) - 64'd1;
          covered[i] = same_tag[i] && (va - other_first <= other_span || other_first - va <= last - va);
          if (same_line[i]) begin
            joins = 1'b1;
            lead = TAG_BITS'(i);
          end
        end
      end
    end
  end

  // ---- caches
  logic leaf_present;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [63:0] leaf_entry;
  /* verilator lint_on UNUSEDSIGNAL */
  assign leaf_entry = leaf_line[64*page[2:0]+:64];
  // An entry that is present may be for reading only.
  assign leaf_present = leaf_hit && leaf_entry[0] && !(leaf_entry[1] && is_write);

  logic m_fills, m_learns, drops;
  assign drops = taken && is_drop;
  assign m_fills = mem_rsp_valid && !m_failed && m_last && !poisoned[m_tag] && !(drops && covered[m_tag]);
  assign m_learns = m_descends && !outdated[m_tag] && !(drops && same_tag[m_tag]);
  logic [7:0] m_leaf_shift;
  assign m_leaf_shift = m_map.page_shift + 8'd3;
  translation_lookup #(
      .SETS(LEAF_SETS),
      .WAYS(LEAF_WAYS),
      .BITS(512)
  ) u_leaves (
      .clk(clk),
      .rst_n(rst_n),
      .asked(req_valid),
      .use_it(taken && walkable),
      .tag(map.index),
      .root(map.table_root),
      .number(line_number),
      .hit(leaf_hit),
      .hit_data(leaf_line),
      .put(m_fills),
      .put_tag(m_map.index),
      .put_root(m_map.table_root),
      .put_number(m_line),
      .put_first(m_map.table_va + (m_line << m_leaf_shift[5:0])),
      .put_shift(m_leaf_shift),
      .put_data(m_data),
      .drop(drops),
      .drop_tag(map.index),
      .drop_first(va),
      .drop_last(last)
  );

  // ---- walks begin: at the look-up, or when a walker is free again
  localparam int WB = $clog2(WALKERS + 1);
  logic [WB-1:0] walking;
  logic walker_free, queue_any, begins_now, begins_queued, begins, enqueues, misses, launch_blocked;
  logic [TAG_BITS-1:0] queue[TAGS];
  logic [TAG_BITS-1:0] queue_head, queue_tail;
  logic [TAG_BITS:0] queue_count;
  assign queue_any = queue_count != '0;
  assign walker_free = walking != WB'(WALKERS) || m_ends;
  assign misses = taken && walkable && !leaf_present;
  assign begins_now = misses && !joins && walker_free && !queue_any;
  assign enqueues = misses && !joins && !begins_now;
  assign begins_queued = queue_any && walker_free && !launch_blocked;
  assign begins = begins_now || begins_queued;

  logic [TAG_BITS-1:0] b_tag;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::translation_t b_map;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [63:0] b_relative, b_page;
  assign b_tag = queue_any ? queue[queue_head] : tag;
  always_comb begin
    b_map = '0;
    b_relative = 64'd0;
    b_page = 64'd0;
    if (begins) begin
      b_map = queue_any ? r_map[b_tag] : map;
      b_relative = (queue_any ? r_va[b_tag] : va) - b_map.table_va;
      b_page = (b_relative >> b_map.page_shift[5:0]) & ~64'd7;
    end
  end

  // The lowest node that is known. upper[i] knows the nodes of level i by their numbers; the root is the map's.
  logic [2:0] upper_hit, upper_asked;
  logic [63:0] upper_node[3];
  logic [1:0] b_level;
  logic [63:0] b_node;
  always_comb begin
    b_level = b_map.levels[1:0] - 2'd1;
    b_node = b_map.table_root;
    upper_asked = 3'b000;
    for (int l = 2; l >= 0; l--) begin
      if (8'(l) + 8'd1 < b_map.levels && upper_hit[l]) begin
        b_level = 2'(l);
        b_node = upper_node[l];
        upper_asked = 3'b001 << l;
      end
    end
  end
  for (genvar l = 0; l < 3; l++) begin : g_upper
    localparam int SHIFT = 9 * (l + 1);
    logic [7:0] put_shift;
    logic [63:0] put_number;
    assign put_shift = m_map.page_shift + 8'(SHIFT);
    assign put_number = m_page >> SHIFT;
    translation_lookup #(
        .SETS(UPPER_SETS),
        .WAYS(UPPER_WAYS),
        .BITS(64)
    ) u_nodes (
        .clk(clk),
        .rst_n(rst_n),
        .asked(begins),
        .use_it(begins && upper_asked[l]),
        .tag(b_map.index),
        .root(b_map.table_root),
        .number(b_page >> SHIFT),
        .hit(upper_hit[l]),
        .hit_data(upper_node[l]),
        .put(m_learns && m_level == 2'(l + 1)),
        .put_tag(m_map.index),
        .put_root(m_map.table_root),
        .put_number(put_number),
        .put_first(m_map.table_va + (put_shift < 8'd64 ? put_number << put_shift[5:0] : 64'd0)),
        .put_shift(put_shift),
        .put_data(m_node),
        .drop(drops),
        .drop_tag(map.index),
        .drop_first(va),
        .drop_last(last)
    );
  end

  // The address of the entry for a page in a node of a level; a root has as many entries as it needs.
  function automatic logic [63:0] entry_address(input logic [63:0] node, input logic [63:0] at, input logic [1:0] level,
                                                input logic [7:0] levels);
    logic [63:0] entry;
    entry = at >> (6'd9 * {4'd0, level});
    if ({6'd0, level} + 8'd1 < levels) entry = {55'd0, entry[8:0]};
    entry_address = node + (entry << 3);
  endfunction

  // ---- the pipeline of answers and of first reads
  logic s0_valid, s1_valid, s2_valid, s0_launch, s1_launch, s2_launch;
  logic [TAG_BITS-1:0] s0_tag, s1_tag, s2_tag;
  logic [129:0] s0_body, s1_body, s2_body;  // an answer; a first read: level, address
  logic frozen, chain_active;
  logic [63:0] page_mask, rest, contiguous;
  logic [129:0] answer_now;
  assign page_mask = (64'd1 << map.page_shift[5:0]) - 64'd1;
  assign rest = page_mask + 64'd1 - (relative & page_mask);
  assign contiguous = length < rest ? length : rest;
  always_comb begin
    answer_now = {contiguous, {leaf_entry[63:12], 12'd0} + (relative & page_mask), OK};
    if (is_drop) answer_now = {64'd0, 64'd0, OK};
    else if (map.null_region) answer_now = {64'd0, 64'd0, NOT_PRESENT};
    else if (!tabled) answer_now = {length, va, OK};
    else if (!sane) answer_now = {64'd0, 64'd0, TABLE_ERROR};
  end
  // Lines that come have the right of way. A join must not miss the end of the walk that it would wait for.
  assign frozen = s2_valid && (s2_launch ? m_descends : m_ends || chain_active);
  assign launch_blocked = m_descends || (s2_valid && s2_launch);
  assign req_ready = !frozen && !(m_ends && joins && lead == m_tag);

  // ---- the end of a walk: its lead is answered at once, those behind it one after the other
  logic [TAG_BITS-1:0] chain_tag, finished[TAGS], finished_head, finished_tail;
  logic [TAG_BITS:0] finished_count;
  logic chain_now, chain_leads, a_put, a_from_memory;
  logic [TAG_BITS-1:0] a_tag;
  assign a_from_memory = m_ends && !chain_active;
  assign a_put = chain_active || m_ends;
  assign a_tag = chain_active ? chain_tag : m_tag;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::translation_t a_map;
  /* verilator lint_on UNUSEDSIGNAL */
  /* verilator lint_off UNUSEDSIGNAL */
  logic [63:0] a_relative, a_page, a_mask, a_rest, a_entry;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [511:0] a_line, chain_line;  // the tag of a lead that was answered may be in use again
  logic [1:0] a_failure, chain_failure, m_failure;
  logic [129:0] a_answer;
  assign m_failure = m_failed ? TABLE_ERROR : m_last ? OK : NOT_PRESENT;
  assign a_failure = a_from_memory ? m_failure : chain_leads ? r_failure[chain_tag] : chain_failure;
  always_comb begin
    a_map = '0;
    a_relative = 64'd0;
    a_page = 64'd0;
    a_mask = 64'd0;
    a_rest = 64'd0;
    a_line = '0;
    a_entry = 64'd0;
    a_answer = '0;
    if (a_put) begin
      a_map = r_map[a_tag];
      a_relative = r_va[a_tag] - a_map.table_va;
      a_page = a_relative >> a_map.page_shift[5:0];
      a_mask = (64'd1 << a_map.page_shift[5:0]) - 64'd1;
      a_rest = a_mask + 64'd1 - (a_relative & a_mask);
      a_line = a_from_memory ? m_data : chain_leads ? r_line[chain_tag] : chain_line;
      a_entry = a_line[64*a_page[2:0]+:64];
      a_answer = {r_length[a_tag] < a_rest ? r_length[a_tag] : a_rest, {a_entry[63:12], 12'd0} + (a_relative & a_mask), OK};
      if (a_failure != OK) a_answer = {64'd0, 64'd0, a_failure};
      else if (!a_entry[0] || (a_entry[1] && r_write[a_tag])) a_answer = {64'd0, 64'd0, NOT_PRESENT};
    end
  end

  logic rsp_stored, mem_stored;
  fall_through #(
      .DEPTH(TAGS),
      .BITS(TAG_BITS + 130)
  ) u_rsp (
      .clk(clk),
      .rst_n(rst_n),
      .put(a_put || (s2_valid && !s2_launch)),
      .put_data(a_put ? {a_tag, a_answer} : {s2_tag, s2_body}),
      .out_valid(rsp_valid),
      .out_ready(rsp_ready),
      .out_data(rsp_data),
      .stored(rsp_stored)
  );
  logic [65:0] m_read, b_read;
  logic [1:0] m_below;
  assign m_below = m_level - 2'd1;
  assign m_read = {m_below, entry_address(m_node, m_page, m_below, m_map.levels)};
  assign b_read = {b_level, entry_address(b_node, b_page, b_level, b_map.levels)};
  fall_through #(
      .DEPTH(TAGS),
      .BITS(TAG_BITS + 66)
  ) u_mem_req (
      .clk(clk),
      .rst_n(rst_n),
      .put(m_descends || (s2_valid && s2_launch) || begins_queued),
      .put_data(m_descends ? {m_tag, m_read} : s2_valid && s2_launch ? {s2_tag, s2_body[65:0]} : {b_tag, b_read}),
      .out_valid(mem_req_valid),
      .out_ready(mem_req_ready),
      .out_data(mem_req_data),
      .stored(mem_stored)
  );

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      leads <= '0;
      poisoned <= '0;
      outdated <= '0;
      has_next <= '0;
      walking <= '0;
      queue_head <= '0;
      queue_tail <= '0;
      queue_count <= '0;
      s0_valid <= 1'b0;
      s1_valid <= 1'b0;
      s2_valid <= 1'b0;
      chain_active <= 1'b0;
      finished_head <= '0;
      finished_tail <= '0;
      finished_count <= '0;
    end else begin
      // look-up
      if (!frozen) begin
        s0_valid <= taken && (!misses || begins_now);
        s1_valid <= s0_valid;
        s2_valid <= s1_valid;
      end
      if (misses) begin
        has_next[tag] <= 1'b0;
        if (joins) has_next[last_waiter[lead]] <= 1'b1;
        else begin
          leads[tag] <= 1'b1;
          poisoned[tag] <= 1'b0;
          outdated[tag] <= 1'b0;
        end
      end
      if (drops) begin
        poisoned <= poisoned | covered;
        outdated <= outdated | same_tag;
      end
      // walks
      walking <= walking + WB'(begins) - WB'(m_ends);
      if (m_ends) leads[m_tag] <= 1'b0;
      if (enqueues) queue_tail <= queue_tail + 1'b1;
      if (begins_queued) queue_head <= queue_head + 1'b1;
      queue_count <= queue_count + (TAG_BITS + 1)'(enqueues) - (TAG_BITS + 1)'(begins_queued);
      // answers
      finished_count <= finished_count + (TAG_BITS + 1)'(finish_store) - (TAG_BITS + 1)'(finish_take);
      if (finish_store) finished_tail <= finished_tail + 1'b1;
      if (finish_take) finished_head <= finished_head + 1'b1;
      chain_active <= chain_now;
    end
  end

  // After an answer: the next one behind the same lead, or the next walk that has ended meanwhile.
  logic finish_store, finish_take, a_more;
  assign a_more = a_put && has_next[a_tag];
  assign finish_store = m_ends && chain_active;
  assign finish_take = !a_more && finished_count != '0;
  assign chain_now = a_more || finished_count != '0;

  always_ff @(posedge clk) begin
    if (!frozen) begin
      s0_launch <= begins_now;
      s0_tag <= tag;
      s0_body <= begins_now ? {64'd0, b_read} : answer_now;
      s1_launch <= s0_launch;
      s1_tag <= s0_tag;
      s1_body <= s0_body;
      s2_launch <= s1_launch;
      s2_tag <= s1_tag;
      s2_body <= s1_body;
    end
    if (misses) begin
      r_map[tag] <= map;
      r_va[tag] <= va;
      r_write[tag] <= is_write;
      r_length[tag] <= length;
      last_waiter[tag] <= tag;
      if (joins) begin
        next_waiter[last_waiter[lead]] <= tag;
        last_waiter[lead] <= tag;
      end
    end
    if (begins) w_level[b_tag] <= b_level;
    if (m_descends) w_level[m_tag] <= m_below;
    if (enqueues) queue[queue_tail] <= tag;
    if (m_ends) begin
      r_line[m_tag] <= m_data;
      r_failure[m_tag] <= m_failure;
    end
    if (finish_store) finished[finished_tail] <= m_tag;
    if (a_put) begin
      chain_line <= a_line;
      chain_failure <= a_failure;
    end
    chain_leads <= !a_more;
    chain_tag <= a_more ? next_waiter[a_tag] : finished[finished_head];
  end

  assign idle = !s0_valid && !s1_valid && !s2_valid && !chain_active && finished_count == '0 && !rsp_stored && !mem_stored &&
                !(queue_any && walker_free);

`ifdef VERILATOR
  logic mem_known, tag_idle;
  assign mem_known = leads[m_tag];
  assign tag_idle = !leads[tag];
  a_mem_known : assert property (@(posedge clk) disable iff (!rst_n) mem_rsp_valid |-> mem_known);
  a_walkers : assert property (@(posedge clk) disable iff (!rst_n) walking <= WB'(WALKERS));
  a_tag_free : assert property (@(posedge clk) disable iff (!rst_n) taken |-> tag_idle);
`endif
endmodule
