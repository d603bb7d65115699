// The protection pipeline. Streams are valid/ready; a stream that is valid stays valid with the same payload until it is taken.
//
//   req      one check per cycle; its MRC is asked for in the same cycle (mrc_req), under the number of its slot
//   mrc_rsp  judged when it comes; a grant takes its reference to the key's epoch then. Extents are asked for in the same
//            cycle (ext_req), a line at a time; ext_rsp may ask for another line in the next cycle. With cfg_orphans the MRC of a
//            window's region is asked for then, and takes a reference to the epoch of that one's key when it comes
//   rsp      the verdict, DEPTH cycles after the MRC (or after the cycle that looked at the last line), in any order, by tag
//   rel      an access is finished: gives a reference back
//   drn      begins a new epoch of a key; drn_rsp when no reference of an older one is left, and not in less than DEPTH cycles
//
// Every request has a slot until its verdict is taken, so that the pipeline behind the MRC never stops.
module key_check #(
    parameter int SLOTS = 32,         // checks in flight
    parameter int DEPTH = 6,          // cycles from the MRC to the verdict, at least 2
    parameter int TAG_BITS = 8,
    parameter int KEYS = 64,          // different keys with accesses in flight
    parameter int DRAINS = 8,         // changes of keys under way
    localparam int SLOT_BITS = $clog2(SLOTS)
) (
    input logic clk,
    input logic rst_n,
    // Straps, constant after reset.
    input logic cfg_window_2b,  // type 2 windows are tied to the QP's PD as well
    input logic cfg_orphans,    // look at the region of a window too

    input  logic req_valid,
    output logic req_ready,
    input  logic [TAG_BITS+306:0] req_data,  // tag, access_t

    output logic mrc_req_valid,
    input  logic mrc_req_ready,
    output logic [SLOT_BITS+23:0] mrc_req_data,  // slot, index
    input  logic mrc_rsp_valid,
    output logic mrc_rsp_ready,
    input  logic [SLOT_BITS+513:0] mrc_rsp_data,  // slot, index beyond the table, failed, MRC

    output logic ext_req_valid,
    input  logic ext_req_ready,
    output logic [SLOT_BITS+31:0] ext_req_data,  // slot, line
    input  logic ext_rsp_valid,
    output logic ext_rsp_ready,
    input  logic [SLOT_BITS+512:0] ext_rsp_data,  // slot, failed, line

    output logic rsp_valid,
    input  logic rsp_ready,
    output logic [TAG_BITS+437:0] rsp_data,  // tag, piece, va_offset, translation_t, epoch of the parent, epoch, verdict

    input  logic rel_valid,
    output logic rel_ready,
    input  logic [55:0] rel_data,  // epoch, index

    input  logic drn_valid,
    output logic drn_ready,
    input  logic [TAG_BITS+23:0] drn_data,  // tag, index
    output logic drn_rsp_valid,
    input  logic drn_rsp_ready,
    output logic [TAG_BITS-1:0] drn_rsp_data,

    output logic idle
);
  localparam int AT = SLOT_BITS;

  // ---- slots: what is known of each check in flight
  logic [SLOTS-1:0] busy;
  logic [TAG_BITS-1:0] slot_tag[SLOTS];
  logic [306:0] slot_access[SLOTS];
  logic [SLOTS-1:0] slot_parent;  // waits for the region of its window
  logic [511:0] slot_mrc[SLOTS];
  logic [31:0] slot_epoch[SLOTS];
  logic [31:0] slot_parent_epoch[SLOTS];  // 0 = of no window, or its region was not looked at
  logic [178:0] slot_map[SLOTS];
  logic [63:0] slot_offset[SLOTS];
  logic [127:0] slot_piece[SLOTS];
  logic [31:0] slot_line[SLOTS];
  logic [31:0] slot_count[SLOTS];
  logic [63:0] slot_va[SLOTS];

  logic any_free;
  logic [AT-1:0] free_slot;
  always_comb begin
    any_free = busy != '1;
    free_slot = '0;
    if (req_valid) begin
      for (int i = SLOTS - 1; i >= 0; i--) begin
        if (!busy[i]) free_slot = AT'(i);
      end
    end
  end

  // ---- request
  hca_pkg::access_t req_access;
  logic [TAG_BITS-1:0] req_tag;
  logic parent_want, req_taken;
  assign {req_tag, req_access} = req_data;
  // The region of a window and a drain go first.
  assign req_ready = any_free && !parent_want && !(drn_valid && drn_ready);
  assign req_taken = req_valid && req_ready;
  logic mrc_asked;
  fall_through #(
      .DEPTH(SLOTS),
      .BITS(AT + 24)
  ) u_mrc_req (
      .clk(clk),
      .rst_n(rst_n),
      .put(parent_want || req_taken),
      .put_data(parent_want ? {mrc_slot, mrc.parent[31:8]} : {free_slot, req_access.key[31:8]}),
      .out_valid(mrc_req_valid),
      .out_ready(mrc_req_ready),
      .out_data(mrc_req_data),
      .stored(mrc_asked)
  );

  // ---- the MRC
  hca_pkg::mrc_t mrc;
  hca_pkg::access_t access;
  logic [AT-1:0] mrc_slot;
  logic mrc_beyond, mrc_failed, mrc_is_parent;
  assign {mrc_slot, mrc_beyond, mrc_failed, mrc} = mrc_rsp_data;
  assign access = slot_access[mrc_slot];
  assign mrc_is_parent = slot_parent[mrc_slot];

  logic [2:0] judged;
  logic judged_extents;
  hca_pkg::translation_t map;
  logic [63:0] va_offset;
  logic [23:0] index;  // of the MRC
  assign index = mrc_is_parent ? window.parent[31:8] : access.key[31:8];
  key_judge u_judge (
      .asked(mrc_rsp_valid),
      .window_2b(cfg_window_2b),
      .index(index),
      .mrc(mrc),
      .access(access),
      .verdict(judged),
      .needs_extents(judged_extents),
      .map(map),
      .va_offset(va_offset)
  );

  // The region of a window must still be what the window was bound to.
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::mrc_t window;
  /* verilator lint_on UNUSEDSIGNAL */
  logic parent_intact, takes_windows;
  assign takes_windows = mrc.kind == hca_pkg::MRC_REGION || mrc.kind == hca_pkg::MRC_FAST || mrc.kind == hca_pkg::MRC_ADDRESS_SPACE;
  always_comb begin
    window = '0;
    parent_intact = 1'b0;
    if (mrc_rsp_valid && mrc_is_parent) begin
      window = slot_mrc[mrc_slot];
      parent_intact = !mrc_failed && mrc.state == hca_pkg::MRC_VALID && takes_windows &&
                      mrc.key_byte == window.parent[7:0] && mrc.owner == window.owner && mrc.pd == window.pd &&
                      window.start >= mrc.start && window.length <= mrc.length &&
                      window.start - mrc.start <= mrc.length - window.length;
    end
  end

  // The next step: to the region of the window, to a line of extents, or to its verdict.
  logic takes, to_parent, to_extents, concludes, piece_usable;
  logic [2:0] mrc_verdict;
  logic [63:0] piece_offset;
  assign piece_offset = access.va - mrc.start;
  assign piece_usable = mrc.kind == hca_pkg::MRC_INDIRECT && mrc.key_byte == access.key[7:0] && piece_offset < mrc.length &&
                        mrc.extent_count != 32'd0;
  always_comb begin
    takes = 1'b0;
    to_parent = 1'b0;
    to_extents = 1'b0;
    mrc_verdict = judged;
    if (mrc_is_parent) begin
      mrc_verdict = parent_intact ? hca_pkg::GRANTED : hca_pkg::BAD_STATE;
      takes = parent_intact;
    end else if (mrc_failed) begin
      mrc_verdict = mrc_beyond ? hca_pkg::BAD_INDEX : hca_pkg::TABLE_ERROR;
    end else if (access.element) begin
      mrc_verdict = hca_pkg::BAD_BOUNDS;
      to_extents = piece_usable;
    end else if (judged == hca_pkg::GRANTED) begin
      takes = 1'b1;
      to_parent = cfg_orphans && (mrc.kind == hca_pkg::MRC_WINDOW_1 || mrc.kind == hca_pkg::MRC_WINDOW_2);
      to_extents = judged_extents && !to_parent;
    end
    concludes = !to_parent && !to_extents;
  end

  logic take_ready, mrc_taken, mrc_can_take, first_line_go;
  logic [31:0] take_epoch;
  assign mrc_can_take = !takes || take_ready;
  assign parent_want = mrc_rsp_valid && to_parent && mrc_can_take;
  assign first_line_go = mrc_rsp_valid && to_extents && mrc_can_take && !next_valid;
  assign mrc_rsp_ready = mrc_can_take && !(to_extents && next_valid) && !(concludes && (look_concludes || ext_fails));
  assign mrc_taken = mrc_rsp_valid && mrc_rsp_ready;

  // ---- extents
  logic [31:0] first_line;
  assign first_line = {2'b00, mrc.extent[31:2]};

  // Another line is wanted: asked for from a register, before any new search.
  logic next_valid, ext_asked;
  logic [AT-1:0] next_slot;
  logic [31:0] next_line;
  fall_through #(
      .DEPTH(SLOTS),
      .BITS(AT + 32)
  ) u_ext_req (
      .clk(clk),
      .rst_n(rst_n),
      .put(next_valid || first_line_go),
      .put_data(next_valid ? {next_slot, next_line} : {mrc_slot, first_line}),
      .out_valid(ext_req_valid),
      .out_ready(ext_req_ready),
      .out_data(ext_req_data),
      .stored(ext_asked)
  );

  logic [AT-1:0] ext_slot;
  logic ext_failed;
  logic [511:0] ext_line;
  assign {ext_slot, ext_failed, ext_line} = ext_rsp_data;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::access_t ext_access;
  /* verilator lint_on UNUSEDSIGNAL */
  assign ext_access = slot_access[ext_slot];
  logic look_more, look_found, look_damaged;
  logic [31:0] look_child, look_count;
  logic [63:0] look_va;
  hca_pkg::element_t look_piece;
  extent_look u_look (
      .asked(ext_rsp_valid),
      .line(ext_line),
      .element(ext_access.element),
      .va(slot_va[ext_slot]),
      .length(ext_access.length),
      .count(slot_count[ext_slot]),
      .more(look_more),
      .found(look_found),
      .damaged(look_damaged),
      .child(look_child),
      .next_count(look_count),
      .next_va(look_va),
      .piece(look_piece)
  );
  logic ext_taken, look_wants_line;
  logic [31:0] look_line;
  assign look_wants_line = look_more && !ext_failed;
  assign look_line = ext_access.element ? slot_line[ext_slot] + 32'd1 : look_child;
  // A line that could not be read ends the search at once.
  logic ext_fails;
  assign ext_fails = ext_rsp_valid && ext_failed;
  assign ext_rsp_ready = !(ext_failed && look_concludes);
  assign ext_taken = ext_rsp_valid && ext_rsp_ready;

  // The step of the search, then the pipeline; what comes from an MRC waits for it.
  logic look_concludes;
  logic [AT-1:0] look_slot;
  logic [2:0] look_verdict;

  // ---- the pipeline to the verdict
  logic enter_valid;
  logic [AT-1:0] enter_slot;
  logic [2:0] enter_verdict;
  always_comb begin
    enter_valid = look_concludes || ext_fails || (mrc_taken && concludes);
    enter_slot = look_concludes ? look_slot : ext_fails ? ext_slot : mrc_slot;
    enter_verdict = look_concludes ? look_verdict : ext_fails ? hca_pkg::TABLE_ERROR : mrc_verdict;
  end
  logic [DEPTH-2:0] pipe_valid;
  logic [AT-1:0] pipe_slot[DEPTH-1];
  logic [2:0] pipe_verdict[DEPTH-1];

  // ---- verdicts wait here when rsp is not ready; there is room for every slot
  logic [AT-1:0] done_slot[SLOTS];
  logic [2:0] done_verdict[SLOTS];
  logic [AT-1:0] done_head, done_tail;
  logic [AT:0] done_count;
  logic [AT-1:0] out_slot;
  logic [2:0] out_verdict;
  logic out_taken;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::access_t out_access;
  /* verilator lint_on UNUSEDSIGNAL */
  assign out_slot = done_slot[done_head];
  assign out_verdict = done_verdict[done_head];
  assign rsp_valid = done_count != '0;
  assign out_taken = rsp_valid && rsp_ready;
  always_comb begin
    out_access = '0;
    rsp_data = '0;
    if (rsp_valid) begin
      out_access = slot_access[out_slot];
      rsp_data = {slot_tag[out_slot], slot_piece[out_slot], slot_offset[out_slot], slot_map[out_slot], slot_parent_epoch[out_slot],
                  out_verdict == hca_pkg::GRANTED && !out_access.element ? slot_epoch[out_slot] : 32'd0, out_verdict};
    end
  end

  // ---- references: those of accesses that were granted by the MRC and then refused go back here. A parent that grants is the
  // last to do so
  logic refund_valid;
  logic [23:0] refund_index;
  logic [31:0] refund_epoch;
  logic [AT-1:0] last_slot;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::access_t last_access;
  /* verilator lint_on UNUSEDSIGNAL */
  assign last_slot = pipe_slot[DEPTH-2];
  assign last_access = slot_access[last_slot];
  assign rel_ready = !refund_valid;

  logic older_gone, older_left, drn_taken;
  logic [23:0] give_index;
  assign give_index = refund_valid ? refund_index : rel_data[23:0];
  assign drn_taken = drn_valid && drn_ready;
  key_epochs #(
      .ENTRIES(KEYS)
  ) u_epochs (
      .clk(clk),
      .rst_n(rst_n),
      .take_asked(mrc_rsp_valid),
      .take_valid(mrc_taken && takes),
      .take_ready(take_ready),
      .take_index(index),
      .take_epoch(take_epoch),
      .give_valid(refund_valid || rel_valid),
      .give_index(give_index),
      .give_epoch(refund_valid ? refund_epoch : rel_data[55:24]),
      .older_gone(older_gone),
      .renew_valid(drn_taken),
      .renew_index(drn_data[23:0]),
      .older_left(older_left)
  );

  logic drains_run;
  key_drains #(
      .DRAINS(DRAINS),
      .DEPTH(DEPTH),
      .TAG_BITS(TAG_BITS)
  ) u_drains (
      .clk(clk),
      .rst_n(rst_n),
      .drn_valid(drn_valid),
      .drn_ready(drn_ready),
      .drn_data(drn_data),
      .drn_rsp_valid(drn_rsp_valid),
      .drn_rsp_ready(drn_rsp_ready),
      .drn_rsp_data(drn_rsp_data),
      .older_left(older_left),
      .older_gone(older_gone),
      .give_index(give_index),
      .runs(drains_run)
  );

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      busy <= '0;
      slot_parent <= '0;
      next_valid <= 1'b0;
      next_slot <= '0;
      next_line <= '0;
      look_concludes <= 1'b0;
      look_slot <= '0;
      look_verdict <= '0;
      pipe_valid <= '0;
      done_head <= '0;
      done_tail <= '0;
      done_count <= '0;
      refund_valid <= 1'b0;
      refund_index <= '0;
      refund_epoch <= '0;
    end else begin
      // request
      if (req_taken) begin
        busy[free_slot] <= 1'b1;
        slot_parent[free_slot] <= 1'b0;
        slot_tag[free_slot] <= req_tag;
        slot_access[free_slot] <= req_access;
      end

      // MRC
      if (mrc_taken) begin
        slot_map[mrc_slot] <= map;
        if (mrc_is_parent) slot_parent_epoch[mrc_slot] <= take_epoch;
        else begin
          slot_epoch[mrc_slot] <= take_epoch;
          slot_parent_epoch[mrc_slot] <= '0;
          slot_offset[mrc_slot] <= va_offset;
          slot_mrc[mrc_slot] <= mrc;
          slot_parent[mrc_slot] <= to_parent;
          slot_line[mrc_slot] <= first_line;
          slot_count[mrc_slot] <= mrc.extent_count;
          slot_va[mrc_slot] <= access.element ? piece_offset : access.va - mrc.table_va;
        end
      end

      // extents
      next_valid <= ext_taken && look_wants_line;
      look_concludes <= ext_taken && !ext_failed && !look_wants_line;
      if (ext_taken) begin
        look_slot <= ext_slot;
        look_verdict <= look_found ? hca_pkg::GRANTED : look_damaged ? hca_pkg::TABLE_ERROR : hca_pkg::BAD_BOUNDS;
        slot_piece[ext_slot] <= look_piece;
        if (look_wants_line) begin
          next_slot <= ext_slot;
          next_line <= look_line;
          slot_line[ext_slot] <= look_line;
          slot_count[ext_slot] <= look_count;
          slot_va[ext_slot] <= look_va;
        end
      end

      // pipeline
      pipe_valid <= {pipe_valid[DEPTH-3:0], enter_valid};
      pipe_slot[0] <= enter_slot;
      pipe_verdict[0] <= enter_verdict;
      for (int i = 1; i < DEPTH - 1; i++) begin
        pipe_slot[i] <= pipe_slot[i-1];
        pipe_verdict[i] <= pipe_verdict[i-1];
      end
      if (pipe_valid[DEPTH-2]) begin
        done_slot[done_tail] <= last_slot;
        done_verdict[done_tail] <= pipe_verdict[DEPTH-2];
        done_tail <= done_tail == AT'(SLOTS - 1) ? '0 : done_tail + 1'b1;
      end
      if (out_taken) begin
        done_head <= done_head == AT'(SLOTS - 1) ? '0 : done_head + 1'b1;
        busy[out_slot] <= 1'b0;
      end
      done_count <= done_count + (AT + 1)'(pipe_valid[DEPTH-2]) - (AT + 1)'(out_taken);

      // references
      refund_valid <= pipe_valid[DEPTH-2] && pipe_verdict[DEPTH-2] != hca_pkg::GRANTED && slot_holds[last_slot];
      if (pipe_valid[DEPTH-2]) begin
        refund_index <= last_access.key[31:8];
        refund_epoch <= slot_epoch[last_slot];
      end
    end
  end

  // Which slots hold a reference that a refusal must give back.
  logic [SLOTS-1:0] slot_holds;
  always_ff @(posedge clk) begin
    if (!rst_n) slot_holds <= '0;
    else begin
      if (req_taken) slot_holds[free_slot] <= 1'b0;
      if (mrc_taken && takes) slot_holds[mrc_slot] <= 1'b1;
    end
  end

  // Nothing moves until a stream does: checks may wait for their MRC, drains for a release.
  assign idle = !mrc_asked && !ext_asked && !next_valid && !look_concludes && pipe_valid == '0 && done_count == '0 && !refund_valid &&
                !drains_run;

