// Who of a set was used longest ago: an age for each way, 0 for the one used last. A hit and a fill use one each in a cycle.
module lru_ages #(
    parameter int SETS = 64,
    parameter int WAYS = 4,
    localparam int SB = $clog2(SETS),
    localparam int WB = $clog2(WAYS)
) (
    input logic clk,
    input logic rst_n,
    input logic [SB-1:0] set,
    output logic [WAYS*WB-1:0] ages,
    input logic hit,  // in `set`
    input logic [WB-1:0] hit_way,
    input logic fill,
    input logic [SB+WB-1:0] fill_slot
);
  logic [WAYS*WB-1:0] kept[SETS];
  logic [SETS-1:0] used;  // the ages of a set that was never used are in the order of its ways
  logic [WAYS*WB-1:0] unused_ages;
  for (genvar w = 0; w < WAYS; w++) begin : g_ages
    assign unused_ages[WB*w+:WB] = WB'(w);
  end
  assign ages = used[set] ? kept[set] : unused_ages;

  // After the uses of this cycle: the hit, then the fill.
  logic [WAYS*WB-1:0] hit_ages, fill_base, fill_ages;
  logic [SB-1:0] fill_set;
  logic [WB-1:0] fill_way;
  assign {fill_set, fill_way} = fill_slot;
  assign fill_base = hit && fill_set == set ? hit_ages : used[fill_set] ? kept[fill_set] : unused_ages;
  always_comb begin
    hit_ages = ages;
    fill_ages = fill_base;
    for (int w = 0; w < WAYS; w++) begin
      if (ages[WB*w+:WB] < ages[WB*hit_way+:WB]) hit_ages[WB*w+:WB] = ages[WB*w+:WB] + 1'b1;
      if (fill_base[WB*w+:WB] < fill_base[WB*fill_way+:WB]) fill_ages[WB*w+:WB] = fill_base[WB*w+:WB] + 1'b1;
    end
    hit_ages[WB*hit_way+:WB] = '0;
    fill_ages[WB*fill_way+:WB] = '0;
  end

  always_ff @(posedge clk) begin
    if (!rst_n) used <= '0;
    else begin
      if (hit) used[set] <= 1'b1;
      if (fill) used[fill_set] <= 1'b1;
    end
  end
  always_ff @(posedge clk) begin
    if (hit) kept[set] <= hit_ages;
    if (fill) kept[fill_set] <= fill_ages;
  end
endmodule
