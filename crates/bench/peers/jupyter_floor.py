"""A kernel driven by jupyter_client itself: for every line that comes in, `1+1` is run and its nanoseconds go out."""

import sys
import time

from jupyter_client.manager import start_new_kernel


def main() -> None:
    """Serve until the input ends."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        print("ready", flush=True)
        for _ in sys.stdin:
            started = time.perf_counter_ns()
            message = client.execute("1+1")
            result = None
            while True:
                output = client.get_iopub_msg(timeout=60)
                if output["parent_header"].get("msg_id") != message:
                    continue
                if output["msg_type"] == "execute_result":
                    result = output["content"]["data"]["text/plain"]
                if output["msg_type"] == "status" and output["content"]["execution_state"] == "idle":
                    break
            status = client.get_shell_msg(timeout=60)["content"]["status"]
            took = time.perf_counter_ns() - started
            print(took if (result, status) == ("2", "ok") else f"{status}: {result}", flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
