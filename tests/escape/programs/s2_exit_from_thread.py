# id: S2
# field: timeout
# kept-by: timer
# judge: status
# status: exit error
# exit-code: 5
# control: no the program ends only itself
# expect: an exit from a thread is reported with its exit code

import threading
import time

threading.Thread(target=os._exit, args=(5,)).start()
time.sleep(25)
escaped("went on after the end")
