"""What holds for all tests."""

import signal

# In the background of a shell Ctrl-C is ignored, and tests that send it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
