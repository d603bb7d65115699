// Requests that wait: for what, who of them is older, who tries again, and whose answer comes.
module context_waiters #(
    parameter int TAG_BITS = 5,
    parameter int SB = 6,
    parameter int SLOT_BITS = 8,
    parameter int FETCH_BITS = 4,
    localparam int TAGS = 1 << TAG_BITS,
    localparam int PB = TAG_BITS + 1,
    localparam int WB = SLOT_BITS - SB
) (
    input logic clk,
    input logic rst_n,

    // The look-up: of the oldest that may try again, otherwise of a new request. Another area comes when everybody else has been
    // served.
    input logic [TAG_BITS-1:0] q_tag,
    input logic [1:0] q_op,
    input logic [31:0] q_index,
    input logic [63:0] q_base,
    input logic [31:0] q_entries,
    input logic quiet,  // nothing is pinned, read or written
    output logic settled,
    output logic l_retry,
    output logic [TAG_BITS-1:0] l_tag,
    output logic [1:0] l_op,
    output logic [31:0] l_index,
    output logic [63:0] l_base,
    output logic [31:0] l_entries,

    // Its fate.
    output logic drop_there,  // a request drops it
    input logic l_new,
    input logic l_again,
    input logic l_answers,
    input logic l_no_fetch,
    input logic [3:0] l_waits,
    input logic [FETCH_BITS-1:0] l_fetch,
    input logic [SLOT_BITS-1:0] l_slot,

    input logic filled,
    input logic r_failed,
    input logic [FETCH_BITS-1:0] r_fetch,
    input logic [SLOT_BITS-1:0] r_slot,
    output logic [PB-1:0] holders,  // how many wait for the read that comes

    input logic [SLOT_BITS-1:0] g_slot,
    input logic gives_last,  // no request holds it any more
    input logic gives_up,
    input logic give_writes,
    output logic [TAG_BITS-1:0] giving_tag,  // the drop that waits for it
    output logic giving_young,  // which was looked up in the cycle before

    input logic evict_landed,
    input logic [31:0] landed_index,
    input logic drop_landed,
    input logic [TAG_BITS-1:0] d_tag,
    output logic [SLOT_BITS-1:0] d_slot,
    output logic [31:0] d_index,

    // Answers: in this very cycle if what they waited for comes now.
    output logic any_answer,
    output logic [TAG_BITS-1:0] answer_tag,
    output logic [SLOT_BITS-1:0] answer_slot,
    output logic answer_failed,
    output logic answer_waits
);
  logic [3:0] doing[TAGS];
  logic [1:0] t_op[TAGS];
  logic [31:0] t_index[TAGS];
  logic [63:0] t_base[TAGS];
  logic [31:0] t_entries[TAGS];
  logic [TAG_BITS-1:0] t_on[TAGS];  // fetch or drop it waits for
  logic [SLOT_BITS-1:0] t_slot[TAGS];
  logic [TAGS-1:0] t_failed, t_young, t_no_fetch;
  logic [TAGS-1:0] t_waits;  // but for another area
  logic [TAGS-1:0] older_than[TAGS];

  logic any_oldest, any_area;
  logic [TAG_BITS-1:0] oldest_tag, area_tag;
  logic [TAGS-1:0] retries;
  always_comb begin
    any_oldest = 1'b0;
    oldest_tag = '0;
    any_area = 1'b0;
    area_tag = '0;
    for (int i = 0; i < TAGS; i++) retries[i] = doing[i] == context_pkg::RETRY;
    for (int i = 0; i < TAGS; i++) begin
      if (retries[i] && (older_than[i] & retries) == '0) begin
        any_oldest = 1'b1;
        oldest_tag = TAG_BITS'(i);
      end
      if (doing[i] == context_pkg::AREA) begin
        any_area = 1'b1;
        area_tag = TAG_BITS'(i);
      end
    end
  end
  assign settled = quiet && t_waits == '0;
  assign l_retry = any_oldest || any_area;
  assign l_tag = any_oldest ? oldest_tag : any_area ? area_tag : q_tag;
  assign l_op = l_retry ? t_op[l_tag] : q_op;
  assign l_index = l_retry ? t_index[l_tag] : q_index;
  assign l_base = l_retry ? t_base[l_tag] : q_base;
  assign l_entries = l_retry ? t_entries[l_tag] : q_entries;

  logic [SB-1:0] set;
  logic [TAG_BITS-1:0] drop_tag;
  assign set = l_index[SB-1:0];
  always_comb begin
    drop_there = 1'b0;
    drop_tag = '0;
    for (int i = 0; i < TAGS; i++) begin
      if (doing[i] == context_pkg::DROPPING && t_index[i] == l_index) begin
        drop_there = 1'b1;
        drop_tag = TAG_BITS'(i);
      end
    end
  end

  always_comb begin
    holders = '0;
    giving_tag = '0;
    giving_young = 1'b0;
    for (int i = 0; i < TAGS; i++) begin
      if (doing[i] == context_pkg::FOR_FETCH && t_on[i] == TAG_BITS'(r_fetch)) holders = holders + 1'b1;
      if (doing[i] == context_pkg::DROPPING && t_slot[i] == g_slot) begin
        giving_tag = TAG_BITS'(i);
        giving_young = t_young[i];
      end
    end
  end
  assign d_slot = t_slot[d_tag];
  assign d_index = t_index[d_tag];

  // Apart from the answers that come now, on which it must not depend.
  always_comb begin
    answer_waits = 1'b0;
    for (int i = 0; i < TAGS; i++) answer_waits |= doing[i] == context_pkg::ANSWER;
  end
  logic [TAGS-1:0] comes, ready_now, fails_now;
  logic answers_again;
  assign answers_again = l_again && l_answers;
  always_comb begin
    any_answer = 1'b0;
    answer_tag = '0;
    for (int i = 0; i < TAGS; i++) begin
      fails_now[i] = doing[i] == context_pkg::ANSWER ? t_failed[i] : r_failed && doing[i] == context_pkg::FOR_FETCH;
      comes[i] = (filled && doing[i] == context_pkg::FOR_FETCH && t_on[i] == TAG_BITS'(r_fetch)) ||
                 (filled && r_failed && doing[i] == context_pkg::DROPPING && t_slot[i] == r_slot) ||
                 (gives_up && !give_writes && doing[i] == context_pkg::DROPPING && t_slot[i] == g_slot) ||
                 (drop_landed && d_tag == TAG_BITS'(i)) || (answers_again && l_tag == TAG_BITS'(i));
      ready_now[i] = comes[i] || doing[i] == context_pkg::ANSWER;
    end
    for (int i = 0; i < TAGS; i++) begin
      if (ready_now[i] && (older_than[i] & ready_now) == '0) begin
        any_answer = 1'b1;
        answer_tag = TAG_BITS'(i);
      end
    end
  end
  assign answer_slot = t_slot[answer_tag];
  assign answer_failed = fails_now[answer_tag];

  // Something has become free: those that wait for it try again.
  function automatic logic frees(input logic [SB-1:0] of_set, input logic no_fetch);
    frees = no_fetch ? filled
                     : (gives_last && g_slot[SLOT_BITS-1:WB] == of_set) || (drop_landed && d_slot[SLOT_BITS-1:WB] == of_set) ||
                       (filled && r_failed && r_slot[SLOT_BITS-1:WB] == of_set);
  endfunction

  logic l_queues;  // it waits from now on
  logic [TAGS-1:0] wait_on;
  assign l_queues = (l_new || l_again) && l_waits != context_pkg::NOTHING;
  assign wait_on = ~(TAGS'(any_answer) << answer_tag);
  always_ff @(posedge clk) begin
    if (!rst_n) begin
      t_waits <= '0;
      for (int i = 0; i < TAGS; i++) doing[i] <= context_pkg::NOTHING;
    end else begin
      for (int i = 0; i < TAGS; i++) begin
        if (comes[i]) doing[i] <= context_pkg::ANSWER;
        else if (doing[i] == context_pkg::FOR_WRITE && evict_landed && t_index[i] == landed_index)
          doing[i] <= context_pkg::RETRY;
        else if (doing[i] == context_pkg::FOR_DROP && comes[t_on[i]]) doing[i] <= context_pkg::RETRY;
        else if (doing[i] == context_pkg::STALLED && frees(t_index[i][SB-1:0], t_no_fetch[i])) doing[i] <= context_pkg::RETRY;
      end
      if (l_queues) begin
        doing[l_tag] <= l_waits == context_pkg::STALLED && frees(set, l_no_fetch) ? context_pkg::RETRY : l_waits;
        if (l_waits != context_pkg::AREA) t_waits[l_tag] <= 1'b1;
      end
      if (any_answer) begin
        doing[answer_tag] <= context_pkg::NOTHING;
        t_waits[answer_tag] <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk) begin
    t_young <= l_new ? TAGS'(1) << l_tag : '0;
    for (int i = 0; i < TAGS; i++) begin
      t_failed[i] <= fails_now[i];
      older_than[i] <= older_than[i] & wait_on;
    end
    if (l_new) older_than[l_tag] <= t_waits & wait_on;
    if (l_queues) begin
      t_op[l_tag] <= l_op;
      t_index[l_tag] <= l_index;
      t_base[l_tag] <= l_base;
      t_entries[l_tag] <= l_entries;
      t_on[l_tag] <= l_waits == context_pkg::FOR_DROP ? drop_tag : TAG_BITS'(l_fetch);
      t_no_fetch[l_tag] <= l_no_fetch;
      t_slot[l_tag] <= l_slot;
    end
  end

`ifdef VERILATOR
  logic tag_idle;
  assign tag_idle = doing[l_tag] == context_pkg::NOTHING;
  a_tag_free : assert property (@(posedge clk) disable iff (!rst_n) l_new |-> tag_idle);
`endif
endmodule
