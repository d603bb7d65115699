// A key check of another make: one request at a time, other port names, busy instead of ready, a reset that is active
// high. References live in a table of their own; a drain remembers which of its rows were in use when it began.
module my_key_check #(
    parameter int REFERENCES = 64,
    parameter int DRAINS = 4
) (
    input logic ck,
    input logic rst,
    input logic opt_orphans,
    input logic opt_window_2b,

    input  logic         rq_v,
    output logic         rq_busy,
    input  logic [  2:0] rq_flags,  // privileged, remote, element
    input  logic [ 31:0] rq_key,
    input  logic [ 31:0] rq_rights,
    input  logic [ 31:0] rq_pd,
    input  logic [ 31:0] rq_qpn,
    input  logic [ 31:0] rq_generation,
    input  logic [ 15:0] rq_owner,
    input  logic [ 63:0] rq_va,
    input  logic [ 63:0] rq_length,
    input  logic [  7:0] rq_tag,

    output logic         ctx_v,
    input  logic         ctx_busy,
    output logic [ 23:0] ctx_index,
    output logic [  4:0] ctx_slot,
    input  logic         ctx_back_v,  // never more than one under way: always taken
    input  logic [511:0] ctx_back,
    input  logic         ctx_failed,
    input  logic         ctx_beyond,
    input  logic [  4:0] ctx_back_slot,

    output logic         line_v,
    input  logic         line_busy,
    output logic [ 31:0] line_index,
    output logic [  4:0] line_slot,
    input  logic         line_back_v,
    input  logic [511:0] line_back,
    input  logic         line_failed,
    input  logic [  4:0] line_back_slot,

    output logic         an_v,
    input  logic         an_busy,
    output logic [  2:0] an_verdict,
    output logic [ 31:0] an_reference,
    output logic [ 31:0] an_parent_reference,  // of a window whose region was looked at; 0 = none
    output logic [178:0] an_translation,
    output logic [ 63:0] an_offset,
    output logic [127:0] an_piece,
    output logic [  7:0] an_tag,

    input  logic        give_v,
    input  logic [23:0] give_index,
    input  logic [31:0] give_reference,

    input  logic        dr_v,
    output logic        dr_busy,
    input  logic [23:0] dr_index,
    input  logic [ 7:0] dr_tag,
    output logic        dr_done_v,
    input  logic        dr_done_busy,
    output logic [ 7:0] dr_done_tag
);
  localparam int RB = $clog2(REFERENCES);
  localparam int DB = $clog2(DRAINS);

  typedef enum logic [3:0] {IDLE, ASK, WAIT, JUDGE, ASK_PARENT, WAIT_PARENT, JUDGE_PARENT, ASK_LINE, WAIT_LINE, SCAN, ANSWER} state_t;
  state_t state;

  // The request at hand.
  logic element, remote, privileged;
  logic [31:0] key, rights, pd, qpn, generation;
  logic [15:0] owner;
  logic [63:0] va, length;
  hca_pkg::mrc_t mrc;
  logic failed, beyond;
  logic [2:0] verdict;

  // ---- references
  logic [REFERENCES-1:0] used, freed;
  logic [23:0] holder[REFERENCES];
  logic any_free, two_free, holds, take, take_parent, give_up;
  logic [RB-1:0] free_row, row, parent_row;
  always_comb begin
    any_free = 1'b0;
    two_free = 1'b0;
    free_row = '0;
    for (int i = REFERENCES - 1; i >= 0; i--) begin
      if (!used[i]) begin
        two_free = any_free;
        any_free = 1'b1;
        free_row = RB'(i);
      end
    end
  end
  // A reference is its row, plus one.
  logic [31:0] give_row;
  assign give_row = give_reference - 32'd1;
  always_comb begin
    freed = '0;
    if (give_v) freed[give_row[RB-1:0]] = 1'b1;
    if (give_up) freed[row] = 1'b1;
  end

  // ---- drains
  logic [DRAINS-1:0] draining;
  logic [REFERENCES-1:0] waits_for[DRAINS];
  logic [7:0] drain_tag[DRAINS];
  logic any_drain_free, any_done;
  logic [DB-1:0] drain_free, done;
  logic [REFERENCES-1:0] of_index;
  always_comb begin
    any_drain_free = 1'b0;
    drain_free = '0;
    any_done = 1'b0;
    done = '0;
    for (int i = DRAINS - 1; i >= 0; i--) begin
      if (!draining[i]) begin
        any_drain_free = 1'b1;
        drain_free = DB'(i);
      end
    end
    for (int i = 0; i < REFERENCES; i++) of_index[i] = used[i] && !freed[i] && holder[i] == dr_index;
    for (int i = 0; i < DRAINS; i++) begin
      if (draining[i] && waits_for[i] == '0) begin
        any_done = 1'b1;
        done = DB'(i);
      end
    end
  end
  // Not between the arrival of a context and its reference.
  assign dr_busy = state == JUDGE || state == JUDGE_PARENT || !any_drain_free;
  // Once offered the answer stays the same.
  logic offering;
  logic [DB-1:0] offered;
  assign dr_done_v = offering;
  assign dr_done_tag = drain_tag[offered];

  // ---- the rules
  function automatic logic window(logic [7:0] kind);
    return kind == hca_pkg::MRC_WINDOW_1 || kind == hca_pkg::MRC_WINDOW_2;
  endfunction

  logic zero_based, sane, associated, allowed, tableless, secret;
  logic [63:0] first;
  logic [2:0] judged;
  always_comb begin
    secret = mrc.flags[hca_pkg::MRC_FLAG_PRIVILEGED];
    zero_based = window(mrc.kind) && mrc.access[hca_pkg::ACCESS_ZERO_BASED];
    first = zero_based ? 64'd0 : mrc.start;
    tableless = mrc.kind inside {hca_pkg::MRC_PHYSICAL, hca_pkg::MRC_NULL, hca_pkg::MRC_INDIRECT};
    sane = tableless || (mrc.page_shift inside {8'd12, 8'd16, 8'd21, 8'd30} && mrc.levels inside {[8'd1 : 8'd4]});
    if (mrc.kind == hca_pkg::MRC_ADDRESS_SPACE && mrc.extent_count > hca_pkg::EXTENT_LEVELS) sane = 1'b0;
    unique case (1'b1)
      secret: associated = privileged;
      !secret && mrc.kind == hca_pkg::MRC_WINDOW_2:
      associated = mrc.qpn == qpn && mrc.extent == generation && (mrc.pd == pd || !opt_window_2b);
      !secret && mrc.kind == hca_pkg::MRC_ADDRESS_SPACE:
      associated = mrc.pd == pd && (mrc.qpn == qpn || mrc.qpn == hca_pkg::QPN_ANY);
      default: associated = mrc.pd == pd;
    endcase
    if (mrc.owner != owner) associated = 1'b0;
    allowed = (rights & ~mrc.access) == '0;
    if (remote) allowed &= rights != '0 && !secret;
    else allowed &= !window(mrc.kind);
    if (failed) judged = beyond ? hca_pkg::BAD_INDEX : hca_pkg::TABLE_ERROR;
    else if (key[31:8] == '0 || mrc.kind == hca_pkg::MRC_NONE || mrc.kind >= hca_pkg::MRC_KINDS || mrc.state == hca_pkg::MRC_INVALID)
      judged = hca_pkg::BAD_INDEX;
    else if (mrc.key_byte != key[7:0]) judged = hca_pkg::BAD_KEY;
    else if (mrc.state != hca_pkg::MRC_VALID) judged = hca_pkg::BAD_STATE;
    else if (!associated) judged = hca_pkg::BAD_ASSOCIATION;
    else if (!allowed) judged = hca_pkg::BAD_RIGHTS;
    else if (va < first || length > mrc.length || va - first > mrc.length - length) judged = hca_pkg::BAD_BOUNDS;
    else if (!sane) judged = hca_pkg::TABLE_ERROR;
    else judged = hca_pkg::GRANTED;
  end
  // A piece of an indirect region is looked for without a grant.
  logic piece_there, needs_parent, needs_lines;
  logic [63:0] into_region;
  assign into_region = va - mrc.start;
  assign piece_there = !failed && mrc.kind == hca_pkg::MRC_INDIRECT && mrc.key_byte == key[7:0] && into_region < mrc.length && mrc.extent_count != '0;
  assign needs_parent = opt_orphans && window(mrc.kind);
  assign needs_lines = mrc.kind == hca_pkg::MRC_ADDRESS_SPACE && mrc.extent_count != '0;
  // A window takes the last but one row: its region needs one, too.
  logic rows_free;
  assign rows_free = needs_parent ? two_free : any_free;
  assign take = state == JUDGE && !element && judged == hca_pkg::GRANTED && rows_free;

  // The region of a window, in place. It grants the access, too, and holds a reference of its own.
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::mrc_t parent;
  /* verilator lint_on UNUSEDSIGNAL */
  logic parent_failed, parent_fits;
  assign parent_fits = !parent_failed && parent.state == hca_pkg::MRC_VALID &&
                       parent.kind inside {hca_pkg::MRC_REGION, hca_pkg::MRC_FAST, hca_pkg::MRC_ADDRESS_SPACE} &&
                       parent.key_byte == mrc.parent[7:0] && parent.owner == mrc.owner && parent.pd == mrc.pd && parent.start <= mrc.start &&
                       parent.length >= mrc.length && mrc.start - parent.start <= parent.length - mrc.length;
  assign take_parent = state == JUDGE_PARENT && parent_fits;

  // ---- the lines: down a tree for extents, one after the other for elements; inside a line an entry a cycle
  logic [31:0] at, left;  // left: lines down to the extent, or elements
  logic [511:0] line;
  logic [2:0] entry;
  logic [63:0] rest;
  logic [127:0] here;
  assign here = line[128*entry[1:0]+:128];

  assign rq_busy = state != IDLE;
  assign ctx_v = state == ASK || state == ASK_PARENT;
  assign ctx_index = state == ASK ? key[31:8] : mrc.parent[31:8];
  assign ctx_slot = '0;
  assign line_v = state == ASK_LINE;
  assign line_index = at;
  assign line_slot = '0;
  assign an_v = state == ANSWER;
  assign an_verdict = verdict;
  assign an_reference = verdict == hca_pkg::GRANTED && !element ? 32'(row) + 32'd1 : '0;
  assign an_parent_reference = verdict == hca_pkg::GRANTED && !element && needs_parent ? 32'(parent_row) + 32'd1 : '0;
  // The table of a window whose region was looked at is the one that the region has now.
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::mrc_t tabled;
  /* verilator lint_on UNUSEDSIGNAL */
  assign tabled = needs_parent && !element ? parent : mrc;
  assign an_translation = {tabled.table_va, tabled.table_root, tabled.flags[hca_pkg::MRC_FLAG_ON_DEMAND], mrc.kind == hca_pkg::MRC_INDIRECT, mrc.kind == hca_pkg::MRC_NULL,
                           tabled.page_shift, tableless ? 8'd0 : tabled.levels, 8'd0, window(mrc.kind) ? mrc.parent[31:8] : key[31:8]};
  assign an_offset = zero_based ? mrc.start : '0;
  assign give_up = state == ANSWER && holds && verdict != hca_pkg::GRANTED;

  // The ways in which an entry ends the search.
  logic scan_ends, scan_found, node;
  logic [31:0] child;
  assign node = !element && left > 32'd1;
  always_comb begin
    scan_ends = 1'b0;
    scan_found = 1'b0;
    if (element) begin
      scan_found = rest < {32'd0, here[127:96]};
      scan_ends = scan_found || left == 32'd1;
    end else if (node) begin
      scan_ends = entry == 3'd4 && (bad || bad_here);
    end else begin
      scan_found = (hit || hit_here) && !bad && !bad_here;
      scan_ends = entry == 3'd3;
    end
  end

  // The addition of an entry to those before it: is the line in order, and where does it lead?
  logic bad, bad_here, hit, hit_here, over;
  logic [63:0] start, offset, last;  // last: start before it, or last byte of the extent before
  logic [31:0] behind;
  assign start = line[64*entry+:64];
  assign behind = line[320+32*entry+32+:32];
  assign offset = rest - here[63:0];
  always_comb begin
    bad_here = 1'b0;
    hit_here = 1'b0;
    if (node) begin
      hit_here = start <= rest && start != hca_pkg::EXTENT_NONE;
      bad_here = entry == '0 ? start == hca_pkg::EXTENT_NONE : start != hca_pkg::EXTENT_NONE && start <= last;
    end else if (here[127:64] == '0) begin
      bad_here = entry == '0 || here[63:0] != '0;
    end else begin
      // The entry lies behind the extent before, and not beside it.
      bad_here = here[63:0] + here[127:64] <= here[63:0] || (entry != '0 && (over || here[63:0] <= last || here[63:0] - last == 64'd1));
      hit_here = offset < here[127:64] && length <= here[127:64] - offset;
    end
  end

  always_ff @(posedge ck) begin
    if (rst) state <= IDLE;
    else
      unique case (state)
        IDLE: if (rq_v) state <= ASK;
        ASK: if (!ctx_busy) state <= WAIT;
        WAIT: if (ctx_back_v) state <= JUDGE;
        JUDGE:
        if (element) state <= piece_there ? ASK_LINE : ANSWER;
        else if (judged != hca_pkg::GRANTED) state <= ANSWER;
        else if (rows_free) state <= needs_parent ? ASK_PARENT : needs_lines ? ASK_LINE : ANSWER;
        ASK_PARENT: if (!ctx_busy) state <= WAIT_PARENT;
        WAIT_PARENT: if (ctx_back_v) state <= JUDGE_PARENT;
        JUDGE_PARENT: state <= ANSWER;
        ASK_LINE: if (!line_busy) state <= WAIT_LINE;
        WAIT_LINE: if (line_back_v) state <= line_failed ? ANSWER : SCAN;
        SCAN:
        if (scan_ends) state <= ANSWER;
        else if ((node && entry == 3'd4) || (element && entry == 3'd3)) state <= ASK_LINE;
        ANSWER: if (!an_busy) state <= IDLE;
        default: state <= IDLE;
      endcase
  end

  always_ff @(posedge ck) begin
    unique case (state)
      IDLE: begin
        {privileged, remote, element} <= rq_flags;
        key <= rq_key;
        rights <= rq_rights;
        pd <= rq_pd;
        qpn <= rq_qpn;
        generation <= rq_generation;
        owner <= rq_owner;
        va <= rq_va;
        length <= rq_length;
        an_tag <= rq_tag;
        an_piece <= '0;
      end
      WAIT: begin
        mrc <= ctx_back;
        failed <= ctx_failed;
        beyond <= ctx_beyond;
      end
      JUDGE: begin
        verdict <= element ? (failed ? judged : hca_pkg::BAD_BOUNDS) : judged;
        at <= {2'b00, mrc.extent[31:2]};
        left <= mrc.extent_count;
        rest <= element ? into_region : va - mrc.table_va;
        if (take) row <= free_row;
      end
      WAIT_PARENT: begin
        parent <= ctx_back;
        parent_failed <= ctx_failed;
      end
      JUDGE_PARENT: begin
        verdict <= parent_fits ? hca_pkg::GRANTED : hca_pkg::BAD_STATE;
        if (take_parent) parent_row <= free_row;
      end
      WAIT_LINE: begin
        line <= line_back;
        entry <= '0;
        bad <= 1'b0;
        hit <= 1'b0;
        over <= 1'b0;
        child <= line_back[351:320];
        if (line_failed) verdict <= hca_pkg::TABLE_ERROR;
      end
      SCAN: begin
        entry <= entry + 3'd1;
        if (scan_ends) verdict <= scan_found ? hca_pkg::GRANTED : !element && (bad || bad_here) ? hca_pkg::TABLE_ERROR : hca_pkg::BAD_BOUNDS;
        bad <= bad || bad_here;
        hit <= hit || hit_here;
        over <= over || here[127:64] == '0;
        last <= node ? start : here[63:0] + here[127:64] - 64'd1;
        if (node && hit_here) child <= behind;
        if (node && entry == 3'd4) begin
          at <= hit_here ? behind : child;
          left <= left - 32'd1;
        end
        if (element) begin
          left <= left - 32'd1;
          rest <= rest - {32'd0, here[127:96]};
          an_piece <= {here[127:96] - rest[31:0], here[95:64], here[63:0] + rest};
          if (!scan_found && entry == 3'd3) at <= at + 32'd1;
        end
      end
      default: ;
    endcase
  end

  always_ff @(posedge ck) begin
    if (rst) begin
      used <= '0;
      holds <= 1'b0;
      draining <= '0;
      offering <= 1'b0;
      offered <= '0;
    end else begin
      for (int i = 0; i < REFERENCES; i++) if (freed[i]) used[i] <= 1'b0;
      if (take) begin
        used[free_row] <= 1'b1;
        holder[free_row] <= key[31:8];
      end
      if (take_parent) begin
        used[free_row] <= 1'b1;
        holder[free_row] <= mrc.parent[31:8];
      end
      holds <= take || (holds && state != IDLE && !give_up);

      for (int i = 0; i < DRAINS; i++) waits_for[i] <= waits_for[i] & ~freed;
      if (dr_v && !dr_busy) begin
        draining[drain_free] <= 1'b1;
        drain_tag[drain_free] <= dr_tag;
        waits_for[drain_free] <= of_index;
      end
      if (offering) begin
        if (!dr_done_busy) begin
          offering <= 1'b0;
          draining[offered] <= 1'b0;
        end
      end else if (any_done) begin
        offering <= 1'b1;
        offered <= done;
      end
    end
  end

  logic unused;
  assign unused = &{ctx_back_slot, line_back_slot, give_index, give_row[31:RB]};
endmodule
