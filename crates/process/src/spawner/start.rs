//! Starting a command: from the request to the running program, or the step that failed.

#![expect(unsafe_code, reason = "what happens between clone and exec has no safe interface")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::protocol::{Request, Step};
use super::{birth, last_errno};
use crate::cgroup::{Cell, Cgroups, enter};
use crate::confinement::Confinement;
use crate::oom;

/// The command's standard streams.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// Stack of a command's process until its `exec`.
const STACK: usize = 64 << 10;

/// What a keeper starts commands with.
pub(super) struct Starter<'a> {
    groups: &'a Cgroups,
    raise_score: bool,
    stack: Vec<u8>,
}

impl<'a> Starter<'a> {
    pub(super) fn new(groups: &'a Cgroups) -> Self {
        Self { groups, raise_score: oom::commands_need_raising(), stack: vec![0; STACK] }
    }

    /// Starts a command in its groups; its process id.
    pub(super) fn start(
        &mut self,
        request: &Request<'_>,
        streams: &Streams,
        cell: Option<&Cell>,
    ) -> Result<i32, (Step, i32)> {
        let pointers = |strings: &[&CStr]| {
            let mut list: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
            list.push(std::ptr::null());
            list
        };
        let (argv, env) = (pointers(&request.argv), pointers(&request.env));
        let program = request.argv.first().ok_or((Step::Execute, libc::EINVAL))?;
        let entrances = cell.map(Cell::entrances).unwrap_or_default();
        let mut prepared = Prepared {
            program: program.as_ptr(),
            argv: argv.as_ptr(),
            env: env.as_ptr(),
            directory: request.directory.as_ptr(),
            streams: [
                streams.stdin.as_raw_fd(),
                streams.stdout.as_raw_fd(),
                streams.stderr.as_raw_fd(),
            ],
            terminal: request.terminal,
            doors: entrances.doors,
            limits: limits(request.confinement, self.groups),
            raise_score: self.raise_score,
            keeper: super::own_pid(),
            begun: false,
            failure: None,
        };
        let pid = self.give_birth(&mut prepared, entrances.birth, cell)?;
        match prepared.failure {
            None => Ok(pid),
            Some(failure) => {
                bury(pid);
                Err(failure)
            }
        }
    }

    fn give_birth(
        &mut self,
        prepared: &mut Prepared,
        group: Option<RawFd>,
        cell: Option<&Cell>,
    ) -> Result<i32, (Step, i32)> {
        if let Some(group) = group {
            let data = (&raw mut *prepared).cast();
            // SAFETY: a keeper is single-threaded, and `data` is the `Prepared` that `become_command` wants.
            match unsafe { birth::make_in_group(group, &mut self.stack, become_command, data) } {
                Some(Ok(pid)) if prepared.begun => return Ok(pid),
                // Killed at birth, as some kernels do in a group below one that was killed once: it must walk in.
                Some(Ok(pid)) => bury(pid),
                Some(Err(errno @ (libc::EAGAIN | libc::ENOMEM))) => {
                    return Err((Step::Fork, errno));
                }
                Some(Err(errno)) => return Err((Step::Confine, errno)),
                None => {}
            }
            prepared.doors = cell.map(Cell::all_doors).unwrap_or_default();
        }
        let data = (&raw mut *prepared).cast();
        // SAFETY: as above.
        let made = unsafe { birth::make(&mut self.stack, become_command, data) };
        made.map_err(|errno| (Step::Fork, errno))
    }
}

/// Waits for a child that has said its last word and ends.
fn bury(pid: i32) {
    // SAFETY: waitpid is told to write nothing.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// The limits that no group keeps. Memory is what a process may write to: what it only reserves costs nothing, and some
/// programs reserve far more than there is.
fn limits(confinement: Confinement, groups: &Cgroups) -> Vec<(Resource, Rlimit)> {
    let unless = |kept: bool, limit: Option<u64>| limit.filter(|_| !kept);
    let wanted = [
        (Resource::Nofile, confinement.open_files),
        (Resource::Data, unless(groups.limits_memory(), confinement.memory_bytes)),
        (Resource::Nproc, unless(groups.limits_processes(), confinement.processes)),
    ];
    let lower = |(resource, limit): (_, Option<u64>)| {
        // Raising it is not ours to decide.
        let limit = Some(limit?.min(getrlimit(resource).maximum.unwrap_or(u64::MAX)));
        Some((resource, Rlimit { current: limit, maximum: limit }))
    };
    wanted.into_iter().filter_map(lower).collect()
}

/// Everything the child needs until exec, ready to use without allocating, and where it says why there was none.
struct Prepared {
    program: *const libc::c_char,
    argv: *const *const libc::c_char,
    env: *const *const libc::c_char,
    directory: *const libc::c_char,
    streams: [RawFd; 3],
    terminal: bool,
    doors: Vec<RawFd>,
    limits: Vec<(Resource, Rlimit)>,
    raise_score: bool,
    keeper: i32,
    /// Set when the child runs.
    begun: bool,
    failure: Option<(Step, i32)>,
}

/// Turns the fresh process into the command; returns only to end it.
extern "C" fn become_command(prepared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` passes its own `Prepared` and does not touch it until this process is gone from its memory.
    let prepared = unsafe { &mut *prepared.cast::<Prepared>() };
    prepared.begun = true;
    let step = prepared.execute();
    prepared.failure = Some((step, last_errno()));
    127
}

impl Prepared {
    /// The step that failed; none if it returns.
    fn execute(&self) -> Step {
        // SAFETY: plain system calls on owned descriptors and pointers that are valid, see `start`. Signal handlers and
        // descriptors are this process's own, and are not those of the keeper.
        unsafe {
            // Should the keeper be killed, the command must not outlive it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() != self.keeper {
                return Step::Fork;
            }
            if self.doors.iter().any(|door| !enter(*door)) {
                return Step::Confine;
            }
            if self.raise_score {
                oom::raise_own_score();
            }
            libc::setsid();
            // Descriptors 0 to 2 of a keeper are /dev/null, so no stream is overwritten by another's dup2.
            for (target, source) in [0, 1, 2].into_iter().zip(self.streams) {
                if libc::dup2(source, target) < 0 {
                    return Step::Streams;
                }
            }
            if self.terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Step::Streams;
            }
            if libc::chdir(self.directory) < 0 {
                return Step::Directory;
            }
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
            for (resource, limit) in &self.limits {
                if setrlimit(*resource, *limit).is_err() {
                    return Step::Confine;
                }
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execve(self.program, self.argv, self.env);
            Step::Execute
        }
    }
}
