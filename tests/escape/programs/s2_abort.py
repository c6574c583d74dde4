# id: S2
# field: timeout
# kept-by: timer
# judge: status
# status: killed
# signal: SIGABRT
# control: no the program ends only itself
# expect: abort() is allowed, and reported as such

os.abort()
