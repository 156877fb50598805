//! Whom the kernel kills first when the machine runs out of memory: commands, and the server last.

#![expect(unsafe_code, reason = "a fresh process may not allocate, which the safe interfaces do")]

use std::ffi::CStr;

/// How much less than it uses the server counts, in thousandths of the machine's memory.
const SERVER: i32 = -500;
/// How much more than it uses a command counts.
const COMMAND: i32 = 300;
const COMMAND_TEXT: &[u8] = b"300";

const OWN: &CStr = c"/proc/self/oom_score_adj";

/// Makes this process, and those it starts from now on, unlikely to be killed. That takes a privilege; without it
/// nothing changes, and commands are killed before the server all the same.
pub(crate) fn spare_server() {
    let path = OWN.to_str().unwrap_or_default();
    if own_score().is_some_and(|now| now > SERVER) {
        let _not_permitted = std::fs::write(path, SERVER.to_string());
    }
}

/// Whether a command started from here would be spared like the server.
pub(crate) fn commands_need_raising() -> bool {
    own_score().is_some_and(|now| now < COMMAND)
}

fn own_score() -> Option<i32> {
    std::fs::read_to_string(OWN.to_str().ok()?).ok()?.trim().parse().ok()
}

/// Makes a command more likely to be killed. Called in its fresh process, so nothing may be allocated.
pub(crate) fn raise_own_score() {
    // SAFETY: plain system calls; the descriptor is opened and closed here, in this process's own table.
    unsafe {
        let file = libc::open(OWN.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, COMMAND_TEXT.as_ptr().cast(), COMMAND_TEXT.len());
            libc::close(file);
        }
    }
}
