// The doorbell unit behind the adapter's BAR. Streams are valid/ready; a stream that is valid stays valid with the same payload
// until it is taken.
//
//   wr       a write into a UAR page: where, how many bytes, the first 16 of them. One a cycle
//   line     the 64-byte lines of each write of 64 to 1024 bytes to the start of a BlueFlame buffer, in the order of the writes
//   ring     a doorbell, LATENCY cycles after its turn; turns are INTERVAL cycles apart. With blocks: the lines of its WQE are on
//            ring_line, at the latest in the cycle of the doorbell
//   qp, rec  a QP whose doorbells were dropped: where its doorbell record is (qp_rsp: 0 = nowhere), and the record
//   note     what became of a write, for statistics; always taken
//
// Doorbells wait in a FIFO. A newer SQ doorbell replaces one of the same QP that waits there. An SQ or RQ doorbell that finds it full
// is dropped and its QPN remembered; what its record then says overtakes the FIFO, cancels there what it makes obsolete, and undoes
// nothing that was passed on meanwhile. A CQ or EQ doorbell that finds it full waits aside, the newest of each queue. In one cycle
// what leaves comes first, then what a record tells of, then the write.
module doorbell #(
    parameter int DEPTH = 64,
    parameter int INTERVAL = 2,
    parameter int LATENCY = 4,          // at least 2 and INTERVAL
    parameter int LINE_CYCLES = 4,      // a line of BlueFlame
    parameter int LINES = 64,           // that wait at most
    parameter int BLUEFLAME_BLOCKS = 4,
    parameter int ASIDE = 16,
    parameter int DROPPED = 64
) (
    input logic clk,
    input logic rst_n,

    input  logic wr_valid,
    output logic wr_ready,
    input  logic [152:0] wr_data,  // bytes, offset, data
    input  logic line_valid,
    output logic line_ready,
    input  logic [511:0] line_data,

    output logic ring_valid,
    input  logic ring_ready,
    output logic [70:0] ring_data,  // blocks, kind, value, number
    output logic ring_line_valid,
    input  logic ring_line_ready,
    output logic [511:0] ring_line_data,

    output logic qp_valid,
    input  logic qp_ready,
    output logic [23:0] qp_data,
    input  logic qp_rsp_valid,
    output logic qp_rsp_ready,
    input  logic [64:0] qp_rsp_data,  // failed, address
    output logic rec_valid,
    input  logic rec_ready,
    output logic [63:0] rec_data,
    input  logic rec_rsp_valid,
    output logic rec_rsp_ready,
    input  logic [64:0] rec_rsp_data,  // failed, qp_record_t

    output logic note_valid,
    output logic [13:0] note_data,  // lines, failed, recovered, aside, dropped, coalesced, BlueFlame: bad, refused, taken, bad write

    output logic idle
);
  localparam int AW = $clog2(DEPTH);
  localparam int SB = $clog2(ASIDE);
  localparam int DB = $clog2(DROPPED);
  localparam int QUEUE = 16;   // doorbells on their way out
  localparam int WRITES = 16;  // whose lines have not all come, and WQEs whose lines have not all left
  localparam int KEPT = (DEPTH + 1 + WRITES) * BLUEFLAME_BLOCKS;
  localparam logic [1:0] SEND = 2'd0;
  localparam logic [1:0] RECEIVE = 2'd1;

  typedef struct packed {
    logic sends;         // its WQE goes with it
    logic [4:0] blocks;  // kept of its WQE
    logic [15:0] upto;   // kept lines in all when the last of them is there
    logic [15:0] due;    // cycle
    logic [1:0] kind;
    logic [31:0] value;
    logic [31:0] number;
  } entry_t;

  // Index a is newer than b, modulo 2^16.
  function automatic ahead(input [15:0] a, input [15:0] b);
    ahead = a != b && a - b < 16'h8000;
  endfunction
  function automatic reached(input [15:0] at, input [15:0] goal);
    reached = at - goal < 16'h8000;
  endfunction

  // ---- the write
  logic is_bell, is_blueflame, whole, plausible, takeable;
  logic [1:0] kind;
  logic [31:0] number, value;
  logic [4:0] lines, blocks;
  uar_decode #(
      .BLUEFLAME_BLOCKS(BLUEFLAME_BLOCKS)
  ) u_decode (
      .offset(wr_data[139:128]),
      .bytes(wr_data[152:140]),
      .data(wr_data[127:0]),
      .is_bell(is_bell),
      .is_blueflame(is_blueflame),
      .whole(whole),
      .plausible(plausible),
      .takeable(takeable),
      .kind(kind),
      .number(number),
      .value(value),
      .lines(lines),
      .blocks(blocks)
  );

  logic wr_taken, takes_wqe, arrives;
  logic [15:0] now, line_time, line_busy;  // cycles until the lines before are taken
  assign wr_taken = wr_valid && wr_ready;
  assign line_time = {11'd0, lines} * 16'(LINE_CYCLES);
  assign takes_wqe = is_blueflame && whole && takeable && line_busy + line_time <= 16'(LINES * LINE_CYCLES);
  assign arrives = wr_taken && (is_bell || (is_blueflame && whole));

  logic store_room, leave_ready, leave_valid, store_busy, leave_sends;
  logic [4:0] leave_blocks, kept;
  logic [15:0] lines_expected, lines_stored;
  line_store #(
      .LINES(1 << $clog2(KEPT)),
      .WRITES(WRITES)
  ) u_lines (
      .clk(clk),
      .rst_n(rst_n),
      .room(store_room),
      .expect_valid(wr_taken && is_blueflame),
      .expect_lines(lines),
      .expect_kept(kept),
      .expected(lines_expected),
      .stored(lines_stored),
      .line_valid(line_valid),
      .line_ready(line_ready),
      .line_data(line_data),
      .leave_ready(leave_ready),
      .leave_valid(leave_valid),
      .leave_blocks(leave_blocks),
      .leave_sends(leave_sends),
      .out_valid(ring_line_valid),
      .out_ready(ring_line_ready),
      .out_data(ring_line_data),
      .busy(store_busy)
  );

  entry_t arrival;
  assign arrival = {takes_wqe, takes_wqe ? blocks : 5'd0, lines_expected, now + (takes_wqe ? line_busy + line_time : 16'd0), kind, value, number};

  // ---- what waits: one BlueFlame doorbell that an idle unit has let through, the FIFO, and those aside
  logic hold_valid;
  entry_t hold;
  logic [31:0] f_number[DEPTH];
  logic [1:0] f_kind[DEPTH];
  logic [31:0] f_value[DEPTH];
  logic [15:0] f_due[DEPTH];
  logic [15:0] f_upto[DEPTH];
  logic [4:0] f_blocks[DEPTH];
  logic [DEPTH-1:0] f_sends;
  logic [DEPTH-1:0] live, cancels, same;
  logic [AW-1:0] head, tail;
  logic [AW:0] count;
  logic [1:0] aside_kind[ASIDE];
  logic [31:0] aside_number[ASIDE];
  logic [31:0] aside_value[ASIDE];
  logic [ASIDE-1:0] aside_used, aside_same;
  logic [SB-1:0] aside_head, aside_tail;
  logic [SB:0] aside_count;

  // ---- recovery
  logic recovering;
  logic [23:0] dropped[DROPPED];
  logic [DROPPED-1:0] dropped_used;
  logic [DB-1:0] dropped_head, dropped_tail;
  logic [DB:0] dropped_count;
  logic [23:0] recovered_qpn, pass_qpn;  // whose record is read; whose indices are passed on
  logic seen_send, seen_receive, pass_send, pass_receive;
  logic [15:0] seen_sq, seen_rq, pass_sq, pass_rq;

  logic remember, known, dropped_any, qp_taken, oldest_taken, record_there, no_record, rec_taken;
  assign dropped_any = dropped_count != '0;
  // The next one is asked for in the cycle the last one is done.
  logic recovery_free;
  assign recovery_free = !recovering || rec_taken || no_record;
  assign qp_valid = recovery_free && (dropped_any || remember);
  assign qp_data = dropped_any ? dropped[dropped_head] : number[23:0];
  assign qp_taken = qp_valid && qp_ready;
  assign oldest_taken = recovery_free && dropped_any && qp_ready;
  assign record_there = !qp_rsp_data[64] && qp_rsp_data[63:0] != '0;
  assign no_record = qp_rsp_valid && !record_there;
  assign rec_valid = qp_rsp_valid && record_there;
  assign rec_data = qp_rsp_data[63:0];
  assign qp_rsp_ready = !record_there || rec_ready;
  assign rec_rsp_ready = !pass_send && !pass_receive;
  assign rec_taken = rec_rsp_valid && rec_rsp_ready;
  /* verilator lint_off UNUSEDSIGNAL */
  hca_pkg::qp_record_t record;
  /* verilator lint_on UNUSEDSIGNAL */
  assign record = rec_rsp_data[63:0];
  logic new_send, new_receive, send_due, receive_due;
  // The newest that has been passed on since it was asked for; what leaves the FIFO in the cycle of the record comes before it.
  logic leaves_send, leaves_receive, knows_send, knows_receive;
  logic [15:0] known_sq, known_rq;
  assign leaves_send = from_fifo && first.kind == SEND && first.number == {8'd0, recovered_qpn};
  assign leaves_receive = from_fifo && first.kind == RECEIVE && first.number == {8'd0, recovered_qpn};
  assign knows_send = seen_send || leaves_send;
  assign knows_receive = seen_receive || leaves_receive;
  assign known_sq = leaves_send && !(seen_send && ahead(seen_sq, first.value[15:0])) ? first.value[15:0] : seen_sq;
  assign known_rq = leaves_receive && !(seen_receive && ahead(seen_rq, first.value[15:0])) ? first.value[15:0] : seen_rq;
  assign new_send = rec_taken && !rec_rsp_data[64] && (!knows_send || ahead(record.sq_pi[15:0], known_sq));
  assign new_receive = rec_taken && !rec_rsp_data[64] && (!knows_receive || ahead(record.rq_pi[15:0], known_rq));
  assign send_due = pass_send || new_send;
  assign receive_due = pass_receive || new_receive;
  always_comb begin
    for (int i = 0; i < DEPTH; i++) begin
      cancels[i] = f_number[i] == {8'd0, recovered_qpn} &&
                   ((new_send && f_kind[i] == SEND && !ahead(f_value[i][15:0], record.sq_pi[15:0])) ||
                    (new_receive && f_kind[i] == RECEIVE && !ahead(f_value[i][15:0], record.rq_pi[15:0])));
    end
  end

  // ---- whose turn it is
  localparam int PB = $clog2(INTERVAL + 1);
  logic [PB-1:0] pause;
  logic [4:0] on_way;  // to ring
  logic turn, waiting_turn, from_hold, from_pass, from_fifo, from_aside, directly, head_there, pops;
  entry_t first;
  assign first = {f_sends[head], f_blocks[head], f_upto[head], f_due[head], f_kind[head], f_value[head], f_number[head]};
  assign turn = pause == '0 && on_way < 5'(QUEUE);
  assign head_there = count != '0 && reached(now, first.due) && reached(lines_stored, first.upto) && (leave_ready || first.blocks == '0);
  assign from_hold = turn && hold_valid && reached(now, hold.due) && reached(lines_stored, hold.upto) && leave_ready;
  assign from_pass = turn && !hold_valid && !pops && !from_aside && (send_due || receive_due);
  assign waiting_turn = turn && !hold_valid && !pass_send && !pass_receive;
  assign pops = waiting_turn && head_there;
  assign from_fifo = pops && live[head];
  assign from_aside = waiting_turn && count == '0 && aside_count != '0;

  // ---- what becomes of the write
  logic alone, holds, merges, aside_merges, full, drops, goes_aside, pushes, keeps_in_mind;
  // It finds nothing that it could be merged with, nor the FIFO full.
  assign alone = (hold_valid ? from_hold : 1'b1) && !send_due && !receive_due && count == (AW + 1)'(pops) &&
                 aside_count == (SB + 1)'(from_aside);
  assign directly = arrives && !takes_wqe && alone && turn && !from_hold && !pops && !from_aside;
  assign holds = arrives && takes_wqe && alone && line_busy == '0;
  always_comb begin
    known = 1'b0;
    for (int i = 0; i < DEPTH; i++) begin
      same[i] = live[i] && !cancels[i] && !(pops && head == AW'(i)) && f_kind[i] == SEND && f_number[i] == number;
    end
    for (int i = 0; i < ASIDE; i++) begin
      aside_same[i] = aside_used[i] && !(from_aside && aside_head == SB'(i)) && aside_kind[i] == kind &&
                         aside_number[i][23:0] == number[23:0];
    end
    for (int i = 0; i < DROPPED; i++) begin
      if (dropped_used[i] && dropped[i] == number[23:0] && !(oldest_taken && dropped_head == DB'(i))) known = 1'b1;
    end
  end
  assign merges = arrives && kind == SEND && same != '0;
  assign aside_merges = arrives && aside_same != '0;
  assign full = count - (AW + 1)'(pops) == (AW + 1)'(DEPTH);
  assign drops = arrives && !merges && !kind[1] && full;
  assign goes_aside = arrives && !aside_merges && kind[1] && full;
  assign pushes = arrives && !directly && !holds && !merges && !aside_merges && !full;
  assign remember = !known && (drops || (wr_taken && is_blueflame && !whole && plausible));
  assign keeps_in_mind = remember && (dropped_any || !qp_taken);
  assign kept = holds || pushes ? arrival.blocks : '0;
  assign wr_ready = store_room && aside_count < (SB + 1)'(ASIDE) && dropped_count < (DB + 1)'(DROPPED);

  // A doorbell that passes in the cycle in which a record is asked for, or has passed and not left yet, is newer than those that
  // left before.
  logic [23:0] sought_qpn;
  logic comes_send, comes_receive, waits_send;
  assign sought_qpn = qp_taken ? qp_data : recovered_qpn;
  assign comes_send = (holds || (directly && kind == SEND)) && number == {8'd0, sought_qpn};
  assign comes_receive = directly && kind == RECEIVE && number == {8'd0, sought_qpn};
  assign waits_send = hold_valid && !from_hold && hold.number == {8'd0, sought_qpn};

  // ---- on its way out
  /* verilator lint_off UNUSEDSIGNAL */
  entry_t chosen;
  /* verilator lint_on UNUSEDSIGNAL */
  logic starts;
  logic [15:0] passed;
  assign passed = send_due ? (pass_send ? pass_sq : record.sq_pi[15:0]) : pass_receive ? pass_rq : record.rq_pi[15:0];
  assign starts = from_hold || from_pass || from_fifo || from_aside || directly;
  always_comb begin
    chosen = arrival;
    if (from_hold) chosen = hold;
    else if (from_pass) chosen = {38'd0, send_due ? SEND : RECEIVE, 16'd0, passed, 8'd0, rec_taken ? recovered_qpn : pass_qpn};
    else if (from_fifo) chosen = first;
    else if (from_aside) chosen = {38'd0, aside_kind[aside_head], aside_value[aside_head], aside_number[aside_head]};
  end
  assign leave_valid = from_hold || (pops && first.blocks != '0);
  assign leave_blocks = from_hold ? hold.blocks : first.blocks;
  assign leave_sends = from_hold || (from_fifo && first.sends);

  logic [LATENCY-1:0] step_valid;
  logic [70:0] step[LATENCY];
  /* verilator lint_off UNUSEDSIGNAL */
  logic ring_stored;
  /* verilator lint_on UNUSEDSIGNAL */
  logic ring_taken;
  assign ring_taken = ring_valid && ring_ready;
  fall_through #(
      .DEPTH(QUEUE),
      .BITS(71)
  ) u_ring (
      .clk(clk),
      .rst_n(rst_n),
      .put(step_valid[LATENCY-1]),
      .put_data(step[LATENCY-1]),
      .out_valid(ring_valid),
      .out_ready(ring_ready),
      .out_data(ring_data),
      .stored(ring_stored)
  );

  assign note_valid = wr_taken || rec_taken || no_record;
  assign note_data = {
    lines,
    (rec_taken && rec_rsp_data[64]) || no_record,
    rec_taken && !rec_rsp_data[64],
    goes_aside,
    drops,
    merges,
    wr_taken && is_blueflame && !whole,
    wr_taken && is_blueflame && whole && !takes_wqe,
    wr_taken && takes_wqe,
    wr_taken && !is_bell && !is_blueflame
  };

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      now <= '0;
      line_busy <= '0;
      hold_valid <= 1'b0;
      live <= '0;
      head <= '0;
      tail <= '0;
      count <= '0;
      aside_used <= '0;
      aside_head <= '0;
      aside_tail <= '0;
      aside_count <= '0;
      recovering <= 1'b0;
      dropped_used <= '0;
      dropped_head <= '0;
      dropped_tail <= '0;
      dropped_count <= '0;
      pass_send <= 1'b0;
      pass_receive <= 1'b0;
      pause <= '0;
      on_way <= '0;
      step_valid <= '0;
    end else begin
      now <= now + 16'd1;
      if (wr_taken && takes_wqe) line_busy <= line_busy + line_time - 16'd1;
      else if (line_busy != '0) line_busy <= line_busy - 16'd1;

      // turns
      if (starts) pause <= PB'(INTERVAL - 1);
      else if (pause != '0) pause <= pause - 1'b1;
      on_way <= on_way + 5'(starts) - 5'(ring_taken);
      step_valid <= {step_valid[LATENCY-2:0], starts};

      // the FIFO
      if (holds) hold_valid <= 1'b1;
      else if (from_hold) hold_valid <= 1'b0;
      live <= live & ~cancels;
      if (pops) begin
        live[head] <= 1'b0;
        head <= head == AW'(DEPTH - 1) ? '0 : head + 1'b1;
      end
      if (pushes) begin
        live[tail] <= 1'b1;
        tail <= tail == AW'(DEPTH - 1) ? '0 : tail + 1'b1;
      end
      count <= count + (AW + 1)'(pushes) - (AW + 1)'(pops);

      // aside
      if (from_aside) begin
        aside_used[aside_head] <= 1'b0;
        aside_head <= aside_head == SB'(ASIDE - 1) ? '0 : aside_head + 1'b1;
      end
      if (goes_aside) begin
        aside_used[aside_tail] <= 1'b1;
        aside_tail <= aside_tail == SB'(ASIDE - 1) ? '0 : aside_tail + 1'b1;
      end
      aside_count <= aside_count + (SB + 1)'(goes_aside) - (SB + 1)'(from_aside);

      // recovery
      if (oldest_taken) begin
        dropped_used[dropped_head] <= 1'b0;
        dropped_head <= dropped_head == DB'(DROPPED - 1) ? '0 : dropped_head + 1'b1;
      end
      if (keeps_in_mind) begin
        dropped_used[dropped_tail] <= 1'b1;
        dropped_tail <= dropped_tail == DB'(DROPPED - 1) ? '0 : dropped_tail + 1'b1;
      end
      dropped_count <= dropped_count + (DB + 1)'(keeps_in_mind) - (DB + 1)'(oldest_taken);
      recovering <= qp_taken || !recovery_free;
      pass_send <= send_due && !from_pass;
      pass_receive <= receive_due && !(from_pass && !send_due);
    end
  end

  always_ff @(posedge clk) begin
    step[0] <= {chosen.sends ? chosen.blocks : 5'd0, chosen.kind, chosen.value, chosen.number};
    for (int i = 1; i < LATENCY; i++) step[i] <= step[i-1];
    if (holds) hold <= arrival;
    for (int i = 0; i < DEPTH; i++) begin
      if (merges && same[i]) begin
        f_sends[i] <= 1'b0;
        if (ahead(value[15:0], f_value[i][15:0])) f_value[i] <= value;
      end
    end
    if (pushes) begin
      f_number[tail] <= number;
      f_kind[tail] <= kind;
      f_value[tail] <= value;
      f_due[tail] <= arrival.due;
      f_upto[tail] <= lines_expected;
      f_blocks[tail] <= arrival.blocks;
      f_sends[tail] <= takes_wqe;
    end
    for (int i = 0; i < ASIDE; i++) begin
      if (aside_merges && aside_same[i]) begin
        aside_value[i] <= value;
        if (number[31:24] != '0) aside_number[i] <= number;  // an arming is not forgotten
      end
    end
    if (goes_aside) begin
      aside_kind[aside_tail] <= kind;
      aside_number[aside_tail] <= number;
      aside_value[aside_tail] <= value;
    end
    if (remember) dropped[dropped_tail] <= number[23:0];
    if (qp_taken) begin
      recovered_qpn <= qp_data;
      seen_send <= comes_send || waits_send;
      seen_receive <= comes_receive;
      seen_sq <= waits_send ? hold.value[15:0] : value[15:0];
      seen_rq <= value[15:0];
    end else begin
      seen_send <= knows_send || comes_send;
      seen_receive <= knows_receive || comes_receive;
      seen_sq <= comes_send && !(knows_send && ahead(known_sq, value[15:0])) ? value[15:0] : known_sq;
      seen_rq <= comes_receive && !(knows_receive && ahead(known_rq, value[15:0])) ? value[15:0] : known_rq;
    end
    if (rec_taken) pass_qpn <= recovered_qpn;
    if (new_send) pass_sq <= record.sq_pi[15:0];
    if (new_receive) pass_rq <= record.rq_pi[15:0];
  end

  // A valid item on a stream, or one that waits for a turn behind it, is none of it.
  assign idle = count == '0 && aside_count == '0 && !hold_valid && step_valid == '0 && !store_busy && line_busy == '0;

`ifdef VERILATOR
  logic seen, ring_stuck, qp_stuck, line_stuck;
  logic [70:0] ring_was;
  logic [23:0] qp_was;
  logic [511:0] line_was;
  always_ff @(posedge clk) begin
    seen <= rst_n;
    ring_stuck <= rst_n && ring_valid && !ring_ready;
    qp_stuck <= rst_n && qp_valid && !qp_ready;
    line_stuck <= rst_n && ring_line_valid && !ring_line_ready;
    ring_was <= ring_data;
    qp_was <= qp_data;
    line_was <= ring_line_data;
  end
  a_ring : assert property (@(posedge clk) seen && ring_stuck |-> ring_valid && ring_data == ring_was);
  a_qp : assert property (@(posedge clk) seen && qp_stuck |-> qp_valid && qp_data == qp_was);
  a_line : assert property (@(posedge clk) seen && line_stuck |-> ring_line_valid && ring_line_data == line_was);
  a_count : assert property (@(posedge clk) disable iff (!rst_n) count <= (AW + 1)'(DEPTH));
  a_idle : assert property (@(posedge clk) disable iff (!rst_n) idle && !ring_valid |-> pause == '0 && !pass_send && !pass_receive);
  a_one : assert property (@(posedge clk) disable iff (!rst_n) 32'($countones(same)) <= 1);
`endif
endmodule
