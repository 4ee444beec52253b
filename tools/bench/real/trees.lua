-- SPDX-License-Identifier: MIT
-- Tables, closures, strings and binary trees in Lua, whose every object is a malloc of its own.
-- Run as `lua5.4 trees.lua [PART]`; PART is a divisor of the amounts. Prints one line that is the
-- same in every run.

local PART = tonumber(arg[1] or 1)
local DEPTH = 12 - math.floor(math.log(PART, 4))
local TREES, WORDS, RECORDS = 130 // PART, 300000 // PART, 200000 // PART

local seed = 42
local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % limit
end

local function grow(depth)
  if depth == 0 then return {} end
  return {left = grow(depth - 1), right = grow(depth - 1)}
end

local function count(tree)
  if not tree.left then return 1 end
  return 1 + count(tree.left) + count(tree.right)
end

local function count_trees()
  local nodes, kept = 0, grow(DEPTH + 2)
  for _ = 1, TREES do nodes = nodes + count(grow(DEPTH)) end
  return nodes + count(kept)
end

-- The uses of made-up words, and the length of the words that occur often, joined.
local function count_words()
  local uses, distinct = {}, {}
  for _ = 1, WORDS do
    local word = string.rep(string.char(97 + random(26)), 1 + random(40)) .. random(50)
    if not uses[word] then distinct[#distinct + 1] = word end
    uses[word] = (uses[word] or 0) + 1
  end
  table.sort(distinct)
  local often = {}
  for _, word in ipairs(distinct) do
    if uses[word] > 1 then often[#often + 1] = word:upper():gsub("%d+", "<%0>") end
  end
  return #distinct, #table.concat(often, " ")
end

-- Accounts are closures; a queue of transfers between them is worked off.
local function transfer()
  local accounts, queue, total = {}, {}, 0
  for i = 1, 2000 do
    local balance, log = 1000, {}
    accounts[i] = function(amount, text)
      balance = balance + amount
      log[#log + 1] = text
      if #log > 16 then log = {table.concat(log, ";"):sub(-64)} end
      return balance
    end
  end
  for i = 1, RECORDS do
    queue[i] = {from = 1 + random(2000), to = 1 + random(2000), amount = random(100),
                text = "transfer number " .. i}
  end
  for i, record in ipairs(queue) do
    accounts[record.from](-record.amount, record.text)
    accounts[record.to](record.amount, record.text)
    queue[i] = false
  end
  for _, account in ipairs(accounts) do total = total + account(0, "end") end
  return total
end

local nodes = count_trees()
local distinct, characters = count_words()
print(("%d nodes, %d words, %d characters, %d in the bank"):format(nodes, distinct, characters,
                                                                   transfer()))
