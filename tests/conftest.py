"""What holds for all tests."""

import signal

# In the background of a shell Ctrl-C is ignored, and behind nohup the end of the terminal: tests
# that send these signals, to themselves or to processes that they start, would wait for ever.
for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
