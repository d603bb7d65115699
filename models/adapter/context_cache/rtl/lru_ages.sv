// The least recently used way of a set: an age for each way, 0 for the one used last. A hit and a fill use one each in a cycle.
module lru_ages #(
    parameter int SETS = 64,
    parameter int WAYS = 4,
    localparam int SB = $clog2(SETS),
    localparam int WB = $clog2(WAYS)
) (
    input logic clk,
    input logic rst_n,
    input logic [SB-1:0] set,
    output logic [WAYS*WB-1:0] ages,  // of a set that was filled
    input logic hit,  // in `set`
    input logic [WB-1:0] hit_way,
    input logic fill,
    input logic [SB+WB-1:0] fill_slot
);
  logic [WAYS*WB-1:0] kept[SETS];
  logic [SETS-1:0] used;  // the ages of a set that was never filled are in the order of its ways
  logic [WAYS*WB-1:0] unused_ages;
  for (genvar w = 0; w < WAYS; w++) begin : g_ages
    assign unused_ages[WB*w+:WB] = WB'(w);
  end
  assign ages = kept[set];

  // After the uses of this cycle: the fill, then the hit.
  logic [WAYS*WB-1:0] fill_base, fill_ages, hit_base, hit_ages;
  logic [SB-1:0] fill_set;
  logic [WB-1:0] fill_way;
  assign {fill_set, fill_way} = fill_slot;
  assign fill_base = used[fill_set] ? kept[fill_set] : unused_ages;
  assign hit_base = fill && fill_set == set ? fill_ages : ages;
  always_comb begin
    fill_ages = fill_base;
    for (int w = 0; w < WAYS; w++) begin
      if (fill_base[WB*w+:WB] < fill_base[WB*fill_way+:WB]) fill_ages[WB*w+:WB] = fill_base[WB*w+:WB] + 1'b1;
    end
    fill_ages[WB*fill_way+:WB] = '0;
  end
  always_comb begin
    hit_ages = hit_base;
    for (int w = 0; w < WAYS; w++) begin
      if (hit_base[WB*w+:WB] < hit_base[WB*hit_way+:WB]) hit_ages[WB*w+:WB] = hit_base[WB*w+:WB] + 1'b1;
    end
    hit_ages[WB*hit_way+:WB] = '0;
  end

  always_ff @(posedge clk) begin
    if (!rst_n) used <= '0;
    else if (fill) used[fill_set] <= 1'b1;
  end
  always_ff @(posedge clk) begin
    if (fill) kept[fill_set] <= fill_ages;
    if (hit) kept[set] <= hit_ages;
  end
endmodule
