library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity taken_scale is
  generic (KEY_BITS : positive := 32);
  port (
    clk       : in  std_logic;
    rst_n     : in  std_logic;
    factor    : in  unsigned(3 downto 0);
    req_valid : in  std_logic;
    req_ready : out std_logic;
    req_tag   : in  std_logic_vector(3 downto 0);
    req_key   : in  unsigned(KEY_BITS - 1 downto 0);
    rsp_valid : out std_logic;
    rsp_ready : in  std_logic;
    rsp_tag   : out std_logic_vector(3 downto 0);
    rsp_key   : out unsigned(KEY_BITS - 1 downto 0));
end entity;

architecture rtl of taken_scale is
  signal full : std_logic;
begin
  req_ready <= not full or rsp_ready;
  rsp_valid <= full;
  process (clk)
  begin
    if rising_edge(clk) then
      if rst_n = '0' then
        full <= '0';
      elsif req_valid = '1' and (full = '0' or rsp_ready = '1') then
        full    <= '1';
        rsp_tag <= req_tag;
        rsp_key <= resize(req_key * factor, KEY_BITS);
      elsif rsp_ready = '1' then
        full <= '0';
      end if;
    end if;
  end process;
end architecture;
