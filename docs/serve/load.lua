-- A load test of nmt serve by wrk (https://github.com/wg/wrk; Debian: apt install wrk):
--   wrk -t 2 -c 64 -d 30s --timeout 25s --latency -s docs/serve/load.lua http://127.0.0.1:5000 -- FILE SOURCE TARGET [KEY]
-- FILE holds a sentence a line; every request asks for the next one. All threads together go through the file.

local threads = {}

function setup(thread)
   thread:set("number", #threads)
   table.insert(threads, thread)
end

local function quoted(text)
   text = text:gsub('[%c"\\]', function(character)
      return string.format("\\u%04x", character:byte())
   end)
   return '"' .. text .. '"'
end

function init(arguments)
   answered, refused, failed = 0, 0, 0
   local path, source, target, key = arguments[1], arguments[2], arguments[3], arguments[4]
   if not target then
      error("after the address: -- FILE SOURCE TARGET [KEY]")
   end
   local headers = { ["Content-Type"] = "application/json" }
   if key then
      headers["Authorization"] = "Bearer " .. key
   end
   requests = {}
   for line in io.lines(path) do
      local body = string.format(
         '{"text": %s, "source": %s, "target": %s}', quoted(line), quoted(source), quoted(target))
      table.insert(requests, wrk.format("POST", "/v1/translate", headers, body))
   end
   next_one = number * 7919 % #requests  -- so that threads do not ask for the same sentences at once
end

function request()
   next_one = next_one % #requests + 1
   return requests[next_one]
end

function response(status)
   if status == 200 then
      answered = answered + 1
   elseif status == 429 or status == 503 then
      refused = refused + 1
   else
      failed = failed + 1
   end
end

function done(summary, latency)
   local total = { answered = 0, refused = 0, failed = 0 }
   for _, thread in ipairs(threads) do
      for what in pairs(total) do
         total[what] = total[what] + thread:get(what)
      end
   end
   local seconds = summary.duration / 1e6
   print(string.format("answered %d (%.1f a second), refused %d (429 or 503), failed %d",
      total.answered, total.answered / seconds, total.refused, total.failed))
   print(string.format("no connection or cut off %d, no answer within wrk's time-out %d",
      summary.errors.connect + summary.errors.read + summary.errors.write, summary.errors.timeout))
   print(string.format("milliseconds: median %.1f, 90 %% %.1f, 99 %% %.1f, longest %.1f",
      latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
