-- SPDX-License-Identifier: MIT
-- Sessions of a server in Lua: objects of many sizes that live for a while, and much garbage.
-- Run as `lua5.4 sessions.lua`. Prints one line that is the same in every run: no table is walked
-- by pairs, whose order differs from run to run.

local SESSIONS, REQUESTS = 1000, 8000

local seed = 42
local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % limit
end

local Session = {}
Session.__index = Session

-- A name, a history of 1 to 64 entries, some with a note, and a coroutine that numbers requests.
function Session.new(id)
  local session = setmetatable({id = id, name = ("user-%d-%s"):format(id, ("x"):rep(random(60))),
                                history = {}, listeners = {}}, Session)
  for i = 1, 1 + random(64) do
    session.history[i] = {at = i, bytes = random(4000), note = random(3) == 0 and "note " .. i}
  end
  session.number = coroutine.wrap(function()
    for number = 1, math.huge do coroutine.yield(number) end
  end)
  return session
end

-- Closures of one to five captured values.
function Session:listen(kind)
  local count, bytes, longest = 0, 0, ""
  self.listeners[#self.listeners + 1] =
    kind == 0 and function(text) count = count + 1 return count end
    or kind == 1 and function(text) bytes = bytes + #text return bytes + self.id end
    or function(text)
      if #text > #longest then longest = text end
      count, bytes = count + 1, bytes + #text
      return count + bytes + #longest + kind
    end
end

-- A request is parsed, told to the listeners, answered, and remembered by its size.
function Session:serve(request)
  local fields, sum = {}, self.number()
  for key, value in request:gmatch("(%w+)=(%w+)") do fields[#fields + 1] = {key, value} end
  table.sort(fields, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)
  for _, listener in ipairs(self.listeners) do sum = sum + listener(request) end
  local lines = {"for " .. self.name}
  for i, field in ipairs(fields) do lines[i + 1] = field[1] .. ": " .. field[2]:upper() end
  local answer = table.concat(lines, "\n")
  self.history[1 + random(#self.history + 1)] = {at = sum, bytes = #answer}
  return #answer + sum
end

local function make_request()
  local parts = {}
  for i = 1, 1 + random(12) do
    parts[i] = string.char(97 + random(26)) .. random(100) .. "=" .. ("v"):rep(1 + random(30))
  end
  return table.concat(parts, "&")
end

local function run(mode)
  collectgarbage(mode)
  local sessions, sum = {}, 0
  for i = 1, SESSIONS do sessions[i] = Session.new(i) end
  for request = 1, REQUESTS do
    local place = 1 + random(SESSIONS)
    if random(8) == 0 then sessions[place] = Session.new(request) end
    if random(4) == 0 then sessions[place]:listen(random(3)) end
    sum = sum + sessions[place]:serve(make_request())
  end
  return sum
end

print(("%d in the incremental mode, %d in the generational"):format(run("incremental"),
                                                                     run("generational")))
