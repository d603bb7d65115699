// A set-associative cache of page-table entries: lines of leaves, or addresses of nodes. One look-up, one fill and one drop a
// cycle; a drop looks at every entry at once. The least recently used way makes room. Nothing is compared for what is not asked.
module translation_lookup #(
    parameter int SETS = 256,
    parameter int WAYS = 4,
    parameter int BITS = 512
) (
    input logic clk,
    input logic rst_n,
    // Look-up, combinational; `use_it`: a hit counts as a use.
    input logic asked,
    input logic use_it,
    input logic [31:0] tag,
    input logic [63:0] root,
    input logic [63:0] number,
    output logic hit,
    output logic [BITS-1:0] hit_data,
    // Fill: replaces the entry of the same key, or takes an empty way, or the oldest.
    input logic put,
    input logic [31:0] put_tag,
    input logic [63:0] put_root,
    input logic [63:0] put_number,
    input logic [63:0] put_first,  // covers [first, first + 2^shift), modulo 2^64
    input logic [7:0] put_shift,
    input logic [BITS-1:0] put_data,
    // Forgets the entries of a tag that cover any address of [first, last].
    input logic drop,
    input logic [31:0] drop_tag,
    input logic [63:0] drop_first,
    input logic [63:0] drop_last
);
  localparam int SB = SETS > 1 ? $clog2(SETS) : 1;
  localparam int WB = $clog2(WAYS);
  localparam int N = SETS * WAYS;
  localparam int NB = $clog2(N);

  logic [N-1:0] valid;
  logic [31:0] tags[N];
  logic [63:0] roots[N];
  logic [63:0] numbers[N];
  logic [63:0] firsts[N];
  logic [63:0] spans[N];  // last - first
  logic [BITS-1:0] data[N];
  logic [WAYS*WB-1:0] ages[SETS];  // 0 = used last
  logic [SETS-1:0] aged;           // something was put there: before that ages are in the order of the ways
  logic [WAYS*WB-1:0] unused_ages, set_ages, put_set_ages;
  for (genvar w = 0; w < WAYS; w++) begin : g_ages
    assign unused_ages[WB*w+:WB] = WB'(w);
  end
  assign set_ages = ages[set];  // of a hit, which is of a set where something was put
  assign put_set_ages = aged[put_set] ? ages[put_set] : unused_ages;

  // The set of a key: the number and the tag, spread by a multiplication.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [31:0] spread, put_spread;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [SB-1:0] set, put_set;
  assign spread = number[31:0] + (tag + 32'd1) * 32'h9e3779b1;
  assign put_spread = put_number[31:0] + (put_tag + 32'd1) * 32'h9e3779b1;
  assign set = spread[SB-1:0];
  assign put_set = put_spread[SB-1:0];

  logic [WB-1:0] hit_way, put_way;
  logic [NB-1:0] at, put_at;
  always_comb begin
    hit = 1'b0;
    hit_way = '0;
    at = '0;
    hit_data = '0;
    if (asked) begin
      for (int w = WAYS - 1; w >= 0; w--) begin
        at = {set, WB'(w)};
        if (valid[at] && tags[at] == tag && roots[at] == root && numbers[at] == number) begin
          hit = 1'b1;
          hit_way = WB'(w);
        end
      end
      hit_data = data[{set, hit_way}];
    end
  end

  logic [WAYS*WB-1:0] used_ages, put_base;
  logic same, empty;
  logic [WB-1:0] same_way, empty_way, oldest_way;
  always_comb begin
    same = 1'b0;
    same_way = '0;
    empty = 1'b0;
    empty_way = '0;
    oldest_way = '0;
    put_at = '0;
    if (put) begin
      for (int w = WAYS - 1; w >= 0; w--) begin
        put_at = {put_set, WB'(w)};
        if (valid[put_at] && tags[put_at] == put_tag && roots[put_at] == put_root && numbers[put_at] == put_number) begin
          same = 1'b1;
          same_way = WB'(w);
        end
        if (!valid[put_at]) begin
          empty = 1'b1;
          empty_way = WB'(w);
        end
        if (put_base[WB*w+:WB] == WB'(WAYS - 1)) oldest_way = WB'(w);
      end
    end
    put_way = same ? same_way : empty ? empty_way : oldest_way;
  end

  assign put_base = use_it && hit && set == put_set ? used_ages : put_set_ages;
  // Ages after a use: those that were younger become older.
  logic [WAYS*WB-1:0] put_ages;
  always_comb begin
    used_ages = set_ages;
    if (asked) begin
      for (int w = 0; w < WAYS; w++) begin
        if (set_ages[WB*w+:WB] < set_ages[WB*hit_way+:WB]) used_ages[WB*w+:WB] = set_ages[WB*w+:WB] + 1'b1;
      end
      used_ages[WB*hit_way+:WB] = '0;
    end
    put_ages = put_base;
    if (put) begin
      for (int w = 0; w < WAYS; w++) begin
        if (put_base[WB*w+:WB] < put_base[WB*put_way+:WB]) put_ages[WB*w+:WB] = put_base[WB*w+:WB] + 1'b1;
      end
      put_ages[WB*put_way+:WB] = '0;
    end
  end

  logic [63:0] put_span;
  assign put_span = put_shift < 8'd64 ? (64'd1 << put_shift[5:0]) - 64'd1 : ~64'd0;

  always_ff @(posedge clk) begin
    if (!rst_n) begin
      valid <= '0;
      aged <= '0;
    end else begin
      if (drop) begin
        for (int i = 0; i < N; i++) begin
          if (tags[i] == drop_tag && (drop_first - firsts[i] <= spans[i] || firsts[i] - drop_first <= drop_last - drop_first)) valid[i] <= 1'b0;
        end
      end
      if (put) begin
        valid[{put_set, put_way}] <= 1'b1;
        aged[put_set] <= 1'b1;
      end
    end
  end
  always_ff @(posedge clk) begin
    if (use_it && hit) ages[set] <= used_ages;
    if (put) begin
      ages[put_set] <= put_ages;
      tags[{put_set, put_way}] <= put_tag;
      roots[{put_set, put_way}] <= put_root;
      numbers[{put_set, put_way}] <= put_number;
      firsts[{put_set, put_way}] <= put_first;
      spans[{put_set, put_way}] <= put_span;
      data[{put_set, put_way}] <= put_data;
    end
  end
endmodule
