//! Process 1: in a container the first process must bury every orphan and pass signals on, or zombies pile up and
//! `docker stop` hangs.
//!
//! A tiny init stays behind as process 1 and the server runs as its only own child, so that burying orphans can never
//! take an exit code away from someone who waits for it.

#![expect(unsafe_code, reason = "fork, signal masks and waitpid have no safe interface")]

/// Signals passed on to the server.
const FORWARDED: [i32; 7] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
];

/// Splits off an init if this is process 1; returns in the process that shall be the server. Call it in `main` before
/// any thread exists.
pub fn run_if_pid_one() {
    if std::process::id() != 1 {
        return;
    }
    // SAFETY: no thread exists yet; the set is initialised before use.
    let (server, signals) = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGCHLD);
        for signal in FORWARDED {
            libc::sigaddset(&raw mut signals, signal);
        }
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, &raw mut before);
        let server = libc::fork();
        if server == 0 {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            // A server without its init would leave zombies.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            return;
        }
        (server, signals)
    };
    if server < 0 {
        // No process can be made here: serve as process 1 all the same.
        return;
    }
    let code = serve(server, &signals);
    std::process::exit(code)
}

/// Buries and forwards until the server ends; gives its exit code.
fn serve(server: i32, signals: &libc::sigset_t) -> i32 {
    loop {
        let mut signal = 0;
        // SAFETY: the set is valid and the signal is written to a local.
        if unsafe { libc::sigwait(std::ptr::from_ref(signals), &raw mut signal) } != 0 {
            continue;
        }
        if signal != libc::SIGCHLD {
            // SAFETY: signals our own child.
            unsafe { libc::kill(server, signal) };
            continue;
        }
        loop {
            let mut status = 0;
            // SAFETY: waitpid writes to a local.
            let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
            if pid <= 0 {
                break;
            }
            if pid == server {
                return if libc::WIFSIGNALED(status) {
                    128 + libc::WTERMSIG(status)
                } else {
                    libc::WEXITSTATUS(status)
                };
            }
        }
    }
}