`ifdef VERILATOR
  // An offered item stays offered.
  logic seen;
  logic mrc_req_stuck, ext_req_stuck, rsp_stuck;
  logic [SLOT_BITS+23:0] mrc_req_was;
  logic [SLOT_BITS+31:0] ext_req_was;
  always_ff @(posedge clk) begin
    seen <= rst_n;
    mrc_req_stuck <= rst_n && mrc_req_valid && !mrc_req_ready;
    ext_req_stuck <= rst_n && ext_req_valid && !ext_req_ready;
    rsp_stuck <= rst_n && rsp_valid && !rsp_ready;
    mrc_req_was <= mrc_req_data;
    ext_req_was <= ext_req_data;
  end
  a_mrc_req : assert property (@(posedge clk) seen && mrc_req_stuck |-> mrc_req_valid && mrc_req_data == mrc_req_was);
  a_ext_req : assert property (@(posedge clk) seen && ext_req_stuck |-> ext_req_valid && ext_req_data == ext_req_was);
  a_rsp : assert property (@(posedge clk) seen && rsp_stuck |-> rsp_valid);
  // Answers come for checks that are under way, and there is room for every verdict.
  a_mrc_known : assert property (@(posedge clk) disable iff (!rst_n) mrc_rsp_valid |-> busy[mrc_slot]);
  a_ext_known : assert property (@(posedge clk) disable iff (!rst_n) ext_rsp_valid |-> busy[ext_slot]);
  a_room : assert property (@(posedge clk) disable iff (!rst_n) done_count <= (AT + 1)'(SLOTS));
`endif
endmodule
