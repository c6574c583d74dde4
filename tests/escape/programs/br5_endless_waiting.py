# id: BR5
# field: tool_wait
# kept-by: bridge
# judge: status
# status: timeout
# policy: {"tool_wait": 1, "timeout": 2}
# control: no without the limit the clock would stand still for ever, and no test could wait for that
# expect: a call that is never answered stops the wall clock for no longer than tool_wait

contained("it waits")
hang()
